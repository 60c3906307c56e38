"""Energy per forward and how busy a GPU's SMs are, from its own counters over seconds of work.

The problem: a GPU's energy counter moves some ten times a second, its power reading is an average
over the past, and neither belongs to a single forward.
  wrong:  the power that is read while one forward runs, times its latency
  right:  the energy counter before and after seconds of forwards without a wait, divided by their
          number; the power at rest beside it, since most of a small model's share is that
Occupancy and activity come from NVML's GPM, which Hopper and later have.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from ftax_micro.fact_reader import FactReader, Unreadable
from ftax_micro.gpu.nvml import Nvml, total_energy_j
from ftax_micro.records import GpuLoad

# Design §5: at least two seconds between two readings; as long at rest.
_LOOP_S = 2.0
_REST_S = 1.0
# Forwards between two looks at the clock, while their number is unknown.
_BATCH = 8
# nvml.h: nvmlGpmMetricId_t, in per cent.
_SM_UTIL, _SM_OCCUPANCY = 2, 3


def measure_gpu_load(
    forward: Callable[[], Any],
    synchronise: Callable[[], None],
    *,
    uuid: str | bytes | None,
    module: Any = None,
    loop_s: float = _LOOP_S,
    rest_s: float = _REST_S,
) -> GpuLoad:
    """The load that `forward` is to the GPU with CUDA's `uuid`, over `loop_s` seconds of it.

    Takes `rest_s` more for the power at rest. What NVML does not tell is None with its reason.
    Errors: those of the forward.
    """
    synchronise()
    with _gpu(uuid, module) as (nvml, handle, reason):
        read = FactReader()
        idle = read("idle_power_w", lambda: _power_w(_open(nvml, reason), handle, rest_s))
        before = read("energy_j", lambda: total_energy_j(_open(nvml, reason), handle))
        unknown = dict(read.unknown)
        with _gpm(nvml, handle, reason) as counters:
            begin_s = time.perf_counter()
            forwards = _run(forward, synchronise, begin_s + loop_s)
            seconds = time.perf_counter() - begin_s
            sm_activity, sm_occupancy, refusal = counters()
        after = read("energy_j", lambda: total_energy_j(_open(nvml, reason), handle))
        unknown |= read.unknown
    if refusal:
        unknown |= dict.fromkeys(("sm_activity", "sm_occupancy"), refusal)
    return GpuLoad(
        forwards=forwards,
        seconds=seconds,
        energy_j=None if before is None or after is None else after - before,
        idle_power_w=idle,
        sm_activity=sm_activity,
        sm_occupancy=sm_occupancy,
        reasons=unknown,
    )


def _run(forward: Callable[[], Any], synchronise: Callable[[], None], until_s: float) -> int:
    """Forwards until then, and the wait for the last; how many.

    A queue a thousand launches deep would go on for long after the host stopped, so there is a wait
    every few forwards; between them the device has work.
    """
    forwards = 0
    while True:
        for _ in range(_BATCH):
            forward()
        forwards += _BATCH
        synchronise()
        if time.perf_counter() >= until_s:
            return forwards


def _power_w(nvml: Nvml, handle: Any, seconds: float) -> float:
    begin_j, begin_s = total_energy_j(nvml, handle), time.perf_counter()
    time.sleep(seconds)
    return (total_energy_j(nvml, handle) - begin_j) / (time.perf_counter() - begin_s)


def _open(nvml: Nvml | None, reason: str) -> Nvml:
    if nvml is None:
        raise Unreadable(reason)
    return nvml


@contextlib.contextmanager
def _gpu(uuid: str | bytes | None, module: Any) -> Iterator[tuple[Nvml | None, Any, str]]:
    """NVML and the GPU's handle, or the reason why they cannot be had."""
    try:
        nvml = Nvml(module)
    except Unreadable as error:
        yield None, None, str(error)
        return
    with nvml:
        try:
            handle = nvml.handle(uuid=uuid)
        except Unreadable as error:
            yield None, None, str(error)
            return
        yield nvml, handle, ""


Shares = tuple[float | None, float | None, str]


@contextlib.contextmanager
def _gpm(nvml: Nvml | None, handle: Any, reason: str) -> Iterator[Callable[[], Shares]]:
    """A call for SM activity and occupancy since this began, or why there are none."""
    if nvml is None:
        yield lambda: (None, None, reason)
        return
    samples: list[Any] = []
    try:
        try:
            if not nvml.ask("nvmlGpmQueryDeviceSupport", handle).isSupportedDevice:
                raise Unreadable("this GPU has no GPM counters (Hopper and later have)")
            samples += [nvml.ask("nvmlGpmSampleAlloc") for _ in range(2)]
            nvml.ask("nvmlGpmSampleGet", handle, samples[0])
        except Unreadable as error:
            refusal = str(error)
            yield lambda: (None, None, refusal)
            return
        yield lambda: _shares(nvml, handle, samples)
    finally:
        for sample in samples:
            with contextlib.suppress(Unreadable):
                nvml.ask("nvmlGpmSampleFree", sample)


def _shares(nvml: Nvml, handle: Any, samples: list[Any]) -> Shares:
    try:
        nvml.ask("nvmlGpmSampleGet", handle, samples[1])
        request = nvml.module.c_nvmlGpmMetricsGet_t()
        request.version = nvml.module.NVML_GPM_METRICS_GET_VERSION
        request.sample1, request.sample2 = samples
        wanted = (_SM_UTIL, _SM_OCCUPANCY)
        request.numMetrics = len(wanted)
        for place, metric in enumerate(wanted):
            request.metrics[place].metricId = metric
        nvml.ask("nvmlGpmMetricsGet", request)
    except Unreadable as error:
        return None, None, str(error)
    found = [request.metrics[place] for place in range(len(wanted))]
    wrong = next((each.nvmlReturn for each in found if each.nvmlReturn), 0)
    if wrong:
        return None, None, f"NVML: the GPM metrics were refused with {wrong}"
    return found[0].value / 100, found[1].value / 100, ""
