"""The cells "in the example" of the documentation's tables of columns hold."""

from __future__ import annotations

import re
from typing import Any

import pytest
from documents import FOLDER
from floor_results import COSTS, floor_result
from msgspec.structs import replace
from profiler_traces import complete, launched, trace_text
from test_case_bounds import case
from test_case_chains import NAMES, named
from timed_cases import case as timed
from view_sheets import records, sheet_of

from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.views import VIEWS
from ftax_micro.records import Case
from ftax_micro.results import Result

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the tests are not in a checkout")

# That of the worked examples.
FLOOR = floor_result(spread=0.0, costs={**COSTS, "graph_node": 2.5e-6, "kernel_duration": 1.5e-6})


def told(page: str, before: str) -> dict[str, str]:
    """The table after the line `before`: its first column, names alone, and its last."""
    text = (FOLDER / page).read_text().partition(before)[2]
    table = text[text.index("| column |") :].partition("\n\n")[0]
    rows = [line.strip("| \n").split(" | ") for line in table.splitlines()[2:]]
    return {", ".join(re.findall(r"`(\w+)`", row[0])): row[-1].strip(" |") for row in rows}


def models(*cases: Case) -> Result:
    return replace(FLOOR, kind="model_latency", cases=list(cases))


def view(name: str, *cases: Case, **how: Any) -> list[dict[str, Any]]:
    return records(sheet_of(VIEWS.open(name), models(*cases), **how))


def us(value: Any) -> str:
    return f"{getattr(value, 'value', value) * 1e6:.3g}"


def test_of_bounds() -> None:
    (row,) = view("bounds", case())
    cells = told("bounds.md", "\n**bounds**\n")
    assert cells["latency"] == f"{us(row['latency'])} µs"
    bounds = [us(row[each]) for each in ("device_bound", "launch_bound", "graph_bound")]
    assert cells["device_bound, launch_bound, graph_bound"] == f"{', '.join(bounds)} µs"
    assert cells["busy"] == f"{us(row['busy'])} µs"
    assert cells["idle"] == f"{us(row['idle'])} µs"
    assert cells["launches, operations"] == f"{row['launches']}, {row['operations']}"
    assert cells["tax, tax_share"] == f"{us(row['tax'])} µs, {row['tax_share'].value:.0%}".replace(
        "%", " %"
    )
    assert cells["regime, paper_regime"] == row["regime"] == row["paper_regime"]


def test_of_advice() -> None:
    cells = told("bounds.md", "\n**advice**\n")
    rows = view("advice", case())
    (faster,) = (row for row in rows if row["kind"] == cells["kind"])
    saved = f"{us(faster['saving'])} µs, {faster['share'].value:.0%}".replace("%", " %")
    expected = f"{us(faster['latency'])} µs, {saved}: kernels twice as fast"
    assert cells["latency, saving, share"] == expected
    assert "twice as fast" in faster["sentence"]
    eager, script = (
        timed(seconds, device="cpu", mode=mode, blocks=[42])
        for mode, seconds in (("eager", 10.4e-3), ("torchscript", 1.8e-3))
    )
    (mode,) = (row for row in view("advice", eager, script) if row["kind"] == "mode")
    assert cells["ratio"] == f"10.4 ms / 1.8 ms = {mode['ratio'].value:.1f}"


def test_of_crossovers() -> None:
    cases = [timed(max(10e-3, 1.25e-3 * n), batch=n) for n in (1, 2, 4, 8, 16, 32, 64)]
    (row,) = view("crossovers", *cases)
    cells = told("bounds.md", "\n**crossovers**\n")
    assert cells["model, device, dtype, axis, points"] == f"{row['axis']}, {row['points']}"
    assert cells["law"] == row["law"]
    assert cells["crossover"] == f"{row['crossover'].value:.2g}"
    assert cells["plateau"] == f"{row['plateau'].value * 1e3:.3g} ms"
    assert row["intercept"].value == pytest.approx(0, abs=1e-5)
    assert cells["intercept, slope"] == f"0, {row['slope'].value * 1e3:.3g} ms"
    assert cells["worst_residual"] == f"{row['worst_residual']:.0%}".replace("%", " %")
    # The advice of the same sweep names the size up to which nothing is paid.
    (batch,) = (each for each in view("advice", *cases) if each["kind"] == "batch")
    assert told("bounds.md", "\n**advice**\n")["size"] == f"batch {batch['size']:g}"


def test_of_chains() -> None:
    (row,) = records(sheet_of(VIEWS.open("chains"), models(named(NAMES))))
    cells = told("traces.md", "\n## What fusing would save\n")
    assert cells["chain, kernels"] == row["chain"]
    assert cells["length, occurrences"] == f"{row['length']}, {row['occurrences']:g}"
    assert cells["launches_saved"] == f"{row['launches_saved']:g}"
    assert cells["saved, saved_share"] == f"{us(row['saved'])} µs"
    assert cells["counted"] == f"{us(row['counted'])} µs"


def test_of_operations() -> None:
    ops = [complete("cpu_op", "aten::view", 90, 16), complete("cpu_op", "aten::mm", 106, 4)]
    events = [*launched(1, 0, 5, 10, 90), *ops, *launched(2, 108, 2, 112, 9)]
    trace = read_pytorch_trace(trace_text(events))
    rows = {row["op"]: row for row in records(sheet_of(VIEWS.open("operations"), trace))}
    assert rows["aten::view"]["exposed"] == pytest.approx(6e-6)
    mm, cells = rows["aten::mm"], told("traces.md", "\n## Which op spent it\n")
    assert cells["calls"] == str(mm["calls"])
    assert cells["launches, operations"] == f"{mm['launches']}, {mm['operations']}"
    assert cells["dispatch"] == f"{us(mm['dispatch'])} µs, from 106 to 108"
    calls = [us(mm[each]) for each in ("launch_call", "other_call")]
    assert cells["launch_call, other_call"] == f"{calls[0]} µs, {calls[1]}"
    assert cells["blocked"] == us(mm["blocked"])
    assert cells["launch_delay"] == f"{us(mm['launch_delay'])} µs"
    assert cells["negative_delays"] == str(mm["negative_delays"])
    exposed = mm["exposed"], rows["aten::view"]["exposed"]
    share = f"{exposed[0] / sum(exposed):.0%}".replace("%", " %")
    assert cells["exposed, share_of_tax"] == f"{us(exposed[0])} µs, {share} of the 10"
    whole = sum(row["exposed"] for row in rows.values())
    assert mm["share_of_tax"] == pytest.approx(exposed[0] / whole)
