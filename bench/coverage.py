"""Do intervals hold the truth as often as they say, and are they no wider than they must be?

    python bench/coverage.py [--trials N] [--jobs N] [--quick] [-o FILE]

Nothing is timed: forwards of known host times, durations and launch floors are measured with
right-skewed noise, a thousand times each, and what the analysis says is set beside the truth.

tax         share of trials whose 95 % interval misses the framework tax; target at most 7 %. And
            the median width over the ideal one, which is the 95 % range of normal errors as large
            as those of the values; target at most 1.3
crossover   share of trials whose interval misses the hinge's x*; target at most 10 %
regime      share of wrong ones, of forwards at least 5 percentage points and two half-widths from
            every line; target at most 1 %
prediction  share of trials in which the pipeline model, given host times and durations, is over 2 %
            off the latency; target none

The set-ups of the tax differ in what is uncertain: everything alike, the latency, the durations or
the floor alone, forwards that are slow as a whole, one launch or a thousand, few samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from common import attempt, finish, message, observed, parser
from numpy.typing import ArrayLike, NDArray
from rows import Figure, Row

from ftax_micro.analysis.bounding.bounds import Bounds, cpu_bounds, cuda_bounds
from ftax_micro.analysis.bounding.joint import DeviceWork
from ftax_micro.analysis.bounding.pipeline import (
    CallKind,
    Calls,
    Floor,
    Operations,
    pipeline_latency,
)
from ftax_micro.analysis.bounding.regime import LINE, regime
from ftax_micro.analysis.bounding.what_if import what_if
from ftax_micro.analysis.crossover.hinge import crossover
from ftax_micro.analysis.floor.values import FloorValues, sampled_value

US = 1e-6
TRUE = Floor(to_start=4 * US, gap=1 * US, sync=3 * US, submit={CallKind.LAUNCH: 2 * US})
FORWARDS, HOST_STEP_S = 20, 8 * US
# The median of a gamma distribution of shape 2.
MIDDLE = 1.678347
SIZES = (1, 2, 4, 6, 8, 11, 14, 18, 24, 32)
# Samples in the file: what a histogram needs.
DIGITS = 4


@dataclass(frozen=True)
class Setup:
    """One way to measure a forward: spreads of the logarithms of latency, durations and floor."""

    name: str
    launches: int = 10
    latency: float = 0.005
    durations: float = 0.01
    floor: float = 0.05
    together: float = 0.0
    samples: int = 100


SETUPS = (
    Setup("all alike"),
    Setup("latency alone", durations=0, floor=0),
    Setup("durations alone", latency=1e-5, floor=0),
    Setup("floor alone", latency=1e-5, durations=0),
    Setup("slow forwards", together=0.05, latency=0.001),
    Setup("30 samples", samples=30),
    Setup("one launch", launches=1, durations=0.05),
    Setup("100 launches", launches=100, durations=0.05),
    Setup("1,000 launches", launches=1000, durations=0.05),
    Setup("durations alone, 1,000 launches", launches=1000, latency=1e-5, durations=0.05, floor=0),
)
CPU_SETUPS = (("100 samples", 0.02, 100), ("30 samples", 0.02, 30), ("much noise", 0.5, 100))


def main(argv: Sequence[str] | None = None) -> int:
    made = parser(__doc__)
    made.add_argument("--trials", type=int, metavar="N", help="of each row (default: 1000)")
    made.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    args = made.parse_args(argv)
    trials = args.trials or (40 if args.quick else 1000)
    work: dict[str, Callable[[], list[Row]]] = {
        **{f"tax, cuda, {each.name}": partial(cuda_tax, each, trials) for each in SETUPS},
        **{f"tax, cpu, {each[0]}": partial(cpu_tax, *each, trials) for each in CPU_SETUPS},
        **{f"crossover, {law}": partial(crossovers, law, trials) for law in ("max", "sum")},
        "regime": partial(regimes, trials),
        "prediction": partial(predictions, trials),
    }
    rows: list[Row] = []
    with ProcessPoolExecutor(args.jobs) as pool:
        pending = {name: pool.submit(each) for name, each in work.items()}
        for name, found in pending.items():
            rows += attempt(name, found.result)
            message(f"{name}: done")
    return finish("coverage", rows, args, {"trials": trials})


def noisy(value: ArrayLike, rng: np.random.Generator, size: int, spread: float) -> Any:
    """(size, …): right-skewed samples, each with its value as the median of its distribution."""
    value = np.asarray(value, dtype=float)
    return value * np.exp(spread * (rng.gamma(2.0, size=(size, *value.shape)) - MIDDLE))


def one_by_one(kernels_s: NDArray[np.float64]) -> tuple[Operations, Calls]:
    """Kernels in one stream, each launched by a call of its own."""
    number = kernels_s.size
    ops = Operations(
        duration_s=kernels_s,
        call=np.arange(number),
        stream=np.zeros(number, dtype=np.int64),
        chained=np.ones(number, dtype=bool),
    )
    kinds = np.full(number, int(CallKind.LAUNCH), dtype=np.int64)
    return ops, Calls(kinds, np.zeros(number, dtype=np.int64))


def measured_work(ops: Operations, calls: Calls, samples: Any, begins: Any) -> DeviceWork:
    return DeviceWork(
        operations=Operations(np.median(samples, axis=0), ops.call, ops.stream, ops.chained),
        calls=calls,
        kind=calls.kind,
        durations=samples,
        begins=np.repeat(begins[np.newaxis], len(samples), axis=0),
    )


def measured_floor(rng: np.random.Generator, spread: float, samples: int = 100) -> FloorValues:
    """`TRUE` from noisy samples."""

    def value(seconds: Any) -> Any:
        return sampled_value(list(noisy(seconds, rng, samples, spread)))

    return FloorValues(
        to_start=value(TRUE.to_start),
        gap=value(TRUE.gap),
        sync=value(TRUE.sync),
        submit={kind: value(cost) for kind, cost in TRUE.submit.items()},
    )


def cuda_tax(setup: Setup, trials: int) -> list[Row]:
    """Forwards whose host launches every 8 µs, and kernels of 6 µs."""
    ops, calls = one_by_one(np.full(setup.launches, 6 * US))
    every = np.arange(setup.launches, dtype=float)
    latency = float(pipeline_latency(ops, calls, every * HOST_STEP_S, TRUE))
    bound = float(pipeline_latency(ops, calls, every * 2 * US, TRUE))
    rng = np.random.default_rng(0)
    found = []
    for _ in range(trials):
        slow = noisy(1.0, rng, FORWARDS, setup.together)[:, np.newaxis]
        samples = noisy(ops.duration_s, rng, FORWARDS, setup.durations) * slow
        work = measured_work(ops, calls, samples, every * HOST_STEP_S)
        latencies = list(noisy(latency, rng, setup.samples, setup.latency))
        floor = measured_floor(rng, setup.floor, setup.samples)
        found.append(_tax(cuda_bounds(work, latencies, floor)))
    return judged(f"tax, cuda, {setup.name}", np.array(found), latency - bound)


def cpu_tax(name: str, spread: float, samples: int, trials: int) -> list[Row]:
    """Forwards of 300 µs, a twin of 50 µs, 400 operations."""
    latency, twin, call, operations = 300 * US, 50 * US, 2e-9, 400
    rng = np.random.default_rng(0)
    found = []
    for _ in range(trials):
        bounds = cpu_bounds(
            list(noisy(latency, rng, samples, spread)),
            list(noisy(twin, rng, samples, spread)),
            operations,
            FloorValues(call_direct=sampled_value(list(noisy(call, rng, samples, 0.5)))),
        )
        found.append(_tax(bounds))
    return judged(f"tax, cpu, {name}", np.array(found), twin - operations * call)


def _tax(bounds: Bounds) -> tuple[float, float, float]:
    tax = bounds.tax
    if tax is None or tax.low is None or tax.high is None:
        raise ValueError("a tax without an interval")
    return tax.value, tax.low, tax.high


def judged(name: str, found: NDArray[np.float64], truth: float) -> list[Row]:
    """The misses of some intervals (trials, 3) of value, low and high; and their widths."""
    value, low, high = found.T
    ideal = 2 * 1.96 * float(np.std(value))
    widths = (high - low) / ideal
    errors = np.round((value - truth) / (ideal / 2), DIGITS)
    facts: dict[str, str | float | int | None] = {
        "truth below the interval": int(np.sum(truth < low)),
        "truth above the interval": int(np.sum(truth > high)),
        "median error of the values over the ideal half-width": float(np.median(errors)),
    }
    missed = share("missed", (truth < low) | (truth > high), 0.07)
    return [
        Row(
            name=name,
            unit="ratio",
            samples={"error": [float(each) for each in errors]},
            figures=[missed],
            facts=facts,
        ),
        Row(
            name=f"width of that, {name.partition(', ')[2]}",
            unit="ratio",
            samples={"width": [float(each) for each in np.round(widths, DIGITS)]},
            figures=[observed("over the ideal", float(np.median(widths)), "ratio", limit=1.3)],
        ),
    ]


def share(what: str, events: ArrayLike, limit: float) -> Figure:
    """A share of the trials, as an observation."""
    return observed(what, float(np.mean(np.asarray(events, dtype=float))), "fraction", limit=limit)


def crossovers(law: Any, trials: int) -> list[Row]:
    """Sweeps of ten sizes and twenty samples each, noise of 1 to 8 %."""
    rng = np.random.default_rng(0)
    missed, errors = [], []
    for _ in range(trials):
        truth, spread = float(rng.uniform(4.5, 15.5)), float(rng.uniform(0.01, 0.08))
        fixed, rising = 10e-3, float(rng.uniform(0.0, 0.5)) if law == "max" else 0.0
        slope = fixed * (1 - rising) / truth
        if law == "max":
            times = [max(fixed, fixed * rising + slope * size) for size in SIZES]
        else:
            times = [fixed + slope * size for size in SIZES]
        points = [
            (size, list(noisy(t, rng, 20, spread))) for size, t in zip(SIZES, times, strict=True)
        ]
        x = crossover(points, law).x
        held = x is not None and x.low is not None and x.high is not None
        missed.append(not (held and x.low <= truth <= x.high))
        errors.append(round(x.value / truth - 1, DIGITS) if x is not None else float("inf"))
    samples = {"relative error": [each for each in errors if np.isfinite(each)]}
    facts: dict[str, str | float | int | None] = {"no crossover": int(np.sum(np.isinf(errors)))}
    figures = [share("missed", missed, 0.1)]
    return [
        Row(name=f"crossover, {law}", unit="ratio", samples=samples, figures=figures, facts=facts)
    ]


def regimes(trials: int) -> list[Row]:
    """Forwards of 3 to 14 launches of short and long kernels, 1 to 1.5 times their bound long."""
    rng = np.random.default_rng(0)
    wrong: list[float] = []
    while len(wrong) < trials:
        number = int(rng.integers(3, 15))
        ops, calls = one_by_one(np.full(number, float(rng.choice([0.2, 3.0, 20.0])) * US))
        every = np.arange(number, dtype=float)
        own = float(pipeline_latency(ops, calls, every * 2 * US, TRUE))
        device = float(pipeline_latency(ops, calls, every * 0, TRUE))
        latency = own * float(rng.uniform(1.0, 1.5))
        work = measured_work(ops, calls, noisy(ops.duration_s, rng, FORWARDS, 0.02), every)
        bounds = cuda_bounds(work, list(noisy(latency, rng, 60, 0.02)), measured_floor(rng, 0.02))
        truth = "launch-bound" if own / latency >= LINE else "framework-bound"
        truth = "device-bound" if device / latency >= LINE else truth
        shares = (device / latency, own / latency)
        if min(abs(each - LINE) for each in shares) >= 0.05 and _far(bounds):
            answer = regime(bounds)
            wrong.append(float(answer is None or answer.name != truth))
    figures = [share("wrong", wrong, 0.01)]
    return [Row(name="regime", unit="count", samples={"wrong": wrong}, figures=figures)]


def _far(bounds: Bounds) -> bool:
    """Whether both lines are two half-widths away."""
    for each in (bounds.device, bounds.own):
        if each is None or each.share.low is None or each.share.high is None:
            return False
        if abs(each.share.value - LINE) < each.share.high - each.share.low:
            return False
    return True


def predictions(trials: int) -> list[Row]:
    """Hosts that launch at any pace, kernels of any length, each measured with noise."""
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(trials):
        number = int(rng.integers(3, 60))
        ops, calls = one_by_one(rng.uniform(1, 20, number) * US)
        begins = np.cumsum(rng.uniform(2, 20, number)) * US
        latency = float(pipeline_latency(ops, calls, begins, TRUE))
        work = measured_work(ops, calls, noisy(ops.duration_s, rng, FORWARDS, 0.02), begins)
        latencies = list(noisy(latency, rng, 100, 0.01))
        found = what_if(work, latencies, measured_floor(rng, 0.05))
        errors.append(round(found.model.value / latency - 1, DIGITS + 2))
    figures = [share("over 2 % off", np.abs(errors) > 0.02, 0.0)]
    samples = {"relative error": errors}
    return [Row(name="prediction", unit="ratio", samples=samples, figures=figures)]


if __name__ == "__main__":
    raise SystemExit(main())
