"""A ladder's run: which rungs, in which processes, and what becomes of one that fails."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from fake_results import device, environment
from stand_in import NO_CUDA, Watched

import ftax_micro
from ftax_micro.devices._extension import core
from ftax_micro.errors import DeviceUnavailableError, Interrupted, UnknownNameError, UsageError
from ftax_micro.orchestration import ladder as orchestrated
from ftax_micro.orchestration.ladder import LadderRun, LadderSelection, select_ladder
from ftax_micro.orchestration.point.job import PointJob
from ftax_micro.orchestration.point.process import Begins, Ends, PointProcess, Task
from ftax_micro.records import Data, Level, Measurement, Plan
from ftax_micro.results import Result
from ftax_micro.rungs import RUNGS
from ftax_micro.rungs.contract import CALL_PROCESSES, MOST_CUDA_PROCESSES

PLAN = Plan(min_samples=5, min_time_s=0.0, timeout_s=0.2)
CPU = LadderSelection(["cpu"], rungs=["raw_call", "torch_inference_mode", "torchscript"])
DATA = Data(
    estimate="slope",
    stop_reason="interval",
    levels=[Level(count=n, samples_s=[n * 1e-6] * 8) for n in (1, 2)],
)
# A child on whose device one rung's process dies.
CHILD = """
import os, signal, sys
from ftax_micro.orchestration.point import child as point_child
from stand_in import StandIn, row
rows = [row("raw_call"), row("torchscript")]
rows.append(row("torch_inference_mode", lambda: os.kill(os.getpid(), signal.SIGSEGV)))
sys.exit(point_child.main(sys.argv[1:], opener=lambda name, tracer: StandIn(*rows)))
"""


class Played(PointProcess):
    """In place of processes: every point has a value, until one that is interrupted."""

    def __init__(self, interrupted: str | None = None) -> None:
        super().__init__(limit_s=1.0)
        object.__setattr__(self, "jobs", [])
        object.__setattr__(self, "interrupted", interrupted)
        self.jobs: list[PointJob]
        self.interrupted: str | None

    def measure_all(self, tasks: Sequence[Task]) -> None:
        for job, begins, ends in tasks:
            self.measure(job, begins, ends)

    def measure(self, job: PointJob, begins: Begins, ends: Ends) -> None:
        self.jobs.append(job)
        for index, point in enumerate(job.points):
            if point.name == self.interrupted:
                raise Interrupted("SIGINT", 130)
            begins(index)
            measured = Measurement(
                device=job.device,
                name=point.name,
                setting=point.setting,
                process=job.process,
                status="ok",
                data=DATA,
            )
            ends(index, measured)


def run(selection: LadderSelection, measures: PointProcess) -> Result:
    return LadderRun(selection, PLAN, environment(), measures).run()


def test_rungs_of_one_package_share_a_process_and_none_with_others() -> None:
    played = Played()
    found = run(LadderSelection(["cpu"]), played)
    first = [job for job in played.jobs if job.process == 0]
    kinds = [
        {(rung.package, rung.processes) for rung in (RUNGS.open(p.name) for p in job.points)}
        for job in first
    ]
    assert all(len(each) == 1 for each in kinds)
    assert len({each.pop() for each in kinds}) == len(first)
    names = [row.name for row in found.rungs]
    assert sorted(set(names), key=list(RUNGS).index) == list(dict.fromkeys(names))
    assert found.kind == "dispatch_ladder"
    assert found.complete


def test_processes_repeat_everything_and_progress_counts_it() -> None:
    progress = Watched()
    selection = LadderSelection(["cpu"], rungs=["raw_call"])
    found = LadderRun(selection, PLAN, environment(), Played(), progress, processes=3).run()
    assert [row.process for row in found.rungs] == [0, 1, 2]
    assert progress.begun == [(n, 3, "raw_call") for n in range(3)]
    assert found.processes == 3


def test_rungs_are_measured_in_several_processes_in_the_time_of_one() -> None:
    progress, played = Watched(), Played()
    selection = LadderSelection(["cpu"], rungs=["raw_call", "extension", "onnxruntime"])
    plan = Plan(min_samples=175, min_time_s=1.75, max_samples=350)
    found = LadderRun(selection, plan, environment(), played, progress).run()
    repeated = dict.fromkeys(("raw_call", "extension", "onnxruntime"), 0)
    for rung in found.rungs:
        repeated[rung.name] = max(repeated[rung.name], rung.process + 1)
    assert repeated == {"raw_call": 25, "extension": 25, "onnxruntime": 7}
    assert [total for _, total, _ in progress.begun] == [107] * 107  # three numbers of arguments
    shares = {
        (job.points[0].name, job.plan.min_samples, round(job.plan.min_time_s, 6))
        for job in played.jobs
    }
    assert shares == {("raw_call", 7, 0.07), ("onnxruntime", 25, 0.25)}
    assert found.processes == 1


def test_on_a_gpu_few_processes_open_a_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orchestrated, "_described", device)
    assert RUNGS.open("extension").processes_on("cpu") == CALL_PROCESSES
    assert RUNGS.open("extension").processes_on("cuda") == MOST_CUDA_PROCESSES
    assert RUNGS.open("driver").processes_on("cuda") == 1
    played = Played()
    run(LadderSelection(["cuda:0"], rungs=["extension", "cuda_graph"]), played)
    repeated = {(job.points[0].name, job.process) for job in played.jobs}
    assert repeated == {("cuda_graph", 0), *(("extension", n) for n in range(MOST_CUDA_PROCESSES))}


@pytest.mark.parametrize("processes", [None, 4])
def test_a_rung_without_a_value_is_not_measured_again(processes: int | None) -> None:
    """One that hangs costs minutes each time, and what fails once fails its row."""

    class Failing(Played):
        def measure(self, job: PointJob, begins: Begins, ends: Ends) -> None:
            def end(index: int, row: Measurement) -> None:
                if row.setting.get("arguments") == 19:
                    row = msgspec.structs.replace(row, status="failed", reason="hung", data=None)
                ends(index, row)

            super().measure(job, begins, end)

    selection = LadderSelection(["cpu"], rungs=["ctypes"])
    found = LadderRun(selection, PLAN, environment(), Failing(), processes=processes).run()
    told = [(row.setting["arguments"], row.process) for row in found.rungs]
    every = [(n, process) for n in (0, 5) for process in range(processes or CALL_PROCESSES)]
    assert sorted(told) == [*every, (19, 0)]


@pytest.mark.parametrize(
    ("quick", "processes", "repeated"), [(False, None, 7), (True, None, 1), (True, 2, 2)]
)
def test_a_quick_run_imports_no_package_twice_unless_it_is_told_to(
    quick: bool, processes: int | None, repeated: int
) -> None:
    played = Played()
    selection = LadderSelection(["cpu"], rungs=["raw_call", "torch_grad"])
    plan = Plan(min_samples=63, quick=quick)
    found = LadderRun(selection, plan, environment(), played, processes=processes).run()
    assert [row.process for row in found.rungs if row.name == "torch_grad"] == list(range(repeated))
    shared = {job.plan.min_samples for job in played.jobs if job.points[0].name == "torch_grad"}
    assert shared == {9 if (quick, processes) == (False, None) else 63}
    calls = [row.process for row in found.rungs if row.name == "raw_call"]
    assert calls == list(range(processes or (5 if quick else CALL_PROCESSES)))


def test_a_quick_run_leaves_out_what_is_not_unless_it_is_named() -> None:
    slow = [name for name in RUNGS if not RUNGS.open(name).quick]
    assert slow == ["torch_compile_op"]
    plan = Plan(quick=True)
    found = LadderRun(LadderSelection(["cpu"]), plan, environment(), Played()).run()
    told = {row.name: row for row in found.rungs}
    assert {name for name, row in told.items() if row.status == "skipped"} == set(slow)
    assert "--rung asks for it" in str(told[slow[0]].reason)
    named = LadderSelection(["cpu"], rungs=slow)
    found = LadderRun(named, plan, environment(), Played()).run()
    assert [row.status for row in found.rungs] == ["ok"]


def test_a_process_that_dies_costs_its_rung_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    found = run(CPU, PointProcess(60.0, command=(sys.executable, str(script))))
    told = {row.name: (row.status, row.reason) for row in found.rungs}
    assert told == {
        "raw_call": ("ok", None),
        "torchscript": ("ok", None),
        "torch_inference_mode": ("failed", "its process was killed by signal 11 (SIGSEGV)"),
    }
    assert found.complete


def test_an_interruption_keeps_what_was_measured() -> None:
    found = run(CPU, Played(interrupted="torch_inference_mode"))
    assert [row.name for row in found.rungs][:1] == ["raw_call"]
    assert not found.complete
    assert found.incomplete_reason == "stopped by SIGINT"


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_CUDA.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("request_", ["auto", "all"])
def test_without_a_gpu_its_rungs_say_so(request_: str) -> None:
    selection = select_ladder(request_)
    found = run(selection, Played())
    cuda = [row for row in found.rungs if row.device == "cuda:0"]
    assert {row.name for row in cuda} == {n for n in RUNGS if "cuda" in RUNGS.open(n).below}
    assert {row.status for row in cuda} == {"skipped"}
    told = "/nonexistent" if core().has_cuda else "no CUDA device"
    assert all(told in str(row.reason) for row in cuda)
    assert {row.status for row in found.rungs if row.device == "cpu"} == {"ok"}


@pytest.mark.usefixtures("no_gpu")
def test_what_cannot_be_selected_is_said_before_anything_is_measured() -> None:
    with pytest.raises(UnknownNameError, match="did you mean torchscript"):
        select_ladder("cpu", ["torchscipt"])
    with pytest.raises(UsageError, match="nothing to measure on cpu: cuda_graph exists on cuda"):
        select_ladder("cpu", ["cuda_graph"])
    with pytest.raises(DeviceUnavailableError):
        select_ladder("cuda")


def test_the_function_measures_and_derives() -> None:
    found = ftax_micro.measure_dispatch_ladder("cpu", rungs=["raw_call"], plan=PLAN)
    (row,) = ftax_micro.ladder_rows(found.rungs)
    assert row.rung == "raw_call"
    assert row.slope is not None
    assert row.slope.value > 0
