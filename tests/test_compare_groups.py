"""``compare --group``: many files in, one table out, and what cannot be read is said."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from commands import Run, runner
from fake_results import row
from msgspec.structs import replace
from pool_results import of_rows

from ftax_micro import compare
from ftax_micro.results import save_result

SLOW = 9  # the machine that is off


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(compare.command, capsys)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Ten machines with one GPU, ten with another, one of the first too slow."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    for number in range(20):
        model, base = ("NVIDIA H100", 2e-6) if number < 10 else ("NVIDIA A100", 3e-6)
        value = base * (1 + number % 10 / 1000) * (1.5 if number == SLOW else 1)
        rows = [row("submit", [value] * 9, device="cuda:0"), row("queue_knee", [1e-9] * 9)]
        save_result(of_rows(number, *rows, model=model), folder / f"node{number:02}.json")
    return folder


def test_a_folder_becomes_a_table_of_groups(run: Run, fleet: Path) -> None:
    code, out, err = run("--group", "gpu", fleet, "--probe", "submit")
    assert (code, err) == (0, "")
    groups, rows, outliers = (part.splitlines() for part in out.split("\n\n")[:5:2])
    assert groups[0] == "Groups of machines"
    assert groups[3].split() == ["1", "NVIDIA", "A100", "10", "10"]
    assert rows[3].split()[:2] == ["cuda", "submit"]
    assert "faster" in rows[4]
    assert "off" in outliers[0] or "between" in outliers[0]
    assert "node0009" in out
    assert "51 %" in out


def test_all_ways_to_name_files_are_one(run: Run, fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("\n".join(map(str, fleet.iterdir())))
    arguments = ([fleet], [fleet / "*.json"], [f"@{tmp_path / 'list'}"], sorted(fleet.iterdir()))
    outputs = {run("--group", "gpu", "--format", "json", *each)[1] for each in arguments}
    assert len(outputs) <= 2  # a list's own order decides which file a machine's first is
    assert run("--group", "gpu", fleet, fleet / "*.json")[1] == run("--group", "gpu", fleet)[1]


def test_json_has_everything(run: Run, fleet: Path) -> None:
    (fleet / "bad.json").write_text("{")
    code, out, _ = run("--group", "gpu,driver", fleet, "--format", "json")
    content = json.loads(out)
    sheets = {sheet["name"]: sheet["rows"] for sheet in content["sheets"]}
    assert code == 1
    assert content["kind"] == "pool"
    assert content["keys"] == ["gpu", "driver"]
    assert [each["machines"] for each in sheets["groups"]] == [10, 10]
    assert sheets["groups"][0]["baseline"] == "yes"
    (off,) = [each for each in sheets["outliers"] if "submit" in each["row"]]
    assert (off["host"], Path(off["file"]).name) == ("node0009", "node09.json")
    assert off["off"] == pytest.approx(0.5, abs=0.01)
    assert sheets["left_out"][0]["reason"] == "is not complete JSON: Input data was truncated"
    (one, two) = [each for each in sheets["rows"] if each["row"] == "submit"]
    assert one["median_s"]["value"] == pytest.approx(3.0135e-6)
    assert two["ratio"]["value"] == pytest.approx(2.009 / 3.0135, rel=1e-3)
    assert one["group_gpu"] == "NVIDIA A100"


def test_csv_is_one_tidy_table(run: Run, fleet: Path) -> None:
    code, out, _ = run("--group", "gpu", fleet, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [each["row"] for each in rows] == ["queue_knee"] * 2 + ["submit"] * 2
    assert float(rows[2]["median_s"]) == pytest.approx(3.0135e-6)
    assert [each["group_gpu"] for each in rows[2:]] == ["NVIDIA A100", "NVIDIA H100"]
    assert [each["outliers"] for each in rows[2:]] == ["0", "1"]


def test_markdown_has_the_same_tables(run: Run, fleet: Path) -> None:
    _, out, _ = run("--group", "gpu", fleet, "--format", "markdown")
    assert out.startswith("## Groups of machines\n\n| group | gpu | machines | files |")
    assert "| node0009 | 2 | cuda submit |" in out


def test_a_file_that_cannot_be_read_is_listed_and_costs_the_exit_code(
    run: Run, fleet: Path
) -> None:
    (fleet / "bad.json").write_text("")
    (fleet / "other.json").write_text('{"kind": "fleet"}')
    code, out, err = run("--group", "gpu", fleet)
    assert code == 1
    assert "Files left out" in out
    assert "is empty" in out
    assert err == (
        f"ftax-micro: left out, since it could not be read: {fleet / 'bad.json'}: is empty, and "
        "1 more\n"
    )
    for path in fleet.glob("node*"):
        path.unlink()
    code, out, err = run("--group", "gpu", fleet)
    assert (code, out) == (2, "")
    assert err.startswith("ftax-micro: error: none of 2 files could be read: ")


def test_of_many_groups_a_table_shows_the_largest(run: Run, tmp_path: Path) -> None:
    for number in range(30):
        result = of_rows(number, row("submit", [(1 + number) * 1e-6] * 9, device="cuda:0"))
        save_result(result, tmp_path / f"{number:02}.json")
    _, out, _ = run("--group", "host", tmp_path, "--baseline", "node0025")
    assert "9 of 30 groups not shown: --format csv or json has all" in out
    assert "node0019" in out
    assert "node0020" not in out
    assert "node0025" in out
    _, out, _ = run("--group", "host", tmp_path, "--format", "csv")
    assert out.count("node00") == 30


def test_machines_that_differ_no_more_than_their_repeats_are_told(run: Run, tmp_path: Path) -> None:
    for number in range(6):
        for again, value in enumerate((1e-6, 2e-6)):
            rows = [
                row("submit", [value + number * 1e-9] * 9, device="cuda:0"),
                row("sync", [(1 + number) * 1e-6] * 9, device="cuda:0"),
            ]
            save_result(of_rows(number, *rows), tmp_path / f"{number}-{again}.json")
    _, out, _ = run("--group", "gpu", tmp_path, "--format", "markdown")
    assert "in 1 of 2 lines that have both, between is not above within" in out


def test_counts_are_counts(run: Run, tmp_path: Path) -> None:
    knee = row("queue_knee", [1024.0] * 3, device="cuda:0")
    assert knee.data is not None
    counted = replace(knee, data=replace(knee.data, unit="count"))
    for number in range(3):
        save_result(of_rows(number, counted), tmp_path / f"{number}.json")
    _, out, _ = run("--group", "gpu", tmp_path)
    assert re.search(r"queue_knee .* 1,024 ", out)
    assert " µs" not in out


def test_a_gate_fires_on_machines_that_are_off(run: Run, fleet: Path) -> None:
    code, _, err = run("--group", "gpu", fleet, "--fail-on", "outlier")
    assert (code, err) == (1, "ftax-micro: outlier: node0009 is off on 1 row(s)\n")
    (fleet / f"node{SLOW:02}.json").unlink()
    assert run("--group", "gpu", fleet, "--fail-on", "outlier")[::2] == (0, "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--group", "gpus"], "unknown key 'gpus'; did you mean gpu"),
        (["--group", "gpu", "--by", "mode"], "--by compares within each file, --group sums up"),
        (["--group", "gpu", "--fail-on", "slower"], "unknown verdict of groups 'slower'; known: o"),
        (["--group", "gpu", "--baseline", "V100"], "unknown baseline 'V100'; did you mean"),
        (["--group", "gpu", "--baseline", "0"], "unknown baseline '0'; known: 1, 2, NVIDIA"),
        (["--group", "gpu", "--probe", "sbmit"], "unknown probe 'sbmit'; did you mean submit"),
        (["--group", "gpu", "--kind", "tax"], "unknown kind of a pool 'tax'; known: floor"),
        (["--group", "gpu", "--kind", "ladder"], "nothing to summarise"),
        (["--group", "gpu", "--format", "matrix"], "unknown format 'matrix'"),
        (["--group", ""], "argument --group: '' has an empty name"),
        (["--fail-on", "outlier"], "unknown verdict 'outlier'"),
    ],
)
def test_wrong_usage_is_one_line(run: Run, fleet: Path, options: list[str], words: str) -> None:
    code, out, err = run(*options, fleet)
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert err.startswith(f"ftax-micro: error: {words}")


def test_without_files_the_help_is_named(run: Run) -> None:
    code, _, err = run("--group", "gpu")
    assert (code, err) == (
        2,
        "ftax-micro: error: name result files, or a folder of them (--help: examples)\n",
    )


def test_a_folder_can_be_compared_file_by_file_too(run: Run, fleet: Path) -> None:
    for path in sorted(fleet.iterdir())[2:]:
        path.unlink()
    code, out, _ = run(fleet, "--probe", "submit")
    assert code == 0
    assert "node00" in out
    assert "node01" in out


def test_a_name_that_a_terminal_would_obey_is_written_out(run: Run, fleet: Path) -> None:
    result = of_rows(77, row("submit", [9e-6] * 9, device="cuda:0"), hostname="\x1b[2J")
    save_result(result, fleet / "z.json")
    _, out, _ = run("--group", "host,gpu", fleet, "--probe", "submit")
    assert "\x1b" not in out
