"""What a result's types alone do not say, and every reader of one relies on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from ftax_micro.records import Case, CoreSpeeds, Data, DevicePass, Measurement, Roofline

# No time in seconds and no count comes near; sums of a few of them stay finite.
_ABSURD = 1e15
# FLOPs of an operation: a day of a machine a thousand times as fast as today's.
_MOST_WORK = 1e24


def check_case(case: Case, path: str = "") -> None:
    """What a case's types do not say: times where it is ok, a reason where not, only numbers.

    Errors: `msgspec.ValidationError` with the field, whose path begins with `path`.
    """
    _check_status(case.status, case.reason, case.latency, f"{path}.latency", f"{path}.reason")
    for name in ("latency", "host", "pipelined", "solo"):
        data = getattr(case, name)
        if data is not None:
            _check_data(data, f"{path}.{name}")
    if case.latency is not None and sum(case.blocks) != len(case.latency.samples):
        raise invalid("Blocks do not add up to the samples of `latency`", f"{path}.blocks")
    if case.states and len(case.states) != len(case.blocks):
        raise invalid("Expected the states around every block", f"{path}.states")
    _check_numbers(case.costs_s.values(), f"{path}.costs_s")
    if case.gpu_load is not None:
        load = case.gpu_load
        told = (load.energy_j, load.idle_power_w, load.sm_activity, load.sm_occupancy)
        known = [value for value in told if value is not None]
        _check_numbers([load.forwards, load.seconds, *known], f"{path}.gpu_load")
    if case.device_pass is not None:
        _check_device_pass(case.device_pass, f"{path}.device_pass")
    if any(count < 0 for count in case.executed.values()):
        raise invalid("No operation runs less than never", f"{path}.executed")


def _check_device_pass(found: DevicePass, path: str) -> None:
    """As many values at every place as there were forwards, and calls that exist."""
    series = {"busy_s": found.busy_s, "latency_s": found.latency_s, "host_s": found.host_s}
    for place, call in enumerate(found.calls):
        series[f"calls[{place}].begin_s"] = call.begin_s
        series[f"calls[{place}].duration_s"] = call.duration_s
    for place, each in enumerate(found.operations):
        series[f"operations[{place}].start_s"] = each.start_s
        series[f"operations[{place}].duration_s"] = each.duration_s
        if each.call is not None and not 0 <= each.call < len(found.calls):
            raise invalid(f"There is no call {each.call}", f"{path}.operations[{place}].call")
    for name, values in series.items():
        if len(values) != len(found.latency_s) or not values:
            raise invalid("Expected one value per forward", f"{path}.{name}")
        _check_numbers(values, f"{path}.{name}")


def check_roofline(peak: Roofline, path: str = "") -> None:
    """What a roofline's types do not say: a time where it is ok, a reason where not, some work.

    Errors: `msgspec.ValidationError` with the field, whose path begins with `path`.
    """
    _check_status(peak.status, peak.reason, peak.data, f"{path}.data", f"{path}.reason")
    if peak.data is not None:
        _check_data(peak.data, f"{path}.data")
    _check_numbers([peak.work], f"{path}.work", most=_MOST_WORK)


def _check_status(
    status: str, reason: str | None, data: Data | None, data_path: str, reason_path: str
) -> None:
    if (data is not None) != (status == "ok"):
        raise invalid(f"Status {status!r} contradicts the data", data_path)
    if status != "ok" and not reason:
        raise invalid(f"A row that is {status} needs a reason", reason_path)


def check_measurement(row: Measurement, path: str = "") -> None:
    """What a row's types do not say: a value where it is ok, a reason where not, only numbers.

    Errors: `msgspec.ValidationError` with the field, whose path begins with `path`.
    """
    _check_status(row.status, row.reason, row.data, f"{path}.data", f"{path}.reason")
    if row.data is not None:
        _check_data(row.data, f"{path}.data")
    for index, each in enumerate(row.corrections):
        _check_numbers((each.value_s, each.low_s, each.high_s), f"{path}.corrections[{index}]")


def _check_data(data: Data, path: str) -> None:
    if not _are_numbers(_numbers_of(data)):
        _check_numbers(data.samples, f"{path}.samples")
        _check_numbers(data.warmup, f"{path}.warmup")
        _check_numbers([data.loops, data.censored, data.elapsed_s], path)
        for position, level in enumerate(data.levels):
            _check_numbers([level.count], f"{path}.levels[{position}].count")
            _check_numbers(level.samples_s, f"{path}.levels[{position}].samples_s")
    if data.core_speeds is not None:
        taken = [data.samples, *[level.samples_s for level in data.levels]]
        most = min(map(len, filter(None, taken)), default=0)
        _check_core_speeds(data.core_speeds, most, f"{path}.core_speeds")
    if data.estimate == "median":
        if not data.samples:
            raise invalid("A median needs samples", f"{path}.samples")
        return
    if len({level.count for level in data.levels}) < 2:
        raise invalid("A slope needs two distinct counts", f"{path}.levels")
    for position, level in enumerate(data.levels):
        if not level.samples_s:
            raise invalid("A level needs samples", f"{path}.levels[{position}].samples_s")


def _check_core_speeds(speeds: CoreSpeeds, most: int, path: str) -> None:
    """One glance more than stretches between them, on every core; `most` samples in them all."""
    if not speeds.work_s or not speeds.samples:
        raise invalid("Expected two glances at a core at least", path)
    for core, works_s in speeds.work_s.items():
        if len(works_s) != len(speeds.samples) + 1:
            raise invalid("Expected a value for each glance", f"{path}.work_s[{core!r}]")
        _check_numbers(works_s, f"{path}.work_s[{core!r}]")
        if min(works_s) <= 0:
            raise invalid("No work takes no time", f"{path}.work_s[{core!r}]")
    if speeds.hop_s:
        if len(speeds.hop_s) != len(speeds.samples) + 1:
            raise invalid("Expected a value for each glance", f"{path}.hop_s")
        _check_numbers(speeds.hop_s, f"{path}.hop_s")
        if min(speeds.hop_s) <= 0:
            raise invalid("No way takes no time", f"{path}.hop_s")
    if min(speeds.samples) < 0 or sum(speeds.samples) > most:
        raise invalid(f"Expected {most} samples between the glances", f"{path}.samples")


def _numbers_of(data: Data) -> Iterator[float]:
    levels = data.levels
    own = (data.loops, data.censored, data.elapsed_s, *[level.count for level in levels])
    return chain(own, data.samples, data.warmup, *[level.samples_s for level in levels])


def _are_numbers(values: Iterable[float]) -> bool:
    """Whether their sum shows that all are below `_ABSURD`: the fastest way to say so, as every
    number of a result comes by. False proves nothing, but that each has to be looked at.
    """
    try:
        return sum(map(abs, values)) < _ABSURD  # a NaN is not
    except OverflowError:  # of a whole number that is no float
        return False


def _check_numbers(values: Iterable[float], path: str, most: float = _ABSURD) -> None:
    # A NaN is not below; this takes a third of the time of a generator.
    if not all(map(most.__gt__, map(abs, values))):
        raise invalid(f"Not a number below {most:g}", path)


def invalid(what: str, path: str) -> msgspec.ValidationError:
    """The error for a field that breaks a rule."""
    return msgspec.ValidationError(f"{what} - at `$.{path.lstrip('.')}`")
