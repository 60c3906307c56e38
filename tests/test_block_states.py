"""What cores and clocks were like around a model's blocks, and what is said of it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from floor_results import floor_result
from timed_cases import GPU, case, data

from ftax_micro.analysis.bounding.cases import case_bounds
from ftax_micro.analysis.core_speed import (
    CODE,
    block_slowdowns,
    slowed_blocks_verdict,
    speed_ratio,
    typical_slowdown,
)
from ftax_micro.analysis.floor.values import floor_values
from ftax_micro.analysis.latency_view import latency_view, summarise_cases
from ftax_micro.analysis.quantities import latency as latency_quantities
from ftax_micro.interleaving import Block, ForwardProbe, Watch, measure_interleaved
from ftax_micro.orchestration.clock_verdicts import clock_verdicts
from ftax_micro.orchestration.workload import state as workload_state
from ftax_micro.orchestration.workload.state import state_reader
from ftax_micro.records import Case, Data, DeviceState, Measurement, Plan
from ftax_micro.reporters import latency as reporter

ONCE = Plan(min_samples=4, min_time_s=0.0, timeout_s=1.0, half_width=1.0, quick=True)


def around(*works_ns: float, core: str = "0") -> tuple[DeviceState, DeviceState]:
    """The states around a block: the fixed work on one core before and after."""
    before, after = (DeviceState(fixed_work_s={core: each * 1e-9}) for each in works_ns)
    return before, after


def met(works_ns: Sequence[tuple[float, float]], per_block: int = 2, **changes: object) -> Case:
    """A case whose n-th block took n µs a forward."""
    samples = [n * 1e-6 for n, _ in enumerate(works_ns, 1) for _ in range(per_block)]
    timed = Data(estimate="median", stop_reason="interval", samples=samples)
    states = [around(*each) for each in works_ns]
    whole: dict[str, Any] = {"latency": timed, "blocks": [per_block] * len(works_ns)}
    return msgspec.structs.replace(case(1e-6), **{**whole, "states": states, **changes})


def test_a_block_is_as_slow_as_its_slower_end_against_the_fastest_of_the_run() -> None:
    ours, other = met([(1.0, 1.5), (2.0, 1.0)]), met([(0.5, 1.0)])
    assert block_slowdowns([ours, other]) == [[3.0, 4.0], [2.0]]


def test_rows_of_the_same_run_say_how_fast_a_core_can_be() -> None:
    (before, _) = around(0.5, 0.5)
    row = Measurement(device="cpu", name="row", status="ok", data=data(1e-6), state_before=before)
    assert block_slowdowns([met([(1.0, 1.0)])], [row]) == [[2.0]]


def test_what_was_not_read_is_not_known() -> None:
    unread = met([(1.0, 1.0), (1.0, 1.0)], states=[(DeviceState(), DeviceState()), around(1, 1)])
    assert block_slowdowns([case(1e-6), unread]) == [[], []]
    assert typical_slowdown([], []) is None
    assert speed_ratio(met([(1.0, 1.0)]), case(1e-6)) is None


def test_a_median_stands_as_long_as_most_samples_are_undisturbed() -> None:
    assert slowed_blocks_verdict([1.0, 1.0, 3.0], [4, 4, 4]) == []
    # Blocks count by their samples.
    (verdict,) = slowed_blocks_verdict([1.0, 1.0, 3.0], [1, 1, 9])
    assert verdict.code == CODE
    assert "beside 1 of 3 blocks" in verdict.sentence
    assert "up to 3 times" in verdict.sentence


def test_a_summary_tells_the_latency_without_the_slowed_blocks() -> None:
    (row,) = summarise_cases([met([(1.0, 1.0), (1.0, 2.0), (1.0, 1.0), (2.0, 2.0), (2.0, 1.0)])])
    assert (row.slowdown, row.slowed_blocks) == (2.0, 3)
    assert row.undisturbed is not None
    assert row.undisturbed.value == pytest.approx(2e-6)  # of blocks of 1 and of 3 µs
    assert [each.code for each in row.verdicts] == [CODE]


@pytest.mark.parametrize("works", [[(1.0, 1.0)] * 3, [(2.0, 2.0)] * 3])
def test_where_all_blocks_are_alike_nothing_is_left_out(works: list[tuple[float, float]]) -> None:
    fast = met([(1.0, 1.0)])
    assert summarise_cases([met(works), fast])[0].undisturbed is None


def test_cases_beside_slowed_cores_are_named_in_a_line_and_in_csv() -> None:
    result = msgspec.structs.replace(
        floor_result(), cases=[met([(2.0, 2.0), (1.0, 2.0), (1.0, 1.0)]), met([(1.0, 1.0)])]
    )
    view = latency_view(result)
    told = reporter.render_markdown(view)
    assert "beside most blocks of 1 of 2 cases" in told
    assert "by up to 2 times" in told
    lines = reporter.render_csv(view).splitlines()
    assert lines[0].endswith("slowdown,slowed_blocks,undisturbed_s,verdicts")
    assert lines[1].endswith(f"2.0,2,{3e-6},{CODE}")
    assert lines[2].endswith("1.0,0,,")
    compared = latency_quantities.quantities(result, 0.95)
    assert [each.value.slowdown for each in compared] == [2.0, None]


def test_bounds_say_that_a_twin_met_faster_cores() -> None:
    floor = floor_values(floor_result(), "cpu")

    def timed(work_ns: float, *, twin: bool) -> Case:
        states = [around(work_ns, work_ns)]
        return case(100e-6, device="cpu", blocks=[42], states=states, twin=twin)

    for speed, words in [(1.0, "2 times faster"), (4.0, "2 times slower"), (2.1, None)]:
        found = case_bounds(timed(2.0, twin=False), floor, timed(speed, twin=True))
        told = " ".join(found.notes)
        assert (f"cores were {words} beside its zero-work twin" in told) if words else not told


def clocks(*pairs: tuple[float | None, float | None]) -> list[tuple[DeviceState, DeviceState]]:
    return [(DeviceState(sm_clock_hz=a), DeviceState(sm_clock_hz=b)) for a, b in pairs]


def test_a_clock_that_falls_between_blocks_is_a_verdict() -> None:
    assert clock_verdicts([]) == clock_verdicts(clocks((None, 1e9))) == []
    assert clock_verdicts(clocks((2e9, 1.95e9), (1.95e9, 1.92e9))) == []
    (verdict,) = clock_verdicts(clocks((2e9, 1.95e9), (1.9e9, 1.8e9)))
    assert verdict.sentence == "the SM clock fell by 10% during this row"


def test_states_are_read_around_each_block_and_never_in_it() -> None:
    told: list[str] = []

    def state() -> DeviceState:
        told.append("state")
        return DeviceState(temperature_c=float(len(told)))

    probe = ForwardProbe(lambda: told.append("forward"), pipelined=False)
    taken: list[tuple[float | None, float | None]] = []

    class Recorder(Watch):
        def turn_ends(self, name: str, block: Block) -> None:
            assert block.before is not None
            assert block.after is not None
            taken.append((block.before.temperature_c, block.after.temperature_c))

    measure_interleaved({"one": probe}, ONCE, Recorder(), state=state)
    assert taken
    for before, after in taken:
        assert before is not None
        assert after is not None
        assert before < after
        between = told[int(before) : int(after) - 1]
        assert between
        assert set(between) == {"forward"}


def test_the_core_that_a_thread_is_on_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with state_reader("cpu", threads=1) as read:
        state = read()
    assert state is not None
    assert state.fixed_work_s is not None
    (core,) = state.fixed_work_s
    assert state.fixed_work_s[core] > 0
    if sys.platform == "linux" and hasattr(os, "sched_getaffinity"):
        assert int(core) in os.sched_getaffinity(0)
    monkeypatch.setattr(workload_state, "_STAT", Path("/nonexistent"))
    with state_reader("cpu", threads=1) as read:
        state = read()
    assert state is not None
    assert list(state.fixed_work_s or {}) == ["-1"]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
def test_where_threads_fill_all_cores_all_are_read() -> None:
    allowed = os.sched_getaffinity(0)
    with state_reader("cpu", threads=len(allowed)) as read:
        state = read()
    assert state is not None
    assert set(state.fixed_work_s or {}) == set(map(str, allowed))


def test_a_gpu_that_cannot_be_read_costs_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("no torch")

    monkeypatch.setattr(workload_state, "import_torch", refuse)
    with state_reader(GPU, threads=1) as read:
        state = read()
    assert state is not None
    assert state.sm_clock_hz is None


def _broken() -> Callable[[], object]:
    raise RuntimeError("no extension")


def test_cores_that_cannot_be_read_cost_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload_state, "core", _broken)
    with contextlib.ExitStack() as opened:
        state = opened.enter_context(state_reader("cpu", threads=1))()
    assert state == DeviceState()
