"""A mode traced in a process of its own, after all that is timed."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from ftax_micro.devices.tracing import Trace, TracedCall, TracedOperation
from ftax_micro.errors import Skip
from ftax_micro.models.request import ModelRequest, own_spec
from ftax_micro.orchestration.workload import session as workload_session
from ftax_micro.orchestration.workload.job import Message, Traced
from ftax_micro.orchestration.workload.journal import Journal
from ftax_micro.orchestration.workload.process import WorkloadProcess
from ftax_micro.orchestration.workload.request import WorkloadRequest
from ftax_micro.orchestration.workload.session import WorkloadSession
from ftax_micro.records import Case, Plan
from ftax_micro.result_rules import check_case

PLAN = Plan(min_samples=4, min_time_s=0.0, timeout_s=5.0, half_width=100.0)
QUICK = Plan(min_samples=4, min_time_s=0.0, timeout_s=5.0, half_width=100.0, quick=True)
MODES = ("eager", "second")

# Everything goes well but for what FTAX_TEST_DEVICE says of the traced part, by mode.
CHILD = """
import json, os, signal, sys, time
from pathlib import Path
from ftax_micro.interleaving import Block
from ftax_micro.orchestration.workload.job import *
from ftax_micro.orchestration.workload.job import read_job
from ftax_micro.records import Data, DevicePass

job, pipe = read_job(Path(sys.argv[1])), int(sys.argv[2])
def tell(message): os.write(pipe, encode_message(message))
tell(Stands(phase="build"))
tell(Built(parameters=3, weight_bytes=12))
for mode in job.modes:
    if job.part == "solo":
        data = Data(estimate="median", stop_reason="interval", samples=[2.0])
        tell(Alone(mode=mode, costs_s={}, latency=data))
    elif job.part == "timing":
        tell(Ready(mode=mode, costs_s={}, facts={}, relative_norm=0, largest_difference=0))
        tell(Taken(mode=mode, block=Block(latency=[1.0], pipelined=1.0, elapsed_s=1.0)))
        tell(Timed(mode=mode, reason="interval"))
    else:
        tell(Stands(phase="trace", mode=mode))
        what = json.loads(os.environ["FTAX_TEST_DEVICE"]).get(mode)
        if what == "kill": os.kill(os.getpid(), signal.SIGKILL)
        while what == "hang":  # and says so
            time.sleep(0.05); tell(Stands(phase="trace", mode=mode))
        if what == "refuse": tell(Traced(mode=mode, reason="no tracer here")); continue
        found = DevicePass(operations=[], calls=[], busy_s=[1.0], latency_s=[2.0], host_s=[1.0])
        tell(Traced(mode=mode, device_pass=found))
"""


def traced(
    monkeypatch: pytest.MonkeyPatch,
    play: dict[str, str],
    device: str,
    plan: Plan = PLAN,
    *,
    traces: bool = False,
    traces_s: float | None = None,
) -> dict[str, Case]:
    """The cases of two modes, by mode."""
    monkeypatch.setenv("FTAX_TEST_DEVICE", json.dumps(play))
    model = ModelRequest("mine", own_spec("mine", lambda: (None, None)))
    request = WorkloadRequest(model, model.spec.shape, device=device)
    why = "not measured in a quick run" if plan.quick else None
    journal = Journal(request, MODES, plan, not_alone=why)
    command = (sys.executable, "-c", CHILD)
    WorkloadProcess(
        command=command, patience_s=0.0, traces=traces, traces_s=traces_s, grace_s=1.0
    ).measure(journal)
    cases = journal.cases()
    for case in cases:
        check_case(case)
    return {case.mode: case for case in cases}


def test_every_mode_of_a_gpu_is_traced_after_it_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = traced(monkeypatch, {}, "cuda:0")
    for case in cases.values():
        assert case.status == "ok"
        assert case.device_pass is not None
        assert case.device_pass.busy_s == [1.0]


def test_a_trace_that_fails_is_a_reason_and_costs_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = traced(monkeypatch, {"eager": "kill", "second": "refuse"}, "cuda:0")
    assert {case.status for case in cases.values()} == {"ok"}
    assert {case.device_pass for case in cases.values()} == {None}
    assert "SIGKILL) while tracing it" in cases["eager"].reasons["device_pass"]
    assert cases["second"].reasons["device_pass"] == "no tracer here"


def test_the_cpu_has_nothing_to_trace_and_a_quick_run_says_why_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "device_pass" not in traced(monkeypatch, {}, "cpu")["eager"].reasons
    quick = traced(monkeypatch, {}, "cuda:0", QUICK)["eager"]
    assert (
        quick.reasons["device_pass"] == quick.reasons["gpu_load"] == "not measured in a quick run"
    )


def test_a_quick_run_is_traced_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = traced(monkeypatch, {"second": "refuse"}, "cuda:0", QUICK, traces=True)
    assert cases["eager"].device_pass is not None
    assert "device_pass" not in cases["eager"].reasons
    assert cases["eager"].reasons["gpu_load"] == "not measured in a quick run"
    assert cases["second"].reasons["device_pass"] == "no tracer here"


def test_traces_that_take_too_long_are_ended_and_cost_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mode that says all the time that it is at work, and one whose turn never comes."""
    cases = traced(monkeypatch, {"eager": "hang"}, "cuda:0", traces_s=2.0)
    assert {case.status for case in cases.values()} == {"ok"}
    assert {case.device_pass for case in cases.values()} == {None}
    assert cases["eager"].reasons["device_pass"].startswith("its time was over while ")
    assert cases["second"].reasons["device_pass"] == "the 2 s for tracing were over"


class Tracer:
    """Records one launch for each forward that is waited for."""

    name = "fake"
    facts: dict[str, str] = {}  # noqa: RUF012 - never written

    def __init__(self) -> None:
        self.time_ns = 0

    def now_ns(self) -> int:
        self.time_ns += 10
        return self.time_ns

    def take(self) -> Trace:
        begin = self.time_ns
        call = TracedCall(1, begin, begin + 1, "launch")
        return Trace([call], [TracedOperation(1, "kernel", begin + 2, begin + 5)])

    def stop(self) -> None:
        raise AssertionError("the process ends with it")


def told_by(monkeypatch: pytest.MonkeyPatch, refuse: bool) -> list[Traced]:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")

    def make() -> tuple[Any, Any]:
        return torch.nn.Linear(3, 2), torch.ones(2, 3)

    def start() -> Tracer:
        if refuse:
            raise Skip("no tracer here")
        return Tracer()

    monkeypatch.setattr(workload_session, "waiting", lambda _request, _prepared: lambda: None)
    model = ModelRequest("mine", own_spec("mine", make))
    told: list[Message] = []
    session = WorkloadSession(
        WorkloadRequest(model, model.spec.shape), ["eager"], PLAN, told.append
    )
    session.run_traced(start)
    return [message for message in told if isinstance(message, Traced)]


def test_the_forwards_of_a_mode_are_laid_out_place_by_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (found,) = told_by(monkeypatch, refuse=False)
    assert found.reason is None
    assert found.device_pass is not None
    assert [each.name for each in found.device_pass.operations] == ["kernel"]
    assert len(found.device_pass.latency_s) >= 20


def test_without_a_tracer_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told_by(monkeypatch, refuse=True) == [Traced(mode="eager", reason="no tracer here")]
