"""Where results go when many write: a file for each device and rank, and no neighbour's lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_results import device, environment, result
from fake_results import row as measured
from floor_command import PutInPlace, RunFloor, run_floor, stand_in
from stand_in import NO_CUDA, TINY, messages, row

from ftax_micro import atomic_files, cli, dispatch_ladder, main_job, model_latency, trust
from ftax_micro.cli.outputs import Output, check_resumable, open_output, part_of
from ftax_micro.errors import UsageError
from ftax_micro.file_names import values_here
from ftax_micro.orchestration.latency.file import GrowingFile
from ftax_micro.results import Result, encode_result, load_result, rescue_result, save_result

__all__ = ["run_floor", "stand_in"]

STEP = {
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "3",
    "SLURM_NODEID": "0",
    "SLURM_STEP_TASKS_PER_NODE": "4",
}


def rank(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    for name, value in {**STEP, "SLURM_PROCID": f"{number}", "SLURM_LOCALID": f"{number}"}.items():
        monkeypatch.setenv(name, value)


def of_two() -> Result:
    rows = [measured("submit", [1e-6] * 9), measured("submit", [2e-6] * 9, device="cuda:0")]
    return result(*rows, devices=[device("cpu"), device("cuda:0")])


def test_each_device_gets_a_result_of_its_own(tmp_path: Path) -> None:
    output = open_output(tmp_path / "a-{device}.json", ["cpu", "cuda:0", "cuda:1"], force=False)
    assert output.save(of_two()) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-cpu.json", "a-cuda-0.json"]
    part = load_result(tmp_path / "a-cuda-0.json")
    assert [each.name for each in part.devices] == ["cuda:0"]
    assert [each.device for each in part.measurements] == ["cuda:0"]
    assert part_of(of_two(), "cuda:1") is None


def test_one_device_or_no_field_keeps_the_result_whole(tmp_path: Path) -> None:
    for name, devices in (("a-{device}.json", ["cpu"]), ("a.json", ["cpu", "cuda:0"])):
        output = open_output(tmp_path / name, devices, force=False)
        assert output.save(of_two()) == 0
    assert load_result(tmp_path / "a-cpu.json") == load_result(tmp_path / "a.json") == of_two()


def test_all_files_are_looked_at_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "a-cuda-0.json").touch()
    with pytest.raises(UsageError, match=r"a-cuda-0\.json exists already; --force"):
        open_output(tmp_path / "a-{device}.json", ["cpu", "cuda:0"], force=False)
    assert open_output(tmp_path / "a-{device}.json", ["cpu", "cuda:0"], force=True).force


def test_a_device_that_cannot_be_saved_leaves_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = open_output(tmp_path / "a-{device}.json", ["cpu", "cuda:0"], force=False)
    (tmp_path / "a-cpu.json").write_text("a neighbour's")
    assert output.save(of_two()) == 2
    assert load_result(tmp_path / "a-cuda-0.json").devices[0].name == "cuda:0"
    kept = tmp_path / "a-cpu.rescued.json"
    assert load_result(kept).devices[0].name == "cpu"
    assert f"the result was kept in {kept}" in capsys.readouterr().err


def test_folders_with_fields_are_made_and_others_are_not(tmp_path: Path) -> None:
    open_output(tmp_path / "{device}" / "x" / "a.json", ["cpu"], force=False)
    assert (tmp_path / "cpu" / "x").is_dir()
    with pytest.raises(Exception, match="cannot write"):
        open_output(tmp_path / "absent" / "{device}.json", ["cpu"], force=False)


def test_no_name_is_no_file() -> None:
    assert open_output(None, ["cpu"], force=False) == Output({}, force=False)
    assert Output({}, force=False).save(of_two()) == 0


@pytest.mark.parametrize("field", ["time", "date", "pid"])
def test_what_is_resumed_needs_a_name_that_lasts(field: str) -> None:
    check_resumable(Path("{host}-{job}.json"))
    with pytest.raises(UsageError, match=rf"leave {{{field}}} out of -o"):
        check_resumable(Path(f"a-{{{field}}}.json"))


def test_one_rank_of_a_node_measures(
    run_floor: RunFloor, stand_in: PutInPlace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = stand_in(row("submit"))
    rank(monkeypatch, 3)
    target = str(tmp_path / "a-{host}.json")
    code, out, err = run_floor("--device", "cpu", *TINY, "-o", target)
    assert (code, out, made.opened) == (0, "", 0)
    assert err == (
        "ftax-micro: Slurm rank 3 measures nothing: it is local rank 3 of 4, and one of a node is "
        "enough ({rank} in -o measures in each)\n"
    )
    rank(monkeypatch, 0)
    assert run_floor("--device", "cpu", *TINY, "-o", target)[0] == 0
    (saved,) = tmp_path.iterdir()
    launch = load_result(saved).environment.process.launch
    assert launch is not None
    assert (launch.launcher, launch.rank, launch.local_size, launch.together) == ("Slurm", 0, 4, 1)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (dispatch_ladder.command, ["--device", "cpu"]),
        (model_latency.command, ["--model", "bert_tiny", "--device", "cpu"]),
        (main_job.command, ["--device", "cpu"]),
    ],
)
def test_no_command_measures_on_another_rank(
    command: Callable[[Sequence[str] | None], int],
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    rank(monkeypatch, 1)
    assert cli.run(command, [*arguments, "-o", str(tmp_path / "a.json")]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ftax-micro: Slurm rank 1 measures nothing: ")
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_main_job_fills_in_both_of_its_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    written: list[Path | None] = []

    def write(report: main_job.Report, _: Result) -> int:
        written.append(report.path)
        return 0

    monkeypatch.setattr(main_job, "_devices", lambda _: main_job.Devices("cpu", ["cpu"], None))
    monkeypatch.setattr(main_job, "_run", lambda *_: of_two())
    monkeypatch.setattr(main_job.Report, "write", write)
    host = values_here()["host"]
    names = (
        "-o",
        str(tmp_path / "a-{device}-{host}.json"),
        "--report",
        str(tmp_path / "{host}.html"),
    )
    assert cli.run(main_job.command, names) == 0
    assert [path.name for path in tmp_path.iterdir()] == [f"a-cpu-{host}.json"]
    assert written == [tmp_path / f"{host}.html"]
    capsys.readouterr()


@pytest.mark.parametrize("field", ["rank", "local_rank"])
def test_ranks_that_have_a_name_each_measure_and_are_warned_of(
    run_floor: RunFloor,
    stand_in: PutInPlace,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    field: str,
) -> None:
    stand_in(row("submit"))
    rank(monkeypatch, 3)
    code, _, err = run_floor("--device", "cpu", *TINY, "-o", str(tmp_path / f"a-{{{field}}}.json"))
    assert code == 0
    assert "warning: 4 ranks measured on this node at the same time" in err
    launch = load_result(tmp_path / "a-3.json").environment.process.launch
    assert launch is not None
    assert launch.together == 4


def test_what_measures_nothing_is_for_every_rank(
    run_floor: RunFloor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    save_result(of_two(), tmp_path / "a{b}.json")
    rank(monkeypatch, 3)
    code, out, _ = run_floor("--show", str(tmp_path / "a{b}.json"))
    assert code == 0
    assert "submit" in out


def test_a_wrong_field_is_one_line_before_anything_is_measured(
    run_floor: RunFloor, stand_in: PutInPlace, tmp_path: Path
) -> None:
    made = stand_in(row("submit"))
    for name in ("{hots}", "{rank}", "{"):
        code, out, err = run_floor("--device", "cpu", *TINY, "-o", str(tmp_path / name))
        assert (code, out, made.opened, len(err.splitlines())) == (2, "", 0, 1), err


def test_ranks_together_are_a_warning_of_the_environment() -> None:
    import msgspec

    from ftax_micro.environment.ranks import launch_facts

    process = msgspec.structs.replace(environment().process, launch=launch_facts(STEP, 4))
    found = trust.trust_warnings(environment(process=process))
    assert "ranks_together" in [each.code for each in found]


RACE = """
import pathlib, sys, time
from ftax_micro import results
result = results.load_result(sys.argv[1])
data = results.encode_result(result)
target = pathlib.Path(sys.argv[2])
if sys.argv[3] == "claim":
    import os
    def refuse(*_):
        raise PermissionError(1, "no hard links here")
    os.link = refuse
