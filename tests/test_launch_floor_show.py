"""``launch_floor --show``: a saved result in every format, and files that are none."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from floor_command import PutInPlace, RunFloor, raises
from stand_in import OLD_RESULT, TINY, row

from ftax_micro.errors import Skip
from ftax_micro.results import decode_result, load_result

COLUMNS = [
    *("device", "name", "setting", "median_s", "ci_low_s", "ci_high_s", "p5_s", "p95_s", "min_s"),
    *("samples", "stop_reason", "status", "reason"),
]


def test_a_saved_result_in_every_format(run_floor: RunFloor) -> None:
    code, out, _ = run_floor("--show", str(OLD_RESULT))
    assert code == 0
    assert out.startswith("Launch anatomy of cpu: Intel(R) Xeon(R)")
    assert "cpu submit wait=spin placement=sibling, to_start wait=spin placement=sibling, " in out
    assert ": skipped, no two allowed cores are placed as 'sibling'\n" in out
    assert "90 % interval" in out

    code, out, _ = run_floor("--show", str(OLD_RESULT), "--format", "markdown")
    assert code == 0
    assert "| row | setting | median | 90 % interval |" in out
    assert "| submit | wait=spin placement=other_core | " in out

    code, out, _ = run_floor("--show", str(OLD_RESULT), "--format", "json")
    assert code == 0
    assert decode_result(out.encode()) == load_result(OLD_RESULT)


def test_csv_has_a_row_per_measurement_and_the_promised_columns(run_floor: RunFloor) -> None:
    code, out, _ = run_floor("--show", str(OLD_RESULT), "--format", "csv")
    assert code == 0
    table = list(csv.DictReader(io.StringIO(out)))
    assert list(table[0])[: len(COLUMNS)] == COLUMNS
    measurements = load_result(OLD_RESULT).measurements
    assert [(r["device"], r["name"], r["status"]) for r in table] == [
        (m.device, m.name, m.status) for m in measurements
    ]
    for line in table:
        times = [line[name] for name in COLUMNS if name.endswith("_s")]
        if line["status"] == "skipped":
            assert line["reason"]
            assert set(times) == {""} == {line["samples"]} | {line["stop_reason"]}
            continue
        assert line["reason"] == ""
        assert int(line["samples"]) > 0
        assert line["stop_reason"] in {"max_samples", "fixed_count"}
        if line["name"] == "queue_knee":  # a count has no seconds
            assert set(times) == {""}
            assert line["count"] == "1024"
            continue
        assert float(line["ci_low_s"]) <= float(line["median_s"]) <= float(line["ci_high_s"])
        # A slope has no single samples whose least could be told.
        assert (line["min_s"] == "") == (line["name"] in {"submit", "spacing"})
        assert line["p5_s"] == line["p95_s"] == ""  # undefined under 100 samples


def test_commas_and_quotes_in_reasons_survive_csv(
    run_floor: RunFloor, stand_in: PutInPlace
) -> None:
    stand_in(row("submit", raises(Skip('one "core", only\nhere'))))
    code, out, _ = run_floor("--device", "cpu", *TINY, "--format", "csv")
    assert code == 0
    (line,) = csv.DictReader(io.StringIO(out))
    assert line["reason"] == 'one "core", only here'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (OLD_RESULT.read_bytes()[:5000], "is not complete JSON"),
        (b"", "is empty"),
        (b"# Launch anatomy", "is not complete JSON"),
        (OLD_RESULT.read_bytes().replace(b'_version": 1', b'_version": 9', 1), "is newer than"),
        (OLD_RESULT.read_bytes().replace(b'"wait": "spin"', b'"wait": [1]', 1), "setting"),
        (
            OLD_RESULT.read_bytes().replace(b'"count": 64', b'"count": "64"', 1),
            "Expected `int`, got `str` - at `$.measurements[0].data.levels[0].count`",
        ),
        (OLD_RESULT.read_bytes().replace(b"4.063e-6", b"NaN", 1), "is not complete JSON"),
        (b"[" * 1_000_000, "nested too deeply"),
        (None, "No such file or directory"),
    ],
)
def test_an_unreadable_result(
    run_floor: RunFloor, tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "floor.json"
    if content is not None:
        path.write_bytes(content)
    code, out, err = run_floor("--show", str(path))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith(f"ftax-micro: error: {path}: ")
    assert words in err


def test_a_folder_is_no_result(run_floor: RunFloor, tmp_path: Path) -> None:
    code, _, err = run_floor("--show", str(tmp_path))
    assert (code, err) == (2, f"ftax-micro: error: {tmp_path}: Is a directory\n")
