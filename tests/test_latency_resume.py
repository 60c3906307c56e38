"""Runs that are written as they go, stopped, and gone on with."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fake_results import environment

from ftax_micro import model_latency
from ftax_micro.cli import run
from ftax_micro.errors import Interrupted, UsageError
from ftax_micro.interleaving import Block
from ftax_micro.orchestration.latency import file as latency_file
from ftax_micro.orchestration.latency.file import GrowingFile
from ftax_micro.orchestration.latency.requests import Task, requests_for
from ftax_micro.orchestration.latency.resume import check_resumable
from ftax_micro.orchestration.latency.run import LATENCY_PLAN, LatencyRun
from ftax_micro.orchestration.workload import process as workload_process
from ftax_micro.orchestration.workload.job import Absent, Ready, Taken, Timed
from ftax_micro.orchestration.workload.journal import Journal
from ftax_micro.results import Result, load_result, save_result


class Played:
    """Stands for workers: every mode gets a time, unless its name and batch are in `play`."""

    def __init__(self, play: dict[tuple[str, int], str]) -> None:
        self.play = play
        self.measured: list[tuple[str, int]] = []

    def measure(self, journal: Journal) -> None:
        for mode in journal.undone():
            case = (mode, journal.request.shape.batch)
            self.measured.append(case)
            what = self.play.get(case)
            if what == "fail":
                journal.fail(mode, "no luck")
                continue
            if what == "skip":
                journal.hear(Absent(mode=mode, status="skipped", reason="not here"))
                continue
            norms = {"relative_norm": 0.0, "largest_difference": 0.0}
            journal.hear(Ready(mode=mode, costs_s={}, facts={}, **norms))
            journal.hear(Taken(mode=mode, block=Block(latency=[1.0, 2.0])))
            if what == "stop":
                raise Interrupted("SIGINT", 130)
            journal.hear(Timed(mode=mode, reason="interval"))


def tasks(*modes: str) -> list[Task]:
    wanted = modes or ("eager", "torchscript")
    return [Task(each, wanted) for each in requests_for(["layer_norm"], batch=[1, 2])]


def ran(
    play: dict[tuple[str, int], str], former: Result | None = None, **more: Any
) -> tuple[Result, list[tuple[str, int]]]:
    played = Played(play)
    more.setdefault("tasks", tasks())
    result = LatencyRun(
        plan=LATENCY_PLAN, environment=environment(), measures=played, former=former, **more
    ).run()
    return result, played.measured


def test_a_stopped_run_is_gone_on_with_where_it_was() -> None:
    first, _ = ran({("torchscript", 1): "stop"})
    assert (first.complete, first.incomplete_reason) == (False, "stopped by SIGINT")
    assert [case.latency.stop_reason for case in first.cases if case.latency] == [
        "interval",
        "interrupted",
    ]
    second, measured = ran({}, first)
    assert measured == [("torchscript", 1), ("eager", 2), ("torchscript", 2)]
    assert second.complete
    assert [(case.mode, case.batch) for case in second.cases] == [
        ("eager", 1),
        *measured,
    ]
    assert second.cases[0] == first.cases[0]  # with its own version and date


@pytest.mark.parametrize("retry", [False, True])
def test_what_failed_or_was_skipped_is_measured_again_only_where_that_is_asked_for(
    retry: bool,
) -> None:
    first, _ = ran({("eager", 1): "fail", ("torchscript", 2): "skip"})
    second, measured = ran({}, first, retry=retry)
    assert measured == ([("eager", 1), ("torchscript", 2)] if retry else [])
    assert {case.status for case in second.cases} == (
        {"ok"} if retry else {"ok", "failed", "skipped"}
    )


def test_another_run_s_cases_stay_beside_the_new_ones() -> None:
    first, _ = ran({}, tasks=tasks("eager"))
    second, measured = ran({}, first, tasks=tasks("torchscript"))
    assert len(measured) == 2
    assert [case.mode for case in second.cases] == ["eager"] * 2 + ["torchscript"] * 2


def resumable(**changes: Any) -> None:
    former, _ = ran({})
    check_resumable(
        msgspec.structs.replace(former, **changes), LATENCY_PLAN, environment(), "f.json"
    )


def test_a_file_that_cannot_be_gone_on_with_says_what_differs() -> None:
    resumable()
    with pytest.raises(UsageError, match=r"f.json is a result of launch_floor"):
        resumable(kind="launch_floor")
    shorter = msgspec.structs.replace(LATENCY_PLAN, timeout_s=1.0)
    with pytest.raises(UsageError, match=r"other settings: timeout_s 1.0 in the file, 60.0 now"):
        resumable(plan=shorter)
    here = environment()
    host = msgspec.structs.replace(here.host, cpu_model="another")
    with pytest.raises(UsageError, match=r"on another machine: cpu_model another in the file"):
        resumable(environment=msgspec.structs.replace(here, host=host))
    resumable(environment=msgspec.structs.replace(here, hostname="renamed"))


def test_the_file_is_there_at_once_and_grows_with_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.json"
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    result, _ = ran({})
    saved: list[Path] = []

    def save(given: Result, to: Path, **more: bool) -> None:
        saved.append(to)
        save_result(given, to, **more)
        now[0] += 2.0

    monkeypatch.setattr(latency_file, "save_result", save)
    with GrowingFile(path) as file:
        file.claim(result)
        file.claim(result)
        assert len(saved) == 1
        for _ in range(10):
            file.offer(lambda: result)
            now[0] += 9.0
    # Writing took 2 s, so 40 s lie between two.
    assert len(saved) == 1 + 2
    assert load_result(path) == result
    assert list(tmp_path.iterdir()) == [path]


def test_a_run_goes_on_where_its_file_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    result, _ = ran({})
    with GrowingFile(path) as file:
        file.claim(result)
        path.unlink()
        path.mkdir()
        file.offer(lambda: result)


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with (
        GrowingFile(path),
        pytest.raises(UsageError, match="another run writes to"),
        GrowingFile(path),
    ):
        pass
    with GrowingFile(path):
        pass


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, Played]]:
    """The command with workers that are played: its exit code, stderr, and what was measured."""

    def call(play: dict[tuple[str, int], str], arguments: Sequence[str]) -> tuple[int, str, Played]:
        played = Played(play)

        def measure(self: Any, journal: Journal) -> None:
            try:
                played.measure(journal)
            except Interrupted:
                signal.raise_signal(signal.SIGINT)
                raise

        monkeypatch.setattr(workload_process.WorkloadProcess, "measure", measure)
        asked = ["--model", "layer_norm", "--mode", "eager,torchscript", "--device", "cpu"]
        code = run(model_latency.command, [*asked, *arguments])
        return code, capsys.readouterr().err, played

    return call


def test_ctrl_c_then_resume(command: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    asked = ["--batch", "1,2", "-o", str(path)]
    code, err, _ = command({("eager", 2): "stop"}, asked)
    assert code == 130
    assert "stopped by SIGINT; 3 cases measured" in err
    assert not load_result(path).complete
    code, err, _ = command({}, asked)
    assert (code, "exists already" in err) == (2, True)
    code, err, played = command({}, [*asked, "--resume"])
    assert code == 0
    assert "3 cases are there already, 2 are to be measured" in err
    assert played.measured == [("eager", 2), ("torchscript", 2)]
    assert load_result(path).complete
    code, err, played = command({}, [*asked, "--resume"])
    assert (code, played.measured) == (0, [])


def test_resume_starts_a_file_that_is_not_there(
    command: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "r.json"
    code, _, played = command({}, ["-o", str(path), "--resume"])
    assert (code, len(played.measured)) == (0, 2)
    assert load_result(path).complete


def test_resume_with_another_plan_is_refused(command: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    command({}, ["-o", str(path)])
    before = path.read_bytes()
    code, err, played = command({}, ["-o", str(path), "--resume", "--quick"])
    assert (code, played.measured) == (2, [])
    assert "other settings: min_samples 100 in the file, 10 now; " in err
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume"], "--resume goes on with the file of -o"),
        (["--resume", "--force", "-o", "x"], "choose one"),
        (["--retry-failed"], "--retry-failed is for --resume"),
        (["--study", "x.toml"], "--model is what a study says itself"),
        (["--show", "x.json"], "--model is for measuring"),
        (["--list", "--quick"], "--model is for measuring"),
        (["--device", "all"], "models are measured on one device"),
        (["-o", "/no/such/folder/r.json"], "cannot write /no/such/folder/r.json"),
    ],
)
def test_options_that_contradict_are_one_line(
    command: Callable[..., Any], arguments: list[str], message: str
) -> None:
    code, err, played = command({}, arguments)
    assert code in (2, 4)
    assert message in err
    assert len(err.splitlines()) == 1
    assert played.measured == []


def test_a_gpu_that_is_not_there_is_told_with_its_reason(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", "/nonexistent")
    code, err, _ = command({}, ["--device", "cuda:0"])
    assert code == 3
    assert "cuda:0 is not available" in err