results._refuse_existing = lambda *_: None  # both looked before either wrote
print("ready", flush=True)
sys.stdin.readline()
for number in range(40):
    try:
        results.save_bytes(data, target.with_name(f"{number}.json"))
        print("wrote", number)
    except results.UsageError as error:
        assert "exists already; --force" in str(error), error
"""


@pytest.mark.parametrize("way", ["link", "claim"])
def test_of_two_processes_with_one_name_one_writes(tmp_path: Path, way: str) -> None:
    """Both start from the same signal, forty times the same file: each has exactly one author."""
    source = tmp_path / "source.json"
    save_result(of_two(), source)
    (tmp_path / "out").mkdir()
    arguments = [sys.executable, "-c", RACE, str(source), str(tmp_path / "out" / "x"), way]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(arguments, **pipes) for _ in range(2)]
    try:
        for each in both:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        for each in both:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        wrote = [each.communicate(timeout=60)[0].split("\n")[:-1] for each in both]
    finally:
        for each in both:
            each.kill()
    assert [each.returncode for each in both] == [0, 0]
    numbers = [line.removeprefix("wrote ") for lines in wrote for line in lines]
    assert sorted(numbers, key=int) == [f"{number}" for number in range(40)]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"{number}.json" for number in range(40)}  # and nothing temporary
    assert all(load_result(tmp_path / "out" / name) == of_two() for name in names)


def test_two_ranks_with_one_name_lose_nothing(tmp_path: Path) -> None:
    """Two nodes and a shared folder: both measure, one gets the name, the other's is beside it."""
    command = [sys.executable, "-m", "ftax_micro.launch_floor", "--device", "cpu", *TINY]
    command += ["--probe", "call_direct", "-o", str(tmp_path / "floor.json")]
    base = {**os.environ, **NO_CUDA, "SLURM_LOCALID": "0", "SLURM_STEP_TASKS_PER_NODE": "1(x2)"}
    both = []
    for number in ("0", "1"):
        environ = {**base, "SLURM_PROCID": number, "SLURM_NODEID": number}
        both.append(
            subprocess.Popen(
                command, env=environ, cwd=tmp_path, stderr=subprocess.PIPE, stdout=-3, text=True
            )
        )
    told = [each.communicate(timeout=60)[1] for each in both]
    codes = sorted(each.returncode for each in both)
    # One may have been so late that it was refused before it measured, which is as well.
    assert codes == [0, 2], told
    loser = next(text for each, text in zip(both, told, strict=True) if each.returncode == 2)
    (error, *rest) = messages(loser)
    assert (
        error == f"ftax-micro: error: {tmp_path / 'floor.json'} exists already; --force replaces it"
    )
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"floor.json", *(["floor.rescued.json"] if rest else [])}
    ranks = set()
    for name in files:
        launch = load_result(tmp_path / name).environment.process.launch
        assert launch is not None
        ranks.add(launch.rank)
    assert len(ranks) == len(files)


