"""The compare command: what it prints, when it fails, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import Run, runner
from fake_results import absent, around, result, row

from ftax_micro import compare
from ftax_micro.results import SCHEMA_VERSION, Result, encode_result, save_result


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(compare.command, capsys)


def machine(factor: float, seed: int) -> Result:
    """A machine whose `submit` takes `factor` µs, and whose `sync` takes 2 µs."""
    setting = {"wait": "spin"}
    return result(
        row("submit", around(factor * 1e-6, seed), setting=dict(setting)),
        row("sync", around(2e-6, seed + 50), setting=dict(setting)),
    )


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A machine, and one whose `submit` is a quarter slower."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    save_result(machine(1.0, 1), old)
    save_result(machine(1.25, 2), new)
    return old, new


def test_the_table_shows_both_machines_and_what_differs(run: Run, files: tuple[Path, Path]) -> None:
    code, out, err = run(*files)
    assert (code, err) == (0, "")
    assert "old (baseline)" in out
    assert "2 ratios against old, margin 2 %: 1 slower, 1 same" in out
    slower = next(line for line in out.splitlines() if line.rstrip().endswith("slower"))
    assert "new" in slower
    assert "1.2" in slower


def test_csv_has_a_row_for_each_file_and_row(run: Run, files: tuple[Path, Path]) -> None:
    _, out, _ = run(*files, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(r["result"], r["name"], r["verdict"]) for r in rows] == [
        ("old", "submit", "baseline"),
        ("new", "submit", "slower"),
        ("old", "sync", "baseline"),
        ("new", "sync", "same"),
    ]
    assert float(rows[1]["median_s"]) == pytest.approx(1.25e-6, rel=0.01)
    assert float(rows[1]["ratio_low"]) < 1.25 < float(rows[1]["ratio_high"])
    assert {r["setting"] for r in rows} == {"wait=spin"}


def test_json_holds_everything_in_seconds(run: Run, files: tuple[Path, Path]) -> None:
    _, out, _ = run(*files, "--format", "json")
    content = json.loads(out)
    assert content["kind"] == "comparison"
    assert content["rows"][0]["ratios"][0] is None
    assert content["rows"][0]["ratios"][1]["verdict"] == "slower"
    assert content["rows"][0]["values"][0]["value"] == pytest.approx(1e-6, rel=0.01)


def test_markdown_is_tables_and_a_list(run: Run, files: tuple[Path, Path]) -> None:
    _, out, _ = run(*files, "--format", "markdown")
    assert "| submit | wait=spin | old |" in out
    assert "**cpu**" in out
    assert "- 2 ratios against old" in out


# Which is the baseline, what is compared


@pytest.mark.parametrize("baseline", ["2", "new.json"])
def test_the_baseline_is_named_or_counted(
    run: Run, files: tuple[Path, Path], baseline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files[0].parent)
    code, out, _ = run("old.json", "new.json", "--baseline", baseline)
    assert code == 0
    assert "1 faster, 1 same" in out
    assert "new (baseline)" in out


@pytest.mark.parametrize("baseline", ["0", "3", "-1", "nwe.json", "²", ""])
def test_a_baseline_that_is_no_file_is_refused(
    run: Run, files: tuple[Path, Path], baseline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files[0].parent)
    code, out, err = run("old.json", "new.json", f"--baseline={baseline}")
    assert (code, out) == (2, "")
    assert "unknown baseline" in err


def test_only_chosen_rows_are_compared(run: Run, files: tuple[Path, Path]) -> None:
    _, out, _ = run(*files, "--probe", "sync")
    assert "submit" not in out
    assert "1 ratio " in out


def test_a_wider_margin_makes_it_the_same(run: Run, files: tuple[Path, Path]) -> None:
    _, out, _ = run(*files, "--margin", "40%", "--fail-on", "different")
    assert "margin 40 %: 2 same" in out


@pytest.mark.parametrize(
    ("text", "value"), [("2%", 0.02), ("0.02", 0.02), ("0", 0.0), ("12.5%", 0.125)]
)
def test_margins(text: str, value: float) -> None:
    assert compare.margin(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "%", "2", "-1%", "nan", "inf", "100%", "two"])
def test_margins_that_make_no_sense(run: Run, files: tuple[Path, Path], text: str) -> None:
    code, out, err = run(*files, f"--margin={text}")
    assert (code, out) == (2, "")
    assert "is no margin" in err


def test_files_of_the_same_name_are_told_apart_by_their_folders(run: Run, tmp_path: Path) -> None:
    for folder, factor in (("a", 1.0), ("b", 2.0)):
        (tmp_path / folder).mkdir()
        save_result(machine(factor, 1), tmp_path / folder / "floor.json")
    _, out, _ = run(tmp_path / "a/floor.json", tmp_path / "b/floor.json", "--format", "csv")
    assert {r["result"] for r in csv.DictReader(io.StringIO(out))} == {
        str(tmp_path / "a/floor.json"),
        str(tmp_path / "b/floor.json"),
    }


def test_a_file_against_itself_is_the_same_everywhere(run: Run, files: tuple[Path, Path]) -> None:
    code, out, _ = run(files[0], files[0], "--fail-on", "different,ambiguous")
    assert code == 0
    assert "2 ratios against old, margin 2 %: 2 same" in out
    assert "old (2)" in out


# --fail-on


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [("slower", 1), ("faster", 0), ("different", 1), ("ambiguous", 0), ("faster,slower", 1)],
)
def test_fail_on_says_which_rows(
    run: Run, files: tuple[Path, Path], fail_on: str, code: int
) -> None:
    got, out, err = run(*files, "--fail-on", fail_on)
    assert got == code
    assert out
    assert ("slower: cpu submit wait=spin of new at 1.2" in err) == bool(code)
    assert "sync" not in err


def test_fail_on_says_what_it_did_not_see(run: Run, tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    save_result(machine(1.0, 1), paths[0])
    failed = absent("sync", "failed", "boom", setting={"wait": "spin"})
    save_result(result(machine(1.0, 2).measurements[0], failed), paths[1])
    code, out, err = run(*paths, "--fail-on", "slower")
    assert code == 0
    assert "not compared, b: cpu sync wait=spin: failed: boom" in out
    assert "--fail-on did not see 1 row(s) that could not be compared" in err


def test_fail_on_an_unknown_verdict_suggests_the_nearest(
    run: Run, files: tuple[Path, Path]
) -> None:
    code, out, err = run(*files, "--fail-on", "slow")
    assert (code, out) == (2, "")
    assert "did you mean slower" in err


# Bad input


def _document(**changes: Any) -> bytes:
    content = json.loads(encode_result(machine(1.0, 1)))
    return json.dumps({**content, **changes}).encode()


def _with_sample(value: str) -> bytes:
    return _document().replace(b'"samples": [', f'"samples": [{value}, '.encode(), 1)


BAD_INPUT = {
    "empty": (b"", "is empty"),
    "not JSON": (b"hello", "JSON"),
    "truncated": (_document()[:-100], "JSON"),
    "a list": (b"[]", "schema_version"),
    "another document": (b'{"rows": []}', "schema_version"),
    "newer schema": (_document(schema_version=SCHEMA_VERSION + 1), "newer"),
    "wrong type": (_document(devices="cpu"), "$.devices"),
    "missing field": (_document(plan=None), "$.plan"),
    "unknown field": (_document(surprise=1), "surprise"),
    "NaN": (_with_sample("NaN"), "JSON"),
    "null sample": (_with_sample("null"), "samples"),
    "text sample": (_with_sample('"1"'), "samples"),
    "deeply nested": (b"[" * 200_000, "nested too deeply"),
    "deeply nested and whole": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
    "not UTF-8": (b'{"schema_version": "\xff"}', "UTF-8"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_an_unreadable_file_is_one_line_with_its_name(
    run: Run, files: tuple[Path, Path], tmp_path: Path, name: str
) -> None:
    content, words = BAD_INPUT[name]
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)
    for order in ((files[0], bad), (bad, files[0])):
        code, out, err = run(*order)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert str(bad) in err
        assert words in err


def test_a_kind_that_one_file_lacks_is_said_to_be_missing(
    run: Run, files: tuple[Path, Path], tmp_path: Path
) -> None:
    case = {"model": "m", "mode": "eager", "device": "cpu", "dtype": "fp32"}
    case |= {"status": "skipped", "reason": "no torch"}
    both, latencies = tmp_path / "both.json", tmp_path / "latencies.json"
    both.write_bytes(_document(kind="model_latency", cases=[case]))
    latencies.write_bytes(_document(kind="model_latency", cases=[case], measurements=[]))
    code, out, err = run(files[0], both)
    assert (code, err) == (0, "")
    assert "2 ratios against old" in out
    assert "not compared, old: model latency: not in this result" in out
    code, out, err = run(files[0], latencies)
    assert code == 2
    assert "not compared, latencies: launch floor: not in this result" in out
    assert "not compared, old: model latency: not in this result" in out
    assert err.startswith("ftax-micro: error: nothing to compare")


def test_an_empty_folder_and_a_missing_file_are_unreadable(
    run: Run, files: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for name, words in (("empty", " has no *.json in it"), ("none.json", ": ")):
        code, out, err = run(files[0], tmp_path / name)
        assert (code, out) == (2, "")
        assert err.startswith(f"ftax-micro: error: {tmp_path / name}{words}")


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_files_are_refused(run: Run, files: tuple[Path, Path], count: int) -> None:
    code, out, err = run(*files[:count])
    assert (code, out) == (2, "")
    assert "two result files" in err


def test_an_unknown_format_suggests_the_nearest(run: Run, files: tuple[Path, Path]) -> None:
    code, _, err = run(*files, "--format", "markdwon")
    assert code == 2
    assert "did you mean markdown" in err


def test_an_unknown_probe_suggests_the_nearest(run: Run, files: tuple[Path, Path]) -> None:
    code, _, err = run(*files, "--probe", "sumbit")
    assert code == 2
    assert "did you mean submit" in err


@pytest.mark.parametrize("option", ["--probe=", "--confidence=2000", "--fail-on=", "--no-such"])
def test_empty_and_absurd_options_are_refused(
    run: Run, files: tuple[Path, Path], option: str
) -> None:
    code, out, err = run(*files, option)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_nothing_to_compare_is_said_and_is_no_success(run: Run, tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    save_result(result(row("submit", around(1e-6))), paths[0])
    save_result(result(row("sync", around(1e-6))), paths[1])
    code, out, err = run(*paths)
    assert code == 2
    assert "not compared, b: cpu submit: not measured" in out
    assert "no row was measured in the baseline and in another result" in err


# The command line


def test_help_has_examples_and_exit_codes(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("--help")
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "examples:" in out
    assert "exit codes: 0 done; 1 --fail-on fired; 2 " in out


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom ftax_micro import compare\n"
        "try:\n    compare.command(['--help'])\nexcept SystemExit:\n    pass\n"
        "found = {'numpy', 'rich', 'msgspec', 'torch'} & set(sys.modules)\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
