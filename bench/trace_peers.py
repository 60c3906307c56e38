"""Reading and analysing a PyTorch trace, against Holistic Trace Analysis (HTA) on the same file.

    python bench/trace_peers.py [--trace FILE] [--large] [--quick] [-o FILE]

Each run is a process of its own that reads the file and breaks its time down; ours and HTA's take
turns. What counts is from the file to the breakdown, imports not included:

ours    the trace, correlation, and the figures of the whole and of each step
HTA     `TraceAnalysis`, `get_temporal_breakdown` and `get_idle_time_breakdown`

time       ratio of wall times; target at most 0.1. CPU times beside it, without a target: they
           tell on a busy machine what wall times would be on an idle one
memory     ratio of the peaks of the processes, imports included; target at most a third
figures    busy time of the device, number of launches and sum of the positive launch delays, of
           the operations that both count; target at most 0.1 % apart. HTA leaves out the last
           profiler step, so that ours are asked for the time before it. Graph launches, which HTA
           loses, are left out. No such row where the two mean different things: several devices,
           which HTA adds up; synchronisations (`cuda_sync`), which it takes for busy time
linear     our time per event in the long file over that in the short one; target at most 1.1

The trace is one of 100,000 events that `trace_texts.py` synthesises, or FILE, and that repeated to
a million events. --large adds ten million, by us alone: memory at most 6 GiB, and CPU time per
event. Without HTA (pip install HolisticTraceAnalysis) there is a skipped row for each comparison.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common import attempt, finish, message, observed, parser, ratio
from rows import Row, Unit, skipped
from trace_texts import EVENTS, count_events, write_repeated, write_synthesised

PEER = "HTA"
MILLION = 1_000_000
LARGEST_BYTES = 6 << 30
Runs = dict[str, list[dict[str, Any]]]


def main(argv: Sequence[str] | None = None) -> int:
    made = parser(__doc__)
    made.add_argument("--trace", type=Path, metavar="FILE", help="instead of the synthesised one")
    made.add_argument("--large", action="store_true", help="ten million events, by us alone")
    made.add_argument("--blocks", type=int, metavar="N", help="runs of each (default: 8, 6 long)")
    made.add_argument("--measure", nargs=2, metavar=("WHO", "FILE"), help="one run: for itself")
    args = made.parse_args(argv)
    if args.measure:
        who, file = args.measure
        breakdown = (ours if who == "ours" else theirs)(file)
        print(json.dumps(breakdown()))
        return 0
    short_blocks, long_blocks = (2, 2) if args.quick else (args.blocks or 8, args.blocks or 6)
    with tempfile.TemporaryDirectory() as folder:
        short, long = files(Path(folder), args)
        sizes = {each: count_events(each) for each in (short, long)}
        rows = comparison(short, sizes[short], short_blocks)
        rows += comparison(long, sizes[long], long_blocks)
        rows += attempt("time linear in events", lambda: linear(sizes, 2 * long_blocks))
        if args.large:
            rows += attempt("large", lambda: large(long, sizes[long], Path(folder)))
    settings = {"trace": args.trace.name if args.trace else "synthesised", "blocks": short_blocks}
    return finish("trace_peers", rows, args, settings)


def files(folder: Path, args: Any) -> tuple[Path, Path]:
    """The short trace and the long one."""
    short, long = args.trace, folder / "long.json.gz"
    if short is None:
        short = folder / "short.json.gz"
        message("synthesising a trace")
        write_synthesised(short, 4_000 if args.quick else EVENTS)
    events = count_events(short)
    times = 3 if args.quick else max(2, round(MILLION / events))
    message(f"repeating its {events:,} events {times} times")
    write_repeated(short, long, times)
    return short, long


def ours(file: str) -> Callable[[], dict[str, float]]:
    """Our breakdown, imports done, that of the extension too."""
    from ftax_micro.analysis.traces.compiled import compiled_scan
    from ftax_micro.analysis.traces.correlation import correlate
    from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
    from ftax_micro.analysis.traces.steps import analyse_steps
    from ftax_micro.analysis.traces.windows import Window, profiler_steps, whole

    compiled_scan()

    def run() -> dict[str, float]:
        meter = _Meter()
        trace = read_pytorch_trace(file)
        correlation = correlate(trace)
        windows = profiler_steps(trace)
        all_steps = analyse_steps(trace, [*whole(trace), *windows], correlation)
        found = meter.read()
        if len(trace.device_ids) == 1:
            # What HTA counts, which is everything if there are no two steps.
            counted = all_steps[0]
            if len(windows) > 1:
                before = Window("before the last step", 0, windows[-1].begin_ns)
                (counted,) = analyse_steps(trace, [before], correlation)
            delays = counted.launch_delays_s
            launches = {k: n for k, n in counted.launches.items() if k != "graph launch"}
            found["busy_s"] = counted.busy.value if counted.busy else 0.0
            found["launches"] = sum(launches.values())
            if len(launches) == len(counted.launches):
                found["delay_s"] = float(delays[delays > 0].sum())
        return found

    return run


def theirs(file: str) -> Callable[[], dict[str, float]]:
    """HTA's breakdown, imports done."""
    import warnings

    warnings.simplefilter("ignore")
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # or it moves begins and ends to whole microseconds
    from hta.trace_analysis import TraceAnalysis

    def run() -> dict[str, float]:
        meter = _Meter()
        analysis = TraceAnalysis(trace_files={0: file}, trace_dir="")
        times = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
        found = meter.read()
        busy_us = times["compute_time(us)"] + times["non_compute_time(us)"]
        launches = analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
        waits = analysis.t.symbol_table.get_sym_id_map().get("cuda_sync")
        if not (analysis.t.get_trace(0)["cat"] == waits).any():  # it counts them as work
            found["busy_s"] = float(busy_us) * 1e-6
        found["launches"] = len(launches)
        found["delay_s"] = float(launches["launch_delay"].sum()) * 1e-6
        return found

    return run


