"""Our timing of one empty extension function against timeit, pyperf and torch.utils.benchmark.

    python bench/peers.py [--rounds N] [--quick] [-o FILE]

Each round gives every tool the same wall time for one estimate with an interval, all included:
calibration, sampling, statistics, and pyperf's processes. The function is the extension's
METH_NOARGS one, `f()` from Python. Variants:

ours      the row call_extension of launch_floor: slope over bursts of unrolled calls
timeit    timeit.Timer: autorange, then repeats of that many loops
pyperf    `python -m pyperf timeit`, one worker process, its own calibration and warm-up
torch     torch.utils.benchmark.Timer.blocked_autorange

Peers report times per call of their loop, so the loop is in them. For all of them the estimate is
the median of their values and its interval the same order-statistic one. Targets: our estimate
lower, our interval (half its width over the estimate) narrower. pyperf and torch are optional.
Compared are the rounds beside which no core was slowed by a neighbour.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from common import attempt, finish, message, observed, parser, ratio, until_stopped
from rows import Row, skipped

from ftax_micro import stats
from ftax_micro.devices import open_device
from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import Device
from ftax_micro.records import Plan

# pyperf starts three interpreters (manager, calibration, worker) and warms up: time not spent on
# values. A value then takes 0.1 to 0.2 s, its default.
PYPERF_START_S = 1.8
PYPERF_VALUE_S = 0.16
# Of our wall time this share goes to sampling; the bootstrap takes the rest.
OUR_SAMPLING_SHARE = 0.5
OUR_MOST_SAMPLES = 40_000
TOLERATED = 1.1  # as in analysis.core_speed
# A sign test for six intervals together needs so many blocks.
LEAST_QUIET = 10
# Half-widths below the clock's resolution of the longest burst (1 ns in 300 calls of some 30 ns)
# are luck: nothing narrower is claimed.
NARROWEST = 1e-4

SETUP = "from ftax_micro import _core; f = _core.host.empty_noargs"


class Round(NamedTuple):
    """One tool's answer in one round; seconds per call. `half_width` is relative, `work_s` the time
    of a fixed piece of work on the slowest core before and after.
    """

    estimate_s: float
    half_width: float | None
    values: int
    wall_s: float
    work_s: float = 0.0


Tool = Callable[[float], Round]


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, metavar="N", help="rounds (default: 20; 2)")
    args = options.parse_args(argv)
    count, seconds = (args.rounds or 2, 0.3) if args.quick else (args.rounds or 20, 4.0)
    device = open_device("cpu")
    tools, missing = available_tools(device)
    rounds: dict[str, list[Round]] = {name: [] for name in tools}
    with until_stopped():
        for number in range(count):
            message(f"round {number + 1} of {count}")
            for name, answer in one_round(device, tools, seconds, turned=number % 2 == 0).items():
                rounds[name].append(answer)
    device.close()
    fastest_s = min(each.work_s for answers in rounds.values() for each in answers)
    rows: list[Row] = []
    for name in list(tools)[1:]:
        rows += attempt(f"against {name}", functools.partial(compare, rounds, name, fastest_s))
    rows += [skipped(f"against {name}", reason) for name, reason in missing.items()]
    return finish("peers", rows, args, {"rounds": len(rounds["ours"]), "round_s": seconds})


def one_round(
    device: Device, tools: dict[str, Tool], seconds: float, *, turned: bool
) -> dict[str, Round]:
    """Each tool once, the last first where the order is turned round."""
    answers = {}
    for name in list(tools)[:: -1 if turned else 1]:
        before, answer, after = works(device), tools[name](seconds), works(device)
        answers[name] = answer._replace(work_s=max(*before, *after))
    return answers


def available_tools(device: Device) -> tuple[dict[str, Tool], dict[str, str]]:
    """The tools that can run here, ours first, and why the others cannot."""
    function = core().host.empty_noargs
    tools: dict[str, Tool] = {
        "ours": lambda seconds: ours(device, seconds),
        "timeit": lambda seconds: by_timeit(function, seconds),
    }
    missing: dict[str, str] = {}
    if importlib.util.find_spec("pyperf"):
        tools["pyperf"] = by_pyperf
    else:
        missing["pyperf"] = "pyperf is not installed: pip install pyperf"
    try:
        from torch.utils.benchmark import Timer
    except ImportError as error:
        missing["torch.utils.benchmark"] = f"torch cannot be imported ({error})"
    else:
        timer = Timer(stmt="f()", globals={"f": function})
        tools["torch.utils.benchmark"] = lambda seconds: by_torch(timer, seconds)
    return tools, missing


def ours(device: Device, seconds: float) -> Round:
    """launch_floor's own row, told to sample for its share of the time."""
    begin_s = time.perf_counter()
    row = next(row for row in device.rows() if row.name == "call_extension")
    sampling_s = seconds * OUR_SAMPLING_SHARE
    plan = Plan(
        min_time_s=sampling_s,
        timeout_s=sampling_s,
        half_width=0.0,
        max_samples=OUR_MOST_SAMPLES,
    )
    levels = row.measure({"binding": "noargs"}, plan).data.levels
    line = stats.slope_interval([x.count for x in levels], [x.samples_s for x in levels])
    values = sum(len(level.samples_s) for level in levels)
    return Round(
        float(line.slope.value), line.slope.half_width, values, time.perf_counter() - begin_s
    )


