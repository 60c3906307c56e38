"""Times of models: latency, and host time and pipelined interval where they are told apart."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ftax_micro import stats
from ftax_micro.analysis.core_speed import block_slowdowns, is_slowed, typical_slowdown
from ftax_micro.analysis.latency_view import BEGUN, block_medians, workload_sizes
from ftax_micro.analysis.quantities.contract import PARAMETERS, Fact, Kind, Quantity, Rounds, Value
from ftax_micro.analysis.quantities.measured import ticked
from ftax_micro.analysis.summary import step_of
from ftax_micro.records import Case, Data, FactValue, Setting
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

# Facts of a case that are no cause of its times: when, and what its workload says already.
_NO_CAUSES = {BEGUN, "threads", "export_cached"}


def quantities(result: Result, confidence: float) -> Sequence[Quantity]:
    """Of each case its latency, its host time where that is another, and its pipelined interval."""
    waits, turns = wait_styles(result), _turns(result.cases)
    slowed = block_slowdowns(result.cases, result.measurements)
    return [
        _slowed(quantity, typical_slowdown(slowdowns, case.blocks))
        for case, slowdowns in zip(result.cases, slowed, strict=True)
        for quantity in _of_case(case, confidence, waits.get(case.device), turns)
    ]


def case_setting(case: Case) -> Setting:
    """What, besides the model's name and the device, says which case it is."""
    setting: Setting = {"mode": case.mode, "dtype": case.dtype, **workload_sizes(case)}
    threads = case.facts.get("threads")
    if case.lengths is not None:
        setting["lengths"] = case.lengths
    if isinstance(threads, int) and threads != 1:
        setting["threads"] = threads
    if case.twin:
        setting["workload"] = "twin"
    return setting


def case_alike(case: Case, wait: str | None) -> dict[str, str]:
    """What must agree for two cases of a name to be the same work, timed to the same end."""
    found = {"steps": f"{case.steps}"}
    if case.parameters is not None:
        found[PARAMETERS] = f"{case.parameters:,}"
    if wait is not None:
        found["wait style"] = wait
    return found


def case_facts(case: Case) -> dict[str, Fact]:
    """What may be different about a case, and explain its times."""
    found = {
        name: fact_text(value)
        for name, value in case.facts.items()
        if name not in _NO_CAUSES and value is not None
    }
    if case.executed:
        found["operations executed"] = f"{sum(case.executed.values()):,}"
    if case.macs is not None:
        found["multiply-accumulates"] = f"{case.macs:,}"
    return dict(found)


def fact_text(value: FactValue) -> str:
    """A fact in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(f"{each:g}" for each in value) if isinstance(value, list) else f"{value}"


def wait_styles(result: Result) -> dict[str, str]:
    """How threads wait for each device, as far as it says."""
    found = {device.name: device.facts.get("wait_style") for device in result.devices}
    return {name: str(style) for name, style in found.items() if style}


def _turns(cases: Sequence[Case]) -> dict[object, str]:
    """The modes that were timed by turns, by workload: they may disturb each other."""
    modes: dict[object, list[str]] = {}
    for case in cases:
        if case.latency is not None and BEGUN in case.facts:
            modes.setdefault(_run(case), []).append(case.mode)
    return {run: ", ".join(sorted(names)) for run, names in modes.items()}


def _run(case: Case) -> object:
    setting = {key: value for key, value in case_setting(case).items() if key != "mode"}
    return case.device, case.model, frozenset(setting.items()), case.facts.get(BEGUN)


def _slowed(quantity: Quantity, slowdown: float | None) -> Quantity:
    if quantity.value.status != "ok" or not is_slowed(slowdown):
        return quantity
    return replace(quantity, value=replace(quantity.value, slowdown=slowdown))


def _of_case(
    case: Case, confidence: float, wait: str | None, turns: dict[object, str]
) -> Iterator[Quantity]:
    absent = Value("skipped" if case.status == "ok" else case.status, case.reason)
    whole = Quantity(case.device, case.model, case_setting(case), absent, "latency")
    latency, host = case.latency, case.host
    if case.status != "ok" or latency is None:
        yield whole
        return
    facts = case_facts(case)
    if _run(case) in turns:
        facts["timed by turns"] = turns[_run(case)]
    whole = replace(whole, alike=case_alike(case, wait), facts=facts)
    yield _timed(whole, "latency", latency, case, confidence)
    if host is not None and host.samples != latency.samples:
        yield _timed(whole, "host", host, case, confidence)
    if case.pipelined is not None:
        yield _timed(whole, "pipelined", case.pipelined, case, confidence)


def _timed(whole: Quantity, name: str, data: Data, case: Case, confidence: float) -> Quantity:
    found = stats.median_interval(data.samples, confidence)
    value = Value(
        *("ok", None, data.unit, *found),
        systematic_low=found.value,
        systematic_high=found.value,
        step=step_of(data),
        samples=len(data.samples),
        # What is said of a case is said once.
        notes=tuple(each.sentence for each in case.verdicts) if name == "latency" else (),
    )
    return replace(
        whole,
        quantity=name,
        value=value,
        estimate=functools.partial(_estimate, data),
        rounds=_rounds(case, data, pipelined=name == "pipelined"),
        source=data,
    )


def _estimate(data: Data, level: float) -> Estimate:
    return ticked(stats.median_interval(data.samples, level), [data.samples])


def _rounds(case: Case, data: Data, *, pipelined: bool) -> Rounds | None:
    """A block's forwards have a median; pipelined, they have one time together."""
    run = case.facts.get(BEGUN)
    if run is None:
        return None
    medians = data.samples if pipelined else block_medians(data, case.blocks)
    return Rounds(str(run), tuple(medians))


KIND = Kind("latency", "Model latency", "not in this result", "model", False, quantities)
