"""The command ``bound_analysis`` on traces of others."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from commands import Run, runner
from fake_results import device
from floor_results import floor_result
from profiler_traces import annotation, call, complete, kernel, launched, trace_text
from synthetic_pipelines import FLOOR, launches, operations
from traced_pipelines import US, traced

from ftax_micro.bound_analysis import command
from ftax_micro.results import save_result

GPU = {"deviceProperties": [{"id": 0, "name": "Tesla V100-SXM2-16GB"}]}
STEPS, MANY = 6, 12


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(command, capsys)


def steps(number: int = STEPS, name: str | None = None) -> list[Any]:
    """Steps of kernels of 3 µs, 20 µs of their host apart."""
    ops, asked = operations([3.0] * MANY), launches(MANY)
    begins = np.arange(MANY) * 20 * US
    events = []
    for n in range(number):
        events += traced(ops, asked, begins, FLOOR, at_us=1000.0 * n, number=n + 1)[0]
    for each in events:
        if name is not None and each["name"].startswith("ProfilerStep"):
            each["name"] = name
    return events


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "trace.json").write_bytes(trace_text(steps(), GPU))
    return tmp_path / "trace.json"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_steps_have_bounds_tax_and_regime_and_medians_come_first(run: Run, path: Path) -> None:
    code, out, err = run(path, "--format", "csv")
    first, *others = rows(out)
    assert (code, err) == (0, "")
    assert (first["case"], first["status"]) == (f"{STEPS} × ProfilerStep#n cuda:0", "ok")
    assert [each["case"] for each in others] == [
        f"ProfilerStep#{number} cuda:0" for number in range(1, STEPS + 1)
    ]
    # 11 launches 20 µs apart, to the start, kernel, wait; less launches of 2 µs with a floor of
    # its own, whose wait and gap are 0.
    latency, launch = 11 * 20 + 4 + 3 + 3, 4 + MANY * 3
    for each in (first, *others):
        assert each["regime"] == each["paper_regime"] == "framework-bound"
        assert float(each["latency_s"]) == pytest.approx(latency * US)
        assert float(each["launch_bound_s"]) == pytest.approx(launch * US)
        assert float(each["tax_s"]) == pytest.approx((latency - launch) * US)
        assert float(each["tax_low_s"]) <= float(each["tax_s"]) <= float(each["tax_high_s"])
        assert (each["graph_bound_s"], each["launches"]) == ("", str(MANY))
        assert float(each["launch_delay_s"]) == pytest.approx(2 * US)
        assert (each["occupied_s"], each["queue_depth"]) == ("0", "0")
    table = run(path, "--top", 1)[1]
    assert "values are medians over 6 steps" in table
    assert "bounds by the trace's own floor" in table
    assert "ProfilerStep#1" not in table


def test_a_measured_floor_takes_precedence_and_another_gpu_is_told(
    run: Run, path: Path, tmp_path: Path
) -> None:
    floor = floor_result(spread=0.0)
    devices = [device("cpu"), device("cuda:0", "NVIDIA A100-SXM4-40GB")]
    save_result(msgspec.structs.replace(floor, devices=devices), tmp_path / "floor.json")
    code, out, err = run(path, "--floor", tmp_path / "floor.json", "--format", "csv")
    assert code == 0
    assert err.count("\n") == 1
    assert "trace.json was recorded on Tesla V100-SXM2-16GB" in err
    assert "quiet (NVIDIA A100-SXM4-40GB)" in err
    first, *_ = rows(out)
    assert float(first["launch_bound_s"]) == pytest.approx((4 + MANY * 3 + 11 + 3) * US, rel=1e-3)
    assert first["graph_bound_s"]
    assert "own floor" not in run(path, "--floor", tmp_path / "floor.json")[1]
    same = [device("cpu"), device("cuda:0", "Tesla V100-SXM2-16GB")]
    save_result(msgspec.structs.replace(floor, devices=same), tmp_path / "same.json")
    assert run(path, "--floor", tmp_path / "same.json")[2] == ""


def floor_file(path: Path, gpu: str) -> Path:
    """A launch floor that was measured on a machine with this GPU."""
    floor = floor_result(spread=0.0)
    devices = [device("cpu"), device("cuda:0", gpu)]
    save_result(msgspec.structs.replace(floor, devices=devices), path)
    return path


@pytest.mark.parametrize("view", ["bounds", "indices,chains"])
def test_a_floor_of_its_gpu_serves_a_trace_however_it_is_given(
    view: str, run: Run, path: Path, tmp_path: Path
) -> None:
    floor = floor_file(tmp_path / "floor.json", "NVIDIA Tesla V100-SXM2-16GB")
    asked = ("--view", view, "--format", "json")
    code, out, err = run(path, "--floor", floor, *asked)
    assert (code, err) == (0, "")
    assert run(floor, path, *asked) == (code, out, err)
    shown = run(path, floor)[1]
    assert "bounds by the launch floor that was measured on quiet (" in shown
    assert "own floor" not in shown


@pytest.mark.parametrize(
    ("kernel_us", "host_us", "regime"),
    [(100.0, 5.0, "device-bound"), (0.2, 2.0, "launch-bound"), (3.0, 20.0, "framework-bound")],
)
def test_each_regime_is_told_by_a_measured_floor(
    kernel_us: float, host_us: float, regime: str, run: Run, tmp_path: Path
) -> None:
    ops, asked = operations([kernel_us] * 30), launches(30)
    events = [
        event
        for n in range(STEPS)
        for event in traced(
            *(ops, asked, np.arange(30) * host_us * US), at_us=1e4 * n, number=n + 1
        )[0]
    ]
    (tmp_path / "trace.json").write_bytes(trace_text(events, GPU))
    floor = floor_file(tmp_path / "floor.json", "Tesla V100-SXM2-16GB")
    found = rows(run(tmp_path / "trace.json", floor, "--format", "csv")[1])
    assert {each["regime"] for each in found} == {regime}
    assert len(found) == STEPS + 1


def test_a_floor_of_another_gpu_among_the_files_is_told_and_not_used(
    run: Run, path: Path, tmp_path: Path
) -> None:
    floor = floor_file(tmp_path / "floor.json", "NVIDIA A100-SXM4-40GB")
    code, out, err = run(path, floor, "--format", "csv")
    assert (code, out) == run(path, "--format", "csv")[:2]
    assert err.count("\n") == 1
    assert "floor.json is of quiet (" in err
    assert "NVIDIA A100-SXM4-40GB), the traces of Tesla V100-SXM2-16GB: bounds do without" in err


def test_a_trace_that_names_no_gpu_has_the_floor_beside_it_and_a_warning(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(trace_text(steps()))
    floor = floor_file(tmp_path / "floor.json", "NVIDIA A100-SXM4-40GB")
    code, out, err = run(path, floor)
    assert code == 0
    assert "trace.json does not name its GPU, the floor is of NVIDIA A100-SXM4-40GB on " in err
    assert "bounds by the launch floor" in out


def test_a_trace_of_the_host_alone_says_so(run: Run, tmp_path: Path) -> None:
    events = [annotation("ProfilerStep#1", 0, 90), complete("cpu_op", "aten::mm", 1, 80)]
    (tmp_path / "a.json").write_bytes(trace_text(events))
    code, out, _ = run(tmp_path / "a.json")
    assert code == 0
    assert "ProfilerStep#1: skipped, the trace has no device activity" in out


def test_names_reach_no_terminal_as_anything_but_text(run: Run, tmp_path: Path) -> None:
    name = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\u202egnp\nnext | row"
    events = steps(name=name)
    for each in events:
        if each["name"] == "gemm":
            each["name"] = name
    (tmp_path / "a.json").write_bytes(trace_text(events))
    for form in ("table", "csv", "markdown", "json"):
        for cut in (["--annotation", name], ["--whole"]):
            code, out, _ = run(tmp_path / "a.json", "--format", form, *cut)
            assert code == 0
            assert not set(out) & set("\x1b\x07\u202e")
            if form == "markdown":
                assert "<script" not in out
    text = run(tmp_path / "a.json", "--format", "json", "--annotation", name)[1]
    labels = {each["case"] for each in json.loads(text)["sheets"][0]["rows"]}
    assert {f"{STEPS} × {name} cuda:0", f"{name} ({STEPS}) cuda:0"} <= labels
    assert "\\x1b]0;owned" in run(tmp_path / "a.json", "--annotation", name)[1]


def test_what_is_wrong_with_events_is_counted_where_figures_are(run: Run, tmp_path: Path) -> None:
    events = [
        *steps(),
        kernel(5000, -3),
        complete("unheard_of", "x", 5000, 1),
        call(6000, 2, 7),
        call(6100, 2, 7),
        kernel(6200, 5, 7),
    ]
    (tmp_path / "a.json").write_bytes(trace_text(events))
    out = run(tmp_path / "a.json")[1]
    assert "events left out, or odd: negative duration: 1, of category 'unheard_of': 1, " in out
    assert "duplicate correlation ids: 1" in out


def test_times_in_another_unit_are_invalid(run: Run, tmp_path: Path) -> None:
    events = [each | {"ts": each["ts"] * 1000, "dur": each["dur"] * 1000} for each in steps()]
    (tmp_path / "a.json").write_bytes(trace_text(events))
    out = run(tmp_path / "a.json", "--format", "csv")[1]
    assert {each["regime"] for each in rows(out)} == {"invalid"}
    assert "a call takes microseconds" in run(tmp_path / "a.json")[1]


def test_results_and_traces_stand_side_by_side(run: Run, path: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_bytes(trace_text(launched(1, 0, 2, 5, 30)))
    code, out, _ = run(path, tmp_path / "other.json", "--format", "csv")
    assert code == 0
    assert {each["source"] for each in rows(out)} == {"trace.json", "other.json"}
    table = run(path, tmp_path / "other.json")[1]
    assert "trace.json: bounds by the trace's own floor" in table
    assert "other.json: the whole trace was taken for one step" in table
