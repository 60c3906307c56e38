"""Workloads in modes: what is timed, what is refused, and what is left where one goes wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from workload_here import WorkloadRun

from ftax_micro.errors import Interrupted, Skip
from ftax_micro.models.request import ModelRequest, own_spec
from ftax_micro.modes import MODES
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.outputs import on_cpu
from ftax_micro.orchestration.workload import request as workload_request
from ftax_micro.orchestration.workload.request import WorkloadRequest
from ftax_micro.records import Case, DeviceState, Plan
from ftax_micro.result_rules import check_case

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")

PLAN = Plan(min_samples=4, min_time_s=0.0, timeout_s=2.0, half_width=100.0, quick=True)


def request_for(module: Callable[[], torch.nn.Module], inputs: Any = None) -> WorkloadRequest:
    given = torch.ones(2, 3) if inputs is None else inputs
    spec = own_spec("mine", lambda: (module(), given))
    return WorkloadRequest(ModelRequest("mine", spec), spec.shape)


def linear() -> torch.nn.Module:
    return torch.nn.Linear(3, 2)


def measured(request: WorkloadRequest, *modes: str) -> dict[str, Case]:
    cases = WorkloadRun(request, modes, PLAN).run()
    assert [case.mode for case in cases] == list(modes)
    for case in cases:
        check_case(case)
    return {case.mode: case for case in cases}


def offer(monkeypatch: pytest.MonkeyPatch, name: str, prepare: Callable[..., Prepared]) -> None:
    """A mode called `name` whose `prepare` is the given one."""
    mode = type("Offered", (), {"prepare": lambda _self, workload: prepare(workload)})
    opened = MODES.open
    monkeypatch.setattr(MODES, "open", lambda asked: mode if asked == name else opened(asked))


def test_every_mode_is_timed_in_blocks_with_its_facts() -> None:
    cases = measured(request_for(linear), "eager", "torchscript")
    for case in cases.values():
        assert case.status == "ok"
        assert case.latency is not None
        assert len(case.latency.samples) == sum(case.blocks) >= 4
        assert len(case.states) == len(case.blocks)
        assert all(each.fixed_work_s for pair in case.states for each in pair)
        assert min(case.latency.samples) > 0
        assert case.host is not None
        assert case.host.samples == case.latency.samples  # nothing runs on beside the host
        assert case.pipelined is not None
        assert (case.parameters, case.weight_bytes, case.facts["threads"]) == (8, 32, 1)
        assert case.relative_norm is not None
        assert case.relative_norm < 1e-5
    assert set(cases["torchscript"].costs_s) == {*("trace", "freeze", "first_runs", "first_call")}


def test_eager_is_compared_with_even_where_it_is_not_asked_for() -> None:
    assert measured(request_for(linear), "torchscript")["torchscript"].status == "ok"


def test_a_mode_that_computes_something_else_is_failed_and_never_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = itertools.count()

    def prepare(workload: Any) -> Prepared:
        def forward() -> torch.Tensor:
            next(calls)
            return workload.module(**workload.inputs) * 1.5

        return Prepared(forward, on_cpu)

    offer(monkeypatch, "wrong", prepare)
    cases = measured(request_for(linear), "eager", "wrong")
    assert cases["eager"].status == "ok"
    assert cases["wrong"].status == "failed"
    assert "outputs differ from eager's by 0.5 of their norm" in str(cases["wrong"].reason)
    assert next(calls) == 1


class Unsteady(torch.nn.Module):
    """A sum that is off by `noise`, another time each forward; into one buffer where `reuses`."""

    def __init__(self, noise: float, reuses: bool = False) -> None:
        super().__init__()
        self.register_buffer("result", torch.empty(2))
        self.noise, self.reuses = noise, reuses
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        total: torch.Tensor = x.sum(1) * (1 + self.noise * self.calls)
        return self.result.copy_(total) if self.reuses else total


@pytest.mark.parametrize("reuses", [False, True])
def test_a_model_that_answers_otherwise_each_time_is_compared_with_nothing(reuses: bool) -> None:
    cases = measured(request_for(lambda: Unsteady(0.5, reuses)), "eager", "torchscript")
    assert cases["eager"].status == "failed"
    assert "differ from forward to forward" in str(cases["eager"].reason)
    assert cases["torchscript"].status == "skipped"
    assert "nothing to compare with" in str(cases["torchscript"].reason)


def test_rounding_from_forward_to_forward_is_no_reason() -> None:
    """Kernels that add up in no fixed order round differently each time."""
    assert measured(request_for(lambda: Unsteady(1e-6)), "eager")["eager"].status == "ok"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
def test_outputs_that_prove_nothing_are_told_as_what_they_are(value: float) -> None:
    class Constant(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * value

    case = measured(request_for(Constant), "eager")["eager"]
    assert case.status == "failed"
    assert ("zero" if value == 0 else "not finite") in str(case.reason)


def test_a_mode_that_cannot_run_here_is_skipped_and_the_rest_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def prepare(_workload: Any) -> Prepared:
        raise Skip("not on this machine")

    offer(monkeypatch, "absent", prepare)
    cases = measured(request_for(linear), "absent", "eager")
    assert (cases["absent"].status, cases["absent"].reason) == ("skipped", "not on this machine")
    assert cases["eager"].status == "ok"


def test_what_was_prepared_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []

    def prepare(workload: Any) -> Prepared:
        run = workload.module
        return Prepared(lambda: run(**workload.inputs), on_cpu, close=lambda: closed.append(True))

    offer(monkeypatch, "held", prepare)
    measured(request_for(linear), "held")
    assert closed == [True]


class Random(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand_like(x)


class Broken(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("no such\nlayer")


class Infinite(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / 0


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (Random, "differ from forward to forward"),
        (Broken, "ValueError: no such"),
        (Infinite, "6 of 6 are not finite"),
    ],
)
def test_without_a_reference_nothing_is_timed(
    module: Callable[[], torch.nn.Module], reason: str
) -> None:
    cases = measured(request_for(module), "eager", "torchscript")
    assert cases["eager"].status == "failed"
    assert reason in str(cases["eager"].reason)
    assert cases["torchscript"].status != "ok"


def test_a_model_that_cannot_be_built_is_one_case_per_mode() -> None:
    def refuses() -> torch.nn.Module:
        raise RuntimeError("out of luck")

    cases = measured(request_for(refuses), "eager", "torchscript")
    assert {case.reason for case in cases.values()} == {"RuntimeError: out of luck"}
    assert {case.parameters for case in cases.values()} == {None}


def test_threads_and_gradients_are_torch_s_own_again_afterwards() -> None:
    seen: list[tuple[int, bool]] = []

    class Watching(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append((torch.get_num_threads(), torch.is_inference_mode_enabled()))
            return x + 1

    before = torch.get_num_threads()
    measured(request_for(Watching), "eager")
    assert {threads for threads, _ in seen} == {1}
    assert set(seen[:-3]) == {(1, True)}  # the last ones are counted
    assert (torch.get_num_threads(), torch.is_inference_mode_enabled()) == (before, False)


def test_an_interruption_while_preparing_ends_the_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(_workload: Any) -> Prepared:
        raise Interrupted("SIGINT", 130)

    offer(monkeypatch, "stopped", prepare)
    run = WorkloadRun(request_for(linear), ["eager", "stopped"], PLAN)
    with pytest.raises(Interrupted):
        run.run()
    assert run.cases() == []


def test_whoever_watches_hears_of_modes_and_blocks() -> None:
    told: list[tuple[str, ...]] = []

    class Watcher:
        def workload_begins(self, text: str, index: int, total: int) -> None:
            raise AssertionError("there is only one")

        def mode_begins(self, mode: str, phase: str) -> None:
            told.append((mode, phase))

        def block_ends(self, mode: str, samples: int) -> None:
            told.append((mode, "block"))
            assert samples > 0

        def solo_ends(self, mode: str) -> None:
            raise AssertionError("not in this process")

        def case_ends(self, mode: str) -> None:
            told.append((mode, "ends"))

    WorkloadRun(request_for(linear), ["eager"], PLAN, progress=Watcher()).run()
    steps = ["prepare", "check", "time", "block", "ends", "count"]
    turns = [step for step, again in zip(told, [None, *told], strict=False) if step != again]
    while turns[4:6] == [("eager", "time"), ("eager", "block")]:  # as many as it takes
        del turns[4:6]
    assert turns == [("eager", step) for step in steps]


def ok_case(**changes: Any) -> Case:
    return msgspec.structs.replace(measured(request_for(linear), "eager")["eager"], **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": "failed"}, "contradicts the data"),
        ({"blocks": [1]}, "Blocks do not add up"),
        ({"states": [(DeviceState(), DeviceState())] * 99}, "states around every block"),
        ({"costs_s": {"trace": float("nan")}}, "Not a number"),
        ({"status": "skipped", "latency": None}, "needs a reason"),
    ],
)
def test_cases_that_contradict_themselves_are_refused(
    changes: dict[str, Any], message: str
) -> None:
    case = ok_case()
    check_case(case)
    with pytest.raises(msgspec.ValidationError, match=message):
        check_case(msgspec.structs.replace(case, **changes))


def test_the_reference_is_the_paper_s_baseline() -> None:
    assert workload_request.REFERENCE == "eager"