def test_a_run_that_grows_its_file_does_not_take_another_s(tmp_path: Path) -> None:
    """What came between looking and measuring: without --force or --resume it is not ours."""
    path = tmp_path / "a.json"
    with GrowingFile(path) as file:
        path.write_text("another's")
        with pytest.raises(UsageError, match="exists already"):
            file.claim(of_two(), replaces=False)
        assert path.read_text() == "another's"
        file.claim(of_two())  # as with --resume
    assert path.read_text() == "another's"


def test_a_link_that_was_made_and_denied_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of network files whose first answer was lost."""
    link = os.link

    def linked_and_denied(source: Path, target: Path) -> None:
        link(source, target)
        raise FileExistsError(17, "File exists")

    monkeypatch.setattr(os, "link", linked_and_denied)
    assert atomic_files.write_atomically(tmp_path / "x.json", b"1", replace=False)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"1"]


def test_a_claim_that_cannot_be_filled_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        atomic_files.write_atomically(tmp_path / "x.json", b"1", replace=False)
    assert list(tmp_path.iterdir()) == []


def test_rescued_results_do_not_meet_either(tmp_path: Path) -> None:
    found = [rescue_result(of_two(), tmp_path / "floor.json") for _ in range(3)]
    names = ["floor.rescued.json", "floor.rescued-2.json", "floor.rescued-3.json"]
    assert [path.name for path in found] == names
    assert found[2].read_bytes() == encode_result(of_two())


def test_beside_a_device_file_nothing_is_rescued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert rescue_result(of_two(), Path(os.devnull)).parent.parent == tmp_path
