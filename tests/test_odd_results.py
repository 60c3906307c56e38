"""Every view, on results that are valid and make no sense: reasons and rows, never an error."""

from __future__ import annotations

from typing import Any

import pytest
from floor_results import floor_result
from ladder_results import ladder, rung
from msgspec.structs import replace
from test_case_bounds import call, case, device_pass, operation
from view_sheets import sheet_of

from ftax_micro.analysis.views import VIEWS
from ftax_micro.records import Case, Data, GpuLoad
from ftax_micro.reporters.sheets import render_csv, render_json, render_markdown, render_table
from ftax_micro.results import decode_result, encode_result

LADDER = ladder(rung("torchscript", 2e-6), rung("torch_inference_mode", 4e-6, below="torchscript"))
PASSES = [
    None,
    device_pass([], []),
    device_pass([operation(4, 3, None), operation(9, -1, 0, "copy")], [call(0)]),
    device_pass([operation(4 + n, 3, 0) for n in range(3)], [call(0, "cudaGraphLaunch")]),
    device_pass([operation(0, 0, 0)], [call(5)]),
]
SAMPLES = [
    [0.0] * 30,
    [1e-3],
    [-1e-3] * 30,
    [0.0, 1e-3] * 15,
    [1e-12] * 30,
    [300.0] * 30,
    [5e-5] * 30,
]


def data(samples: list[float]) -> Data:
    return Data(estimate="median", stop_reason="interval", samples=samples)


def odd(place: int, samples: list[float], device: str, **changes: Any) -> Case:
    values: dict[str, Any] = {
        "device": device,
        "latency": data(samples),
        "blocks": [len(samples)],
        "host": data(SAMPLES[-1 - place]) if place % 2 else None,
        "device_pass": None if device == "cpu" else PASSES[place % len(PASSES)],
        "executed": [{}, {"aten::add": 3}][place % 2],
        "batch": 2**place,
        "macs": [None, 0, 10**9][place % 3],
        "gpu_load": GpuLoad(forwards=3, seconds=1.0, sm_activity=0.0) if place % 2 else None,
        "model": "bert_base",
        "sequence": 128,
        "pipelined": data(SAMPLES[place]) if place % 2 else None,
    }
    return case(**{**values, **changes})


@pytest.fixture(scope="module", params=[0, 5, None], ids=["no floor", "some rows", "floor"])
def sources(request: pytest.FixtureRequest) -> Any:
    floor = floor_result(spread=0.0)
    cases = [
        odd(place, samples, device, mode=mode, twin=twin)
        for place, samples in enumerate(SAMPLES)
        for device in ("cpu", "cuda:0")
        for mode in ("eager", "torchscript")
        for twin in (False, True)
    ]
    rows = floor.measurements[: request.param]
    made = replace(floor, kind="model_latency", cases=cases, measurements=rows)
    return decode_result(encode_result(made)), LADDER, replace(floor, measurements=rows)


@pytest.mark.parametrize("name", list(VIEWS))
def test_no_view_fails(name: str, sources: Any) -> None:
    models, rungs, floor = sources
    sheet = sheet_of(VIEWS.open(name), models, rungs, floor, other_floor=floor)
    assert sheet.rows or sheet.lines
    for render in (render_table, render_csv, render_json, render_markdown):
        assert render([sheet]).endswith("\n")