def of_values(values: Sequence[float], begin_s: float) -> Round:
    """Median and interval of a tool's values, seconds per call."""
    found = stats.median_interval(values)
    return Round(found.value, found.half_width, len(values), time.perf_counter() - begin_s)


def by_timeit(function: Callable[[], object], seconds: float) -> Round:
    """The standard library's timer, repeated until the time is up."""
    begin_s = time.perf_counter()
    timer = timeit.Timer("f()", globals={"f": function})
    number, _ = timer.autorange()
    values = []
    while not values or time.perf_counter() - begin_s < seconds:
        values.append(timer.timeit(number) / number)
    return of_values(values, begin_s)


def by_pyperf(seconds: float) -> Round:
    """pyperf's own command, as its users run it; its values, read from its file."""
    begin_s = time.perf_counter()
    count = max(3, int((seconds - PYPERF_START_S) / PYPERF_VALUE_S))
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "pyperf.json"
        command = [sys.executable, "-m", "pyperf", "timeit", "--quiet", "--processes", "1"]
        command += ["--values", str(count), "--inherit-environ", "PATH,PYTHONPATH"]
        command += ["--output", str(output), "--setup", SETUP, "f()"]
        if seconds < PYPERF_START_S:
            command[5:5] = ["--min-time", "0.01"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        document = json.loads(output.read_text())
    values = [
        value
        for run in document["benchmarks"][0]["runs"]
        for value in run.get("values", [])  # the calibration run has none
    ]
    return of_values(values, begin_s)


def by_torch(timer: object, seconds: float) -> Round:
    """torch's timer, told to run for the same time."""
    begin_s = time.perf_counter()
    found = timer.blocked_autorange(min_run_time=seconds)  # type: ignore[attr-defined]
    return of_values(found.times, begin_s)


def works(device: Device) -> list[float]:
    """Seconds per round of the same work on the cores in use, now."""
    state = device.state()
    return list((state.fixed_work_s or {}).values()) if state else []


def compare(rounds: dict[str, list[Round]], name: str, fastest_s: float) -> list[Row]:
    """Two rows against one tool: the estimates, and the widths of their intervals.

    From the rounds in which no core was slowed beside either of the two; from all, where these are
    too few for an interval.
    """
    pairs = list(zip(rounds["ours"], rounds[name], strict=True))
    quiet = [pair for pair in pairs if max(a.work_s for a in pair) <= TOLERATED * fastest_s]
    used = quiet if len(quiet) >= LEAST_QUIET else pairs
    mine, theirs = [pair[0] for pair in used], [pair[1] for pair in used]
    comparisons = 2 * (len(rounds) - 1)  # all rows of the table hold together
    estimates = {"ours": [r.estimate_s for r in mine], name: [r.estimate_s for r in theirs]}
    facts: dict[str, str | float | int | None] = {"rounds": len(pairs), "undisturbed": len(quiet)}
    figures = [ratio(*estimates.values(), limit=1.0, comparisons=comparisons)]
    for label, answers in (("ours", mine), (name, theirs)):
        values = estimates[label]
        facts[f"wall_s, {label}"] = stats.median_interval([r.wall_s for r in answers]).value
        facts[f"values, {label}"] = answers[0].values
        figures.append(observed(f"over rounds, {label}", max(values) / min(values) - 1, "fraction"))
    return [
        Row(name=f"estimate against {name}", samples=estimates, figures=figures, facts=facts),
        compare_widths(mine, theirs, name, comparisons),
    ]


def compare_widths(
    mine: Sequence[Round], theirs: Sequence[Round], name: str, comparisons: int
) -> Row:
    """The relative half-widths of the intervals, over the rounds in which both tools have one.

    A tool has none where its values are too few, or too dependent on each other, for 95 %.
    """
    title = f"interval against {name}"
    pairs = [
        (max(a.half_width, NARROWEST), max(b.half_width, NARROWEST))
        for a, b in zip(mine, theirs, strict=True)
        if a.half_width is not None and b.half_width is not None
    ]
    if not pairs:
        return skipped(title, f"too few values for an interval of {name} in this time")
    widths = {"ours": [a for a, _ in pairs], name: [b for _, b in pairs]}
    figure = ratio(*widths.values(), limit=1.0, comparisons=comparisons)
    without: dict[str, str | float | int | None] = {
        "rounds without, ours": sum(r.half_width is None for r in mine),
        f"rounds without, {name}": sum(r.half_width is None for r in theirs),
    }
    return Row(name=title, unit="fraction", samples=widths, figures=[figure], facts=without)


if __name__ == "__main__":
    sys.exit(main())
