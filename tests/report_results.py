"""Results for reports: a GPU's sweep with device passes and floor, and what falls short of one."""

from __future__ import annotations

from typing import Any

import msgspec
from fake_results import absent, gpu
from floor_results import GPU, US, floor_result
from ladder_results import rung
from timed_cases import data

from ftax_micro.analysis.views.contract import Question, Source
from ftax_micro.records import Case, DeviceOperation, DevicePass, HostCall, KernelShape, Verdict
from ftax_micro.results import Result

# What must stay text wherever a page shows it.
MARKUP = '</script><img src=x onerror="alert(1)">&amp;<b>bold</b>'
FORWARDS = 20
# Microseconds of the host between two launches, by mode.
PACE = {"eager": 9.0, "torchscript": 5.0, "cuda_graph": 0.2}


def forward(mode: str, kernel_us: float, operations: int = 24) -> DevicePass:
    """`operations` kernels of one length, launched at the mode's pace; a replay has one call."""
    graph = mode == "cuda_graph"
    begins = [10.0 + (0 if graph else PACE[mode] * n) for n in range(operations)]
    starts: list[float] = []
    for begin in begins:
        starts.append(max([begin + 4.0, *(each + kernel_us + 1.0 for each in starts[-1:])]))
    name = "cudaGraphLaunch_v10000" if graph else "cudaLaunchKernel_v7000"
    calls = begins[:1] if graph else begins
    end = starts[-1] + kernel_us + 3.0
    return DevicePass(
        operations=[
            DeviceOperation(
                kind="copy" if n == 0 else "kernel",
                name=f"ampere_sgemm_<{n % 5}, float>(float*, float*)",
                call=0 if graph else n,
                start_s=[start * US] * FORWARDS,
                duration_s=[kernel_us * US] * FORWARDS,
                shape=KernelShape(grid=(8, 1, 1), block=(128, 1, 1), registers=32, shared_bytes=0),
            )
            for n, start in enumerate(starts)
        ],
        calls=[
            HostCall(name=name, begin_s=[each * US] * FORWARDS, duration_s=[3 * US] * FORWARDS)
            for each in calls
        ],
        busy_s=[operations * kernel_us * US] * FORWARDS,
        latency_s=[end * US] * FORWARDS,
        host_s=[(begins[-1] + 5) * US] * FORWARDS,
    )


def case(mode: str, batch: int = 1, dtype: str = "fp16", **changes: Any) -> Case:
    """A case on a GPU whose kernels grow with the batch beyond 4."""
    kernel_us = max(2.0, 0.5 * batch) * (1.0 if dtype == "fp16" else 2.0)
    done = forward(mode, kernel_us)
    values: dict[str, Any] = {
        "model": "bert_base",
        "mode": mode,
        "device": GPU,
        "dtype": dtype,
        "status": "ok",
        "batch": batch,
        "sequence": 128,
        "macs": 11_174_215_680 * batch,
        "executed": {"aten::mm": 24},
        "latency": data(done.latency_s[0]),
        "host": data(done.host_s[0]),
        "blocks": [42],
        "device_pass": done,
    }
    return Case(**{**values, **changes})


def swept(
    *models: str,
    batches: tuple[int, ...] = (1, 2, 4, 8, 16, 32),
    dtypes: tuple[str, ...] = ("fp16", "fp32"),
) -> Result:
    """Every mode and dtype over batches, with floor and ladder, all of one GPU."""
    cases = [
        case(mode, batch, dtype, model=model)
        for model in models or ("bert_base",)
        for dtype in dtypes
        for batch in batches
        for mode in PACE
    ]
    found = floor_result()
    rungs = [
        rung("driver", 2e-6, op="kernel", device=GPU),
        rung("torch_inference_mode", 9e-6, below="driver", device=GPU),
        rung("raw_call", 2e-9, op="call"),
        rung("torchscript", 1e-6, below="raw_call"),
    ]
    environment = msgspec.structs.replace(found.environment, gpus=[gpu()])
    return msgspec.structs.replace(
        found, kind="model_latency", cases=cases, rungs=rungs, environment=environment
    )


def absent_case(mode: str, status: str, reason: str) -> Case:
    """One without a time."""
    nothing: dict[str, Any] = {"latency": None, "host": None, "blocks": [], "device_pass": None}
    return case(mode, status=status, reason=reason, **nothing)


def mixed() -> Result:
    """Cases that worked, failed and were skipped, with markup in every text a file can bring."""
    cases = [
        case("eager", model=MARKUP, verdicts=[Verdict(code="odd", sentence=MARKUP)]),
        case("eager", 2, model=MARKUP),
        absent_case("torchscript", "failed", MARKUP),
        absent_case("cuda_graph", "skipped", "not here"),
    ]
    found = floor_result()
    rows = [*found.measurements, absent("memset", "failed", MARKUP), absent("gap", device=GPU)]
    return msgspec.structs.replace(
        found,
        kind="model_latency",
        measurements=rows,
        cases=cases,
        complete=False,
        incomplete_reason=MARKUP,
    )


def failed() -> Result:
    """Nothing but a failed case."""
    broken = absent_case("eager", "failed", "no operator")
    found = floor_result()
    return msgspec.structs.replace(found, kind="model_latency", measurements=[], cases=[broken])


def empty() -> Result:
    """A run that was stopped before its first row."""
    return msgspec.structs.replace(
        floor_result(), measurements=[], complete=False, incomplete_reason="interrupted"
    )


def question(*results: Result, **changes: Any) -> Question:
    """Of `results`, as files named a.json, b.json and so on."""
    names = [f"{chr(ord('a') + place)}.json" for place in range(len(results))]
    pairs = zip(names, results, strict=True)
    return Question(tuple(Source(name, result=each) for name, each in pairs), **changes)
