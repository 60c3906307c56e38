"""What each op of a trace costs: known cases, and sums that are those of the steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiler_traces import Event, annotation, call, complete, kernel, launched, trace_text

from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.per_operation import (
    OUTSIDE,
    UNRECORDED,
    WITHOUT_CALL,
    OperationRow,
    OperationTable,
    per_operation,
)
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.traces.steps import Step, analyse_steps, profiler_steps, whole
from ftax_micro.analysis.traces.timeline import merge

US = 1e-6
NATIVE = "void at::native::vectorized_elementwise_kernel<4>(int)"
GEMM = "ampere_sgemm_128x64_nn"


def op(name: str, ts: float, dur: float, tid: int = 10) -> Event:
    return complete("cpu_op", name, ts, dur, tid=tid)


def frame(name: str, ts: float, dur: float) -> Event:
    return complete("python_function", name, ts, dur)


def read(*events: Event | list[Event]) -> Trace:
    flat = [e for each in events for e in (each if isinstance(each, list) else [each])]
    return read_pytorch_trace(trace_text(flat))


def table_of(trace: Trace) -> tuple[OperationTable, list[Step]]:
    steps = analyse_steps(trace, profiler_steps(trace) or whole(trace))
    return per_operation(trace, steps), steps


def rows_of(*events: Event | list[Event]) -> dict[str | None, OperationRow]:
    table, _ = table_of(read(*events))
    return {row.op or row.annotation or row.apart: row for row in table.rows}


def us(*seconds: float | None) -> list[float | None]:
    return [None if each is None else round(each / US, 3) for each in seconds]


def host(row: OperationRow) -> list[float | None]:
    return us(row.dispatch_s, row.python_s, row.launch_s, row.other_call_s, row.blocked_s)


def test_nested_ops_have_what_is_theirs() -> None:
    rows = rows_of(
        annotation("ProfilerStep#1", 0, 100),
        op("linear", 10, 40),
        op("addmm", 15, 30),
        call(16, 2, 99, name="cudaFuncSetAttribute"),
        launched(1, 20, 5, 30, 20, name=GEMM),
        launched(2, 35, 5, 50, 4, name=NATIVE),
        op("relu", 60, 20),
        launched(3, 65, 5, 68, 10, name=NATIVE),
        call(80, 15, 98, name="cudaStreamSynchronize"),
    )
    assert list(rows) == [OUTSIDE, "addmm", "relu", "linear"]
    assert host(rows["addmm"]) == [18, 0, 10, 2, 0]
    assert host(rows["linear"]) == [10, 0, 0, 0, 0]
    assert host(rows["relu"]) == [15, 0, 5, 0, 0]
    assert host(rows[OUTSIDE]) == [10 + 10 + 5, 0, 0, 0, 15]
    mine = rows["addmm"]
    assert (mine.calls, mine.launches, mine.operations) == (1, 2, 2)
    assert us(mine.device_s, mine.kernel_s, mine.library_s, mine.delay_s) == [24, 24, 20, 7.5]
    assert mine.libraries == ("cuBLAS",)
    assert mine.library_share == pytest.approx(20 / 24)
    assert (rows["linear"].launches, rows["linear"].delay_s) == (0, None)
    assert rows["linear"].library_share is None
    # relu began before its launch had returned.
    assert us(rows["relu"].delay_s) == [-2]
    assert rows["relu"].negative_delays == 1
    # Idle until 25 (launched), from 54 to 68 (not launched, launching), and from 78 to the end,
    # of which 15 were spent waiting for the device.
    exposed = {name: us(row.exposed_s)[0] for name, row in rows.items()}
    assert exposed == {"relu": 8 + 2, OUTSIDE: 10 + 6 + 5, "addmm": 10, "linear": 5}


def test_host_time_behind_the_devices_work_is_in_no_share() -> None:
    rows = rows_of(
        op("first", 0, 10), launched(1, 2, 4, 7, 93), op("hidden", 20, 50), op("last", 80, 10),
        launched(2, 82, 4, 100, 10),
    )  # fmt: skip
    assert us(rows["first"].exposed_s, rows["hidden"].exposed_s) == [6, 0]
    assert us(rows["last"].exposed_s, rows["hidden"].dispatch_s) == [0, 50]


def test_who_waits_for_another_thread_is_told_by_the_thread_that_launched() -> None:
    rows = rows_of(
        annotation("ProfilerStep#1", 0, 100),
        op("forward", 0, 20),
        launched(1, 5, 5, 12, 8),
        op("main", 20, 30),
        op("backward", 50, 30, tid=11),
        launched(2, 60, 10, 75, 20, tid=11),
    )
    exposed = {name: us(row.exposed_s)[0] for name, row in rows.items()}
    # From 20 the next launch is thread 11's, which does nothing that is recorded until 50.
    assert exposed == {"forward": 10, UNRECORDED: 30 + 5, "backward": 20, "main": 0, OUTSIDE: 0}


def test_what_waited_for_a_synchronisation_is_no_tax() -> None:
    rows = rows_of(
        op("a", 0, 10), launched(1, 2, 3, 6, 4), call(10, 20, 2, name="cudaStreamSynchronize"),
        op("b", 30, 10), launched(3, 32, 3, 36, 10),
    )  # fmt: skip
    assert us(rows["b"].exposed_s, rows["a"].exposed_s) == [5, 5]
    assert us(rows[OUTSIDE].exposed_s, rows[OUTSIDE].blocked_s) == [0, 20]


def test_python_frames_count_for_what_they_lead_to() -> None:
    events = [
        frame("train", 0, 100),
        annotation("mine", 5, 20),
        frame("forward", 10, 10),
        op("custom", 30, 20),
        frame("in an op", 35, 10),
        op("inner", 40, 2),
        call(60, 3, 9, name="cudaEventRecord"),
    ]
    table, _ = table_of(read(*events))
    rows = {row.op or row.annotation or row.apart: row for row in table.rows}
    assert table.python
    assert host(rows["custom"]) == [10, 30 + 8, 0, 0, 0]
    assert host(rows["inner"]) == [2, 0, 0, 0, 0]
    # What comes behind the last op leads to none.
    assert host(rows[OUTSIDE]) == [0, 47, 0, 3, 0]
    without, _ = table_of(read(*(each for each in events if each["cat"] != "python_function")))
    assert not without.python
    assert {row.op: row.python_s for row in without.rows}["custom"] == 0


def test_launches_in_no_op_and_work_without_a_launch_are_rows_of_their_own() -> None:
    rows = rows_of(
        op("a", 0, 10),
        launched(1, 2, 3, 6, 4),
        launched(2, 20, 3, 24, 6),
        kernel(40, 9, 77, name=GEMM),
        kernel(60, 8, name="Memset (Device)", cat="gpu_memset"),
    )
    assert [rows[each].operations for each in ("a", OUTSIDE, WITHOUT_CALL)] == [1, 1, 2]
    assert [rows[each].launches for each in ("a", OUTSIDE, WITHOUT_CALL)] == [1, 1, 0]
    orphans = rows[WITHOUT_CALL]
    assert us(orphans.device_s, orphans.kernel_s, orphans.library_s) == [17, 9, 9]
    assert (orphans.calls, orphans.delay_s, orphans.exposed_s) == (0, None, 0)


def test_annotations_have_rows_for_what_is_in_no_op_of_theirs() -> None:
    events = [
        annotation("ProfilerStep#1", 0, 100),
        annotation("forward", 10, 50),
        op("a", 20, 20),
        annotation("inside", 25, 5),
        *launched(1, 50, 4, 56, 4),
    ]
    rows = rows_of(*events)
    assert host(rows["forward"]) == [30 - 4, 0, 4, 0, 0]
    assert (rows["forward"].calls, rows["forward"].launches) == (1, 1)
    assert (rows["forward"].op, rows["forward"].apart) == (None, OUTSIDE)
    assert host(rows["a"]) == [20, 0, 0, 0, 0]
    assert host(rows[OUTSIDE]) == [50, 0, 0, 0, 0]
    assert us(rows["forward"].exposed_s, rows["a"].exposed_s) == [10 + 14, 20]
    assert "inside" not in rows
    many = [annotation(f"number {n}", 60 + n / 10, 0.05) for n in range(250)]
    assert host(rows_of(*events, *many)[OUTSIDE])[0] == 50 + 26


def test_a_graph_is_one_launch_of_many_operations() -> None:
    nodes = [kernel(20 + 5 * n, 4, 1, name=GEMM if n else NATIVE) for n in range(4)]
    rows = rows_of(op("replay", 0, 10), call(2, 6, 1, name="cudaGraphLaunch"), nodes)
    assert (rows["replay"].launches, rows["replay"].operations) == (1, 4)
    assert us(rows["replay"].delay_s, rows["replay"].library_s) == [12, 12]


def test_each_device_has_what_its_launches_lead_to() -> None:
    trace = read(
        annotation("ProfilerStep#1", 0, 100),
        op("copy", 0, 10), launched(1, 2, 3, 6, 4, device=0),
        op("copy", 50, 10), launched(2, 52, 3, 56, 4, device=1),
        op("aside", 0, 30, tid=12),
    )  # fmt: skip
    table, steps = table_of(trace)
    rows = {(row.device, row.op): row for row in table.rows if row.op}
    assert set(rows) == {(0, "copy"), (1, "copy"), (None, "aside")}
    assert [us(rows[each, "copy"].dispatch_s)[0] for each in (0, 1)] == [7, 7]
    assert us(rows[None, "aside"].dispatch_s) == [30]
    check(table, steps, trace)


def test_a_step_has_its_own_process_alone() -> None:
    def of(process: int, *events: Event | list[Event]) -> list[Event]:
        flat = [e for each in events for e in (each if isinstance(each, list) else [each])]
        return [{**e, "pid": process} if e["cat"] != "kernel" else e for e in flat]

    trace = read(
        of(1, annotation("ProfilerStep#1", 0, 50), op("a", 10, 10), launched(1, 12, 3, 16, 5)),
        of(2, annotation("ProfilerStep#1", 20, 50, tid=11), op("b", 30, 10, tid=11)),
        of(2, launched(2, 32, 3, 36, 5, tid=11)),
    )
    table, steps = table_of(trace)
    rows = {row.op or row.annotation or row.apart: row for row in table.rows}
    assert [rows[each].calls for each in ("a", "b")] == [1, 1]
    # Each process's annotation, less its op.
    assert host(rows[OUTSIDE]) == [40 + 40, 0, 0, 0, 0]
    check(table, steps, trace)


def test_a_trace_without_device_activity() -> None:
    table, _ = table_of(read(op("a", 0, 10), op("b", 2, 3)))
    assert [(row.op, row.device) for row in table.rows] == [("a", None), ("b", None)]
    assert us(table.rows[0].dispatch_s, table.exposed_s) == [7, 0]


def test_no_steps_no_rows() -> None:
    trace = read(op("a", 0, 10))
    assert per_operation(trace, []).rows == ()


def check(table: OperationTable, steps: Sequence[Step], trace: Trace) -> None:
    """Every column adds up to the figures of the steps."""
    rows = table.rows
    assert sum(row.launches for row in rows) == sum(sum(each.launches.values()) for each in steps)
    assert sum(row.operations for row in rows) == sum(len(each.index) for each in steps)
    negative = sum(each.negative_launch_delays for each in steps)
    assert sum(row.negative_delays for row in rows) == negative
    without = sum(each.without_call for each in steps)
    assert sum(row.operations for row in rows if row.apart == WITHOUT_CALL) == without
    took = sum(int(trace.operations.duration_ns[each.index].sum()) for each in steps)
    assert sum(row.device_s for row in rows) == pytest.approx(took * 1e-9)
    limited = sum(each.launch_limited_s or 0.0 for each in steps)
    assert sum(row.exposed_s for row in rows) == pytest.approx(limited, abs=1e-15)
    assert sum(row.host_s + row.blocked_s for row in rows) == pytest.approx(recorded(steps, trace))


def recorded(steps: Sequence[Step], trace: Trace) -> float:
    """Seconds in the windows in which a thread was in anything, summed over threads."""
    total = 0
    windows = {id(each.window): each.window for each in steps}
    for window in windows.values():
        for thread, names in enumerate(trace.threads):
            if window.process not in (None, names.process):
                continue
            starts, ends = [], []
            for found in (trace.spans, trace.calls):
                mine = found.thread == thread
                starts += found.start_ns[mine].clip(window.begin_ns, window.end_ns).tolist()
                ends += found.end_ns[mine].clip(window.begin_ns, window.end_ns).tolist()
            merged = merge(np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64))
            total += int((merged.end - merged.start).sum())
    return total * 1e-9


times = st.integers(0, 40)
durations = st.integers(0, 15)
threads = st.sampled_from([10, 11])
some_ops = st.builds(op, st.sampled_from("abc"), times, durations, threads)
some_frames = st.builds(frame, st.sampled_from("fg"), times, durations)
some_steps = st.builds(annotation, st.sampled_from(["ProfilerStep#1", "x"]), times, durations)
calls = st.builds(
    call,
    times,
    durations,
    st.integers(1, 6),
    name=st.sampled_from(["cudaLaunchKernel", "cudaStreamSynchronize", "cudaMemcpy", "cudaFree"]),
    tid=threads,
)
kernels = st.builds(
    kernel,
    times,
    durations,
    st.integers(1, 6),
    name=st.sampled_from([GEMM, NATIVE]),
    device=st.sampled_from([0, 0, 1]),
)


@given(st.lists(st.one_of(some_ops, some_frames, some_steps, calls, kernels), min_size=1))
@settings(max_examples=100, deadline=None)
def test_columns_add_up_to_the_steps_whatever_the_trace(events: list[Event]) -> None:
    trace = read(*events)
    steps = analyse_steps(trace, profiler_steps(trace) or whole(trace), correlate(trace))
    check(per_operation(trace, steps), steps, trace)