class _Meter:
    """Wall and CPU time since it was made, and the process's peak of memory so far."""

    def __init__(self) -> None:
        self._wall_s, self._cpu_s = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        return {
            "wall_s": time.perf_counter() - self._wall_s,
            "cpu_s": time.process_time() - self._cpu_s,
            "peak_bytes": peak_bytes(),
        }


def peak_bytes() -> int:
    """Of this process. `ru_maxrss` would begin with what the process was that started it."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) << 10
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak << 10


def run(who: str, file: Path) -> dict[str, Any]:
    """One run in a process of its own."""
    command = [sys.executable, __file__, "--measure", who, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{who} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def comparison(file: Path, events: int, blocks: int) -> list[Row]:
    """The rows of one file."""
    label = f"{events:,} events"
    if importlib.util.find_spec("hta") is None:
        return [skipped(f"{label} against {PEER}", "HolisticTraceAnalysis is not installed")]

    def measure() -> list[Row]:
        runs: Runs = {"ours": [], PEER: []}
        for block in range(blocks):
            message(f"{label}, block {block + 1} of {blocks}")
            for who in list(runs)[:: -1 if block % 2 else 1]:
                runs[who].append(run(who, file))
        return [
            compared(f"time from file to breakdown, {label}", "s", runs, "wall_s", limit=0.1),
            compared(f"CPU time of it, {label}", "s", runs, "cpu_s"),
            compared(f"peak memory, bytes, {label}", "count", runs, "peak_bytes", limit=1 / 3),
            *equal(label, runs),
        ]

    return attempt(f"{label} against {PEER}", measure)


def compared(name: str, unit: Unit, runs: Runs, what: str, limit: float | None = None) -> Row:
    """The ratio of one measured value."""
    samples = {who: [float(each[what]) for each in found] for who, found in runs.items()}
    return Row(
        name=name, unit=unit, samples=samples, figures=[ratio(*samples.values(), limit=limit)]
    )


def equal(label: str, runs: Runs) -> list[Row]:
    """Whether both say the same; one observation each, since every run repeats it."""
    wanted: tuple[tuple[str, str, Unit], ...] = (
        ("busy time", "busy_s", "s"),
        ("launches", "launches", "count"),
        ("positive launch delays", "delay_s", "s"),
    )
    rows = []
    for name, what, unit in wanted:
        first = {who: found[0].get(what) for who, found in runs.items()}
        if not first["ours"] or not first[PEER]:
            rows.append(skipped(f"{name}, {label}", f"not both count it: {first}"))
            continue
        apart = abs(first["ours"] / first[PEER] - 1)
        rows.append(
            Row(
                name=f"{name}, {label}",
                unit=unit,
                samples={who: [float(value)] for who, value in first.items()},
                figures=[observed("apart", apart, "fraction", limit=1e-3)],
            )
        )
    return rows


def linear(sizes: dict[Path, int], blocks: int) -> Row:
    """Our time per event in the long file over that in the short one."""
    (short, few), (long, many) = sorted(sizes.items(), key=lambda each: each[1])
    samples: dict[str, list[float]] = {f"{many:,} events": [], f"{few:,} events": []}
    for block in range(blocks):
        message(f"linearity, block {block + 1} of {blocks}")
        for file, events in ((long, many), (short, few))[:: -1 if block % 2 else 1]:
            samples[f"{events:,} events"].append(run("ours", file)["wall_s"] / events)
    return Row(
        name="time per event", samples=samples, figures=[ratio(*samples.values(), limit=1.1)]
    )


def large(long: Path, events: int, folder: Path) -> list[Row]:
    """Ten of the long file, by us alone: an observation."""
    file = folder / "large.json.gz"
    message(f"repeating {events:,} events ten times")
    write_repeated(long, file, 10)
    message("reading them")
    found, before = run("ours", file), run("ours", long)
    many = count_events(file)
    share = found["peak_bytes"] / LARGEST_BYTES
    # Of one run each, so that what else the machine does would count as ours.
    per_event = {
        f"{many:,} events": [found["cpu_s"] / many],
        f"{events:,} events": [before["cpu_s"] / events],
    }
    return [
        Row(
            name=f"peak memory, bytes, {many:,} events",
            unit="count",
            samples={"ours": [float(found["peak_bytes"])]},
            figures=[observed("of 6 GiB", share, "fraction", limit=1.0)],
            facts={"wall_s": found["wall_s"], "cpu_s": found["cpu_s"]},
        ),
        Row(
            name=f"CPU time per event, {many:,} events",
            samples=per_event,
            facts={"wall_s": before["wall_s"], "cpu_s": before["cpu_s"]},
            figures=[observed("over that of the long one", *_quotient(per_event), limit=1.1)],
        ),
    ]


def _quotient(samples: dict[str, list[float]]) -> tuple[float, Unit]:
    (first,), (second,) = samples.values()
    return first / second, "ratio"


if __name__ == "__main__":
    raise SystemExit(main())
