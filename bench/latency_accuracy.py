"""Does model_latency time a forward as a bare loop does, alone as by turns, and as others do?

    python bench/latency_accuracy.py [--part NAME …] [--quick] [-o FILE]

A 2-layer BERT of width 128 (`bert_tiny`) at batch 1, one thread, in one process:

bare loop     n forwards between two reads of the clock, divided by n, against our median of n
harness       what our samples of a forward that does nothing are above a bare loop of it
by turns      a block that follows another mode's against the one after it, which follows its own
peers         torch.utils.benchmark over the same forward; the same wall time for both

Targets: ratio to the bare loop 0.98 to 1.02, to be by itself 0.98 to 1.02, harness at most 1 µs a
sample; our interval as narrow as a peer's in as much wall time. The two sides of a ratio are two
rows, each of which has a limit. Needs the extra `models`.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from common import attempt, difference, finish, interleave, message, parser, ratio, until_stopped
from rows import Row, skipped

from ftax_micro import stats
from ftax_micro.collector import old_objects_set_aside
from ftax_micro.errors import FtaxError
from ftax_micro.interleaving import Block, ForwardProbe, Watch, measure_interleaved
from ftax_micro.models.request import parse_model
from ftax_micro.models.workload import build_workload
from ftax_micro.modes import MODES
from ftax_micro.records import Data, Plan

MODEL = "bert_tiny"
TURNS = ("eager", "torchscript", "onnxruntime", "better_transformer", "torch_compile")
PARTS = ("bare_loop", "harness", "turns", "peers")
AGAIN = ", again"
# Forwards of a block of `model_latency`, at most.
PER_BLOCK = 50
LIMIT = 1.02
HARNESS_LIMIT_S = 1e-6


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--part", choices=PARTS, action="append", help="only this (default: all)")
    args = options.parse_args(argv)
    # Short blocks: what a neighbour does to one it mostly does to the next.
    blocks, seconds = (2, 0.05) if args.quick else (120, 0.1)
    rounds, round_s = (1, 0.05) if args.quick else (100, 0.5)
    rows: list[Row] = []
    prepared: dict[str, Callable[[], Any]] = {}
    with torch_as_measured() as reason, old_objects_set_aside(), until_stopped():
        chosen = args.part or PARTS
        turns = TURNS[: 2 if args.quick else None]
        for mode in turns if "turns" in chosen else turns[:1]:
            made = reason or prepared_or_reason(mode)
            if isinstance(made, str):
                rows.append(skipped(f"{mode} by turns over by itself", made))
            else:
                prepared[mode] = made
        gc.collect()  # as in a run of model_latency, which goes through all there is but once
        if eager := prepared.get("eager"):
            parts: dict[str, Callable[[], Row | list[Row]]] = {
                "bare_loop": lambda: against_bare_loop(eager, blocks, seconds),
                "harness": lambda: harness(blocks, 100 if args.quick else 500),
                "turns": lambda: by_turns(prepared, 2 if args.quick else 150),
                "peers": lambda: against_torch(eager, rounds, round_s),
            }
            for part in chosen:
                rows += attempt(part, parts[part])
    settings = {"blocks": blocks, "block_s": seconds, "rounds": rounds, "round_s": round_s}
    return finish("latency_accuracy", rows, args, settings)


@contextlib.contextmanager
def torch_as_measured() -> Iterator[str | None]:
    """One thread and inference mode, as a workload has them; or why there is no torch."""
    try:
        import torch
    except ImportError as error:
        yield f"torch cannot be imported ({error})"
        return
    torch.set_num_threads(1)
    with torch.inference_mode():
        yield None


def prepared_or_reason(mode: str) -> Callable[[], Any] | str:
    """One forward of the model in `mode`, or why it cannot run here."""
    message(f"making {MODEL} ready in {mode}")
    try:
        workload = build_workload(parse_model(MODEL).spec)
        return MODES.open(mode)().prepare(workload).forward  # type: ignore[no-any-return]
    except FtaxError as error:
        return str(error)


def against_bare_loop(forward: Callable[[], Any], blocks: int, seconds: float) -> list[Row]:
    """The latency that we tell against a loop with nothing in it but the forward, by turns.

    Beside it the mean of our samples, which outliers pull as they do the loop's: the forwards of a
    block are taken after a collection of garbage, and the first few find the caches colder.
    """
    message("against a bare loop")
    count = max(2, int(seconds / typical(forward)))
    means_s: list[float] = []

    def ours() -> float:
        data = measured({"it": forward}, samples=count)["it"]
        means_s.append(float(np.mean(data.samples)))
        return median(data)

    def bare() -> float:
        begin_s = time.perf_counter()
        for _ in range(count):
            forward()
        return (time.perf_counter() - begin_s) / count

    samples = interleave({"ours": ours, "bare loop": bare}, blocks)
    rows = two_sided("latency over a bare loop", samples, "bare loop")
    mean = ratio(means_s[-blocks:], samples["bare loop"], what="mean of samples")  # no warm-up
    rows[0].figures.append(mean)
    return rows


def two_sided(name: str, samples: dict[str, list[float]], other: str) -> list[Row]:
    """A row for each side of a ratio that shall be close to 1."""
    back = {other: samples[other], "ours": samples["ours"]}
    above = ratio(samples["ours"], samples[other], limit=LIMIT)
    below = ratio(samples[other], samples["ours"], limit=LIMIT)
    return [
        Row(name=name, samples=samples, figures=[above]),
        Row(name=f"{name}, the other way round", samples=back, figures=[below]),
    ]


def harness(blocks: int, count: int) -> Row:
    """What a sample holds beyond its forward: our samples of nothing, less a bare loop of it."""
    message("what the harness adds")

    def nothing() -> None:
        return None

    def ours() -> float:
        return float(
            np.mean(measured({"it": nothing}, samples=count, pipelined=False)["it"].samples)
        )

    def bare() -> float:
        begin_s = time.perf_counter()
        for _ in range(count):
            nothing()
        return (time.perf_counter() - begin_s) / count

    samples = interleave({"ours": ours, "bare loop": bare}, blocks)
    added = difference(samples["ours"], samples["bare loop"], what="added", limit=HARNESS_LIMIT_S)
    return Row(name="harness cost of a sample", samples=samples, figures=[added])


def by_turns(prepared: dict[str, Callable[[], Any]], rounds: int) -> list[Row]:
    """Medians of each mode's blocks among the others' against those of blocks after its own.

    Every mode takes two turns in succession, AA'BB'CC', then CC'BB'AA' the other way round: the
    first of the two follows another mode, the second the same. So both are a moment apart.
    """
    message("by turns and by itself")
    probes = {f"{mode}{turn}": f for mode, f in prepared.items() for turn in ("", AGAIN)}
    taken = Taken()
    measure_interleaved(
        {name: ForwardProbe(forward, pipelined=False) for name, forward in probes.items()},
        plan_of(rounds * PER_BLOCK),
        taken,
    )
    rows = []
    for mode in prepared:
        pairs = list(zip(taken.medians[mode], taken.medians[mode + AGAIN], strict=True))
        # Each second round goes through the modes the other way round.
        ordered = [pair if number % 2 == 0 else pair[::-1] for number, pair in enumerate(pairs)]
        after_other, after_own = map(list, zip(*ordered, strict=True))
        samples = {"ours": after_other, "by itself": after_own}
        rows += two_sided(f"{mode} by turns over by itself", samples, "by itself")
    return rows


class Taken(Watch):
    """The median of each block, by name."""

    def __init__(self) -> None:
        self.medians: dict[str, list[float]] = {}

    def turn_ends(self, name: str, block: Block) -> None:
        """Keep the median of `block`."""
        self.medians.setdefault(name, []).append(float(np.median(block.latency)))


def against_torch(forward: Callable[[], Any], rounds: int, seconds: float) -> list[Row]:
    """Estimate and interval of torch's own timer over the same forward, in as much wall time."""
    from torch.utils.benchmark import Timer

    timer = Timer(stmt="forward()", globals={"forward": forward})
    estimates: dict[str, list[float]] = {"ours": [], "torch.utils.benchmark": []}
    widths: dict[str, list[float]] = {"ours": [], "torch.utils.benchmark": []}

    def ours() -> tuple[Sequence[float], float]:
        begin_s = time.perf_counter()
        count = max(2, int(seconds / typical(forward)))
        found = measured({"it": forward}, samples=count, pipelined=False)["it"].samples
        return found, time.perf_counter() - begin_s

    for number in range(rounds):
        message(f"against torch.utils.benchmark, round {number + 1} of {rounds}")
        samples, wall_s = ours()
        theirs = timer.blocked_autorange(min_run_time=wall_s).times
        for name, values in (("ours", samples), ("torch.utils.benchmark", theirs)):
            found = stats.median_interval(values)
            estimates[name].append(found.value)
            widths[name].append(found.half_width or float("nan"))
    rows = two_sided("latency over torch.utils.benchmark's", estimates, "torch.utils.benchmark")
    return [*rows, interval_row(widths)]


