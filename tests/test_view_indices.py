"""The view of other tools' indices, on device passes and traces worked out by hand."""

from __future__ import annotations

import pytest
from fake_results import row
from floor_results import GPU, US, floor_result
from msgspec.structs import replace
from profiler_traces import annotation, call, kernel, launched, trace_text
from test_case_bounds import LATENCY_US, case, on_cpu
from view_sheets import records, sheet_of

from ftax_micro.analysis.sheet import sentences
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.views.indices import SOURCES, VIEW
from ftax_micro.records import Case, Setting
from ftax_micro.results import Result

# Of the null kernel, by each interface.
SETTINGS: list[tuple[float, Setting]] = [(5.0, {}), (6.0, {"api": "runtime"})]
NULL = [
    row("begin_to_begin", [each * US] * 30, device=GPU, setting=setting)
    for each, setting in SETTINGS
]
FLOOR = replace(floor_result(), measurements=[*floor_result().measurements, *NULL])


def models(*cases: Case) -> Result:
    return replace(FLOOR, kind="model_latency", cases=list(cases))


@pytest.fixture
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Two steps: a kernel launched 3 µs before, a second 6 µs after it; then a graph of two."""
    events = [
        annotation("ProfilerStep#1", 0, 40),
        *launched(1, 2, 1, 5, 10),
        *launched(2, 18, 1, 21, 4),
        annotation("ProfilerStep#2", 50, 40),
        call(52, 2, 3, name="cudaGraphLaunch"),
        kernel(56, 4, 3),
        kernel(60, 4, 3),
        kernel(70, 4),
    ]
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    path.write_bytes(trace_text(events))
    return read_pytorch_trace(path)


def test_a_device_pass_has_indices_under_their_names() -> None:
    sheet = sheet_of(VIEW, models(case()))
    (found,) = records(sheet)
    # Five kernels of 3 µs, each 4 µs after its call, which is 10 µs after the one before.
    assert found["tklqt"].value == pytest.approx(20 * US)
    assert found["average_kernel"].value == pytest.approx(3 * US)
    assert found["gpu_idle"].value == pytest.approx((LATENCY_US - 15) * US)
    assert found["host_wait"].value == pytest.approx(4 * 7 * US)
    assert (found["kernel_wait"].value, found["other_wait"].value) == (0, 0)
    # Four times 9 µs of the host between calls, and five null launches.
    assert found["hdbi"].value == pytest.approx(15 / (15 + 36 + 25))
    assert found["hdbi_word"] == "host-bound"
    assert sheet.lines == SOURCES


def test_cases_of_the_cpu_and_untraced_ones_say_why_once() -> None:
    sheet = sheet_of(VIEW, models(on_cpu(100.0), on_cpu(100.0, batch=2), case(device_pass=None)))
    assert [each.shown for each in sheet.rows] == [False] * 3
    assert sheet.lines[0].endswith("no indices, nothing is launched on the cpu")
    assert sheet.lines[1].endswith("no indices, the device was not traced")


def test_steps_of_a_trace_have_them_too(trace: Trace) -> None:
    sheet = sheet_of(VIEW, trace)
    first, second = records(sheet)
    assert first["case"] == "ProfilerStep#1 cuda:0"
    assert first["tklqt"].value == pytest.approx(6 * US)
    assert first["host_wait"].value == pytest.approx(6 * US)
    assert first["gpu_idle"].value == pytest.approx(26 * US)
    assert first["hdbi"] is None
    # Both nodes count from the graph's one launch; the last kernel has none.
    assert second["tklqt"].value == pytest.approx((4 + 8) * US)
    assert second["without_launch"] == 1
    lines = sentences(sheet)
    assert "ProfilerStep#2 cuda:0: kernels without a launch record are not in TKLQT: 1" in lines
    assert lines[-1].startswith("all 2 rows: no HDBI, it needs the null kernel's launch")


def test_a_given_floor_has_the_null_launch_of_a_trace(trace: Trace) -> None:
    first, second = records(sheet_of(VIEW, trace, floor=FLOOR))
    # 14 µs of kernels; the host needs 2 and 15 µs to its launches.
    assert first["hdbi"].value == pytest.approx(14 / (14 + 17 + 2 * 5))
    assert "some kernels have no launch record" in second["reason"]
