"""The sentences of advice, all of them; each has the number it rests on, with its interval.

What holds for several modes of a case is one sentence with a number for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ftax_micro.analysis.advice.choices import FREE
from ftax_micro.analysis.advice.contract import (
    Advice,
    BestMode,
    Binding,
    FasterDevice,
    FreeSize,
    NoAdvice,
    OneGraph,
    Size,
    Waiting,
)
from ftax_micro.stats import Estimate
from ftax_micro.units import digits_for, format_share

# The mode of what is a step of a trace, not a case.
STEP = "trace"
_INNOCENT = "the framework is not the problem"
_DEVICE_BOUND = {
    "compute-bound": f"the arithmetic sets the time, at {{peak}} of a matrix product; {_INNOCENT}",
    "memory-bound": f"reading and writing memory sets the time, at {{peak}} of a copy; {_INNOCENT}",
    "kernel-latency-bound": "its kernels set the time, but use only {peak}, too small for the "
    f"device or not made for it; {_INNOCENT}",
    "device-bound": f"its operations themselves set the time; {_INNOCENT}",
}
_CAUSES = {
    "not launched": "because the host had not launched the next operation yet",
    "launching": "while the next operation was being launched",
    "synchronising": "because the host waited for the device before it launched more",
    "waiting": "between a launch and its operation's start",
    "other": "before operations whose launch the trace does not have",
}


def together(several: Iterable[Advice]) -> list[list[Advice]]:
    """Those that one sentence is enough for, in the order of the first of each."""
    groups: dict[tuple[Any, ...], list[Advice]] = {}
    for each in several:
        groups.setdefault(_key(each), []).append(each)
    return list(groups.values())


def sentence(group: Sequence[Advice]) -> str:
    """What is to be said of the `group`, one of `together`, or one advice alone."""
    made: dict[type[Advice], Callable[[Any], str]] = {
        Binding: _binding,
        Waiting: _waiting,
        FasterDevice: _faster,
        OneGraph: _graph,
        BestMode: _mode,
        FreeSize: _size,
        NoAdvice: _none,
    }
    return made[type(group[0])](group)


def _key(advice: Advice) -> tuple[Any, ...]:
    own: tuple[Any, ...] = ()
    if isinstance(advice, Binding):
        own = (advice.regime, advice.why if advice.regime in ("ambiguous", "invalid") else "")
    elif isinstance(advice, (FreeSize, NoAdvice)):
        own = (advice.mode, getattr(advice, "subject", ""))
    elif isinstance(advice, (FasterDevice, OneGraph)):
        own = (advice.at_most,)
    return (advice.source, advice.case, advice.kind, *own)


def _binding(group: Sequence[Binding]) -> str:
    first = group[0]
    name, regime = first.name, first.regime
    modes = f" in {_list(each.mode for each in group)}" if first.mode != STEP else ""
    if regime == "ambiguous":
        cure = ": more samples would tell" if modes else ""
        return f"{name}{modes}: ambiguous, {first.why}{cure}"
    if regime == "invalid":
        return f"{name}{modes}: no advice, since {first.why}"
    taxes = _list(f"{each.mode} ({_tax(each)})" for each in group)
    told = f"{name} is {regime} in {taxes}" if modes else f"{name}: {regime} ({_tax(first)})"
    if regime == "framework-bound":
        spent = "getting from one operation to the next, not computing"
        if first.device != "cpu":
            spent = "waiting for the host's software, not computing"
        return (
            f"{told}: the tax is time spent {spent}. Faster kernels leave it as it is; fewer "
            "operations, or a mode that calls them more cheaply, can take from it"
        )
    if regime == "launch-bound":
        return (
            f"{told}: launching its operations one by one takes all but the tax on this machine, "
            "whatever software does it. Fewer launches can help: fused operations, or one graph"
        )
    return f"{told}: {_of_device(regime, group)}"


def _of_device(regime: str, group: Sequence[Binding]) -> str:
    shares = [each.peak_share for each in group if each.peak_share is not None]
    ends = dict.fromkeys(f"{end(shares) * 100:.0f}" for end in (min, max)) if shares else {}
    peak = f"{' … '.join(ends)} % of the measured peak"
    return _DEVICE_BOUND.get(regime, _DEVICE_BOUND["device-bound"]).format(peak=peak)


def _tax(advice: Binding) -> str:
    if advice.share is None or advice.saving is None:
        return "tax not known"
    return f"tax {_seconds(advice.saving)}, {_share(advice.share)}"


def _waiting(group: Sequence[Waiting]) -> str:
    (each, *_) = group
    assert each.saving is not None  # of every one
    assert each.latency is not None
    assert each.share is not None
    cause = _CAUSES.get(each.cause, each.cause)
    return (
        f"{each.name}: the device is idle for {_seconds(each.saving)} of {_seconds(each.latency)} "
        f"({_share(each.share)}), {_seconds(each.part)} of it {cause}"
    )


def _faster(group: Sequence[FasterDevice]) -> str:
    first = group[0]
    work = "operations that compute" if first.device == "cpu" else "kernels"
    halves = _list(
        f"{_part(each.saving, each.share)} of {_seconds(each.latency)}{_in(each)}" for each in group
    )
    limits = _list(f"{_part(each.limit, each.limit_share)}{_in(each)}" for each in group)
    most = "at most " if first.at_most else ""
    return (
        f"{first.name}: {work} twice as fast would save {most}{halves}; "
        f"if they took no time, {most}{limits}"
    )


def _graph(group: Sequence[OneGraph]) -> str:
    first = group[0]
    most = "at most " if first.at_most else ""
    parts = _list(
        f"{_part(each.saving, each.share)} of {_seconds(each.latency)}{_in(each)}" for each in group
    )
    unsure = [each.mode for each in group if each.saving and (each.saving.low or 0.0) <= 0]
    where = "" if first.mode == STEP else f"in {_list(unsure)} "
    doubt = f"; {where}that may be nothing" if unsure else ""
    return f"{first.name}: one graph of all its operations would save {most}{parts}{doubt}"


def _mode(group: Sequence[BestMode]) -> str:
    (each, *_) = group
    took = f"{each.name}: {_seconds(each.latency)} in {each.reference}"
    ratio = each.ratio
    if ratio is None or each.best is None:
        return f"{took}; no other mode was measured"
    own = _seconds(each.best)
    if ratio.high is not None and ratio.high < 1:
        return f"{took}, its fastest mode; {each.mode} at {own} comes nearest ({_times(ratio)})"
    if not each.sure:
        return (
            f"{took}; no mode is faster beyond doubt, {each.mode} at {own} comes nearest "
            f"({_times(ratio)})"
        )
    rivals = f"; {_list(each.rivals)} may be as fast" if each.rivals else ""
    return (
        f"{took}, {own} in {each.mode}, its fastest mode: {_times(ratio)} as fast, same "
        f"outputs{rivals}"
    )


def _size(group: Sequence[FreeSize]) -> str:
    (each, *_) = group
    name, axis, first = f"{each.name} in {each.mode}", each.axis, f"{each.first:g}"
    if each.free is None:
        told = f"{name}: no {axis} above {first} is free beyond doubt"
    else:
        told = (
            f"{name}: {axis} {each.free.value:g} costs no more than {axis} {first}, "
            f"{_times(each.free.ratio)} its latency"
        )
    told += "; larger ones were not measured" if each.beyond is None else _beyond(each, each.beyond)
    if each.crossover is not None:
        between = "" if each.crossover.low is None else f" ({_plain_interval(each.crossover)})"
        told += f". The crossover is at {axis} {each.crossover.value:.3g}{between}"
    return told


def _beyond(each: FreeSize, size: Size) -> str:
    low = size.ratio.low
    may = " and may be free too" if low is not None and low <= 1 + FREE else ""
    return f"; {each.axis} {size.value:g} takes {_times(size.ratio)} as long{may}"


def _none(group: Sequence[NoAdvice]) -> str:
    (each, *_) = group
    return f"{each.name} {each.mode}".strip() + f": {no_advice(each)}"


def no_advice(advice: NoAdvice) -> str:
    """Why there is none, without saying on which case."""
    return f"no advice on {advice.subject}, since {advice.reason}"


def _in(advice: Advice) -> str:
    return "" if advice.mode == STEP else f" in {advice.mode}"


def _list(parts: Iterable[str]) -> str:
    every = list(parts)
    return ", ".join(every[:-1]) + " and " + every[-1] if len(every) > 1 else "".join(every)


def _part(saving: Estimate | None, share: Estimate | None) -> str:
    return f"{_seconds(saving)} ({_share(share)})"


def _seconds(value: Estimate | None) -> str:
    if value is None:
        return "–"
    known = value.low is not None and value.high is not None
    spread = (value.high - value.low) / 2 if known else None  # type: ignore[operator]
    return digits_for(value.value, spread).text(value.value)


def _share(share: Estimate | None) -> str:
    return "–" if share is None else ", ".join(filter(None, format_share(*share)))


def _times(ratio: Estimate) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f} ×"
    return f"{ratio.value:.2f} × ({ratio.low:.2f} … {ratio.high:.2f})"


def _plain_interval(value: Estimate) -> str:
    return f"{value.low:.3g} … {value.high:.3g}"