def interval_row(widths: dict[str, list[float]]) -> Row:
    """Half-widths of the intervals, relative to the estimates, of rounds in which both have one."""
    name = "interval against torch.utils.benchmark"
    both = [pair for pair in zip(*widths.values(), strict=True) if np.all(np.isfinite(pair))]
    if not both:
        return skipped(name, "there were too few values for an interval")
    ours, theirs = map(list, zip(*both, strict=True))
    kept = {"ours": ours, "torch.utils.benchmark": theirs}
    return Row(name=name, unit="fraction", samples=kept, figures=[ratio(ours, theirs, limit=1.0)])


def measured(
    forwards: dict[str, Callable[[], Any]], *, samples: int, pipelined: bool = True
) -> dict[str, Data]:
    """Latencies as model_latency takes them, so many samples of each."""
    probes = {
        name: ForwardProbe(forward, pipelined=pipelined) for name, forward in forwards.items()
    }
    found = measure_interleaved(probes, plan_of(samples))
    return {name: each.latency for name, each in found.items()}


def plan_of(samples: int) -> Plan:
    """So many samples of each, however long they take."""
    return Plan(
        min_samples=samples,
        max_samples=samples,
        min_time_s=0.0,
        timeout_s=600.0,
        half_width=0.0,
        quick=True,
    )


@functools.cache
def typical(forward: Callable[[], Any]) -> float:
    """Seconds of one forward, roughly."""
    return median(measured({"it": forward}, samples=20)["it"])


def median(data: Data) -> float:
    """The median of what was measured, in seconds."""
    return float(np.median(data.samples))


if __name__ == "__main__":
    raise SystemExit(main())
