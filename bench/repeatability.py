"""Do the floor and the ladder of the cpu give the same answer again, and in time?

    python bench/repeatability.py [--command NAME] [--runs N] [--full] [--quick]
        [--patience SECONDS] [-o FILE]

Fresh processes of `COMMAND --device cpu --quick` one after the other (--full: with the command's
default settings). Per row and setting the figure is the largest median over the smallest, less one.
Targets, on an otherwise idle machine: call_extension 5 %, submit 15 %, every rung of the ladder
5 %; a quick run within 5 s (ladder: 10 s), a default run within 60 s, all included.

Whether a machine is otherwise idle a guest cannot see: so runs go on until each row with a target
has ten values (--quick: three, and no default run) of undisturbed samples, beside which no core was
slower than at its fastest in all runs, and no two further apart than around one cache. Where few
such samples leave a value uncertain by more than a third of the spread that it may have, it does
not count. The target is for the first ten that do; the spread of all stands beside it. With
--patience each run waits for a quiet moment first.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import msgspec
import numpy as np
from common import attempt, finish, measured_by, message, observed, parser, spread, until_stopped
from quiet import Quiet, add_patience
from rows import Row

from ftax_micro import stats
from ftax_micro.analysis.summary import setting_text
from ftax_micro.analysis.undisturbed import undisturbed, works
from ftax_micro.records import Data, Measurement


@dataclass(frozen=True)
class Series:
    """A command that is run again and again: how far its rows may spread, how long it may take.

    Rows that `spreads` does not name may spread by `others`, as far as they like where that is
    None.
    """

    command: str
    quick_s: float
    default_s: float = 60.0
    spreads: Mapping[str, float] = field(default_factory=dict)
    others: float | None = None

    def limit_of(self, name: str) -> float | None:
        """The largest spread a row may have, where it has a target."""
        return self.spreads.get(name.partition(" ")[0], self.others)


FLOOR = Series("launch_floor", 5.0, spreads={"call_extension": 0.05, "submit": 0.15})
LADDER = Series("dispatch_ladder", 10.0, others=0.05)
SERIES = {each.command: each for each in (FLOOR, LADDER)}


@dataclass(frozen=True)
class Values:
    """A row's headlines, seconds: of all runs, and those of undisturbed samples that are certain.
    `rounds` are the latter in rounds of the fixed work that was timed beside them.
    """

    every: list[float] = field(default_factory=list)
    quiet: list[float] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)

    def at_one_clock(self) -> list[float]:
        """`quiet` as of one clock, the median run's; none where not all clocks are known."""
        if len(self.rounds) < len(self.quiet):
            return []
        round_s = median(self.quiet) / median(self.rounds)
        return [rounds * round_s for rounds in self.rounds]


# Times as many runs as values are wanted, unless --most says otherwise.
_MOST = 4
# A value's interval has to lie within this share of the spread that is allowed, to either side.
_CERTAIN = 1 / 3
_RESAMPLES = 200


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, metavar="N", help="quick runs (default: 10; 3)")
    options.add_argument(
        "--most", type=int, metavar="N", help="quick runs at most (default: four times --runs)"
    )
    options.add_argument(
        "--full", action="store_true", help="runs with default settings, not quick ones, throughout"
    )
    options.add_argument("--probe", metavar="NAME[,NAME]", help="only these rows")
    options.add_argument("--command", choices=SERIES, help="only this one (default: both)")
    add_patience(options)
    args = options.parse_args(argv)
    runs = args.runs or (3 if args.quick else 10)
    rows: list[Row] = []
    quiet = Quiet(args.patience)
    for series in [SERIES[args.command]] if args.command else SERIES.values():
        name = "--probe" if series is FLOOR else "--rung"
        chosen = [name, args.probe] if args.probe else []
        most = args.most or _MOST * runs
        what = functools.partial(
            repeated_runs, runs, chosen, series, most, quick=not args.full, quiet=quiet
        )
        rows += attempt(f"runs of {series.command}", what)
        if not args.quick and not args.full:
            what = functools.partial(default_run, chosen, series)
            rows += attempt(f"default run of {series.command}", what)
    settings: dict[str, str | float | int] = {"runs": runs}
    if args.patience:
        settings["patience_s"] = args.patience
    return finish("repeatability", rows, args, {**settings, "full": 1} if args.full else settings)


def repeated_runs(
    runs: int,
    chosen: Sequence[str],
    series: Series = FLOOR,
    most: int = _MOST,
    *,
    quick: bool = True,
    quiet: Quiet | None = None,
) -> list[Row]:
    """Spread of every row's headline over processes, and how long each of them took.

    Goes on until every row with a target has `runs` values of undisturbed samples, or `most` runs
    are done.
    """
    measured: list[Measurement] = []
    walls: list[float] = []
    how = [*(["--quick"] if quick else []), *chosen]
    with until_stopped():
        while len(walls) < most:
            if quiet is not None:
                quiet.wait()
            message(f"run {len(walls) + 1}, for {runs} undisturbed")
            found, wall_s = rows_of(series, *how)
            measured += [msgspec.structs.replace(each, process=len(walls)) for each in found]
            walls.append(wall_s)
            if len(walls) >= runs and all(
                len(values.quiet) >= runs
                for name, values in values_of(measured, series).items()
                if series.limit_of(name)
            ):
                break
    if not walls:
        raise RuntimeError("stopped before a run was done")
    rows = [
        spread_row(name, values, runs, series.limit_of(name))
        for name, values in values_of(measured, series).items()
    ]
    typical = observed(
        "median", float(np.median(walls)), "s", series.quick_s if quick else series.default_s
    )
    slowest = observed("slowest", max(walls), "s")
    wall = Row(
        name=f"wall time, {series.command}{' --quick' if quick else ''}",
        samples={"ours": walls},
        figures=[typical, slowest],
    )
    return [*rows, wall]


def values_of(measured: Sequence[Measurement], series: Series) -> dict[str, Values]:
    """By row. Where a run measures the row in several processes, its headline is their median;
    undisturbed, that of those which are, if they are most.
    """
    by_run: dict[tuple[str, int], list[tuple[float, float | None, float | None]]] = {}
    parts = zip(measured, undisturbed(measured), works(measured), strict=True)
    for each, quiet_data, work_s in parts:
        if each.data is None or each.data.unit != "s":
            continue
        name = f"{each.name} {setting_text(each.setting)}".strip()
        quiet_s = certain(quiet_data, _CERTAIN * (series.limit_of(name) or math.inf))
        found = headline(each.data).value, quiet_s, work_s
        by_run.setdefault((name, each.process), []).append(found)
    values: dict[str, Values] = {}
    for (name, _), found_in_run in by_run.items():
        row = values.setdefault(name, Values())
        row.every.append(median(value for value, _, _ in found_in_run))
        known = [(value, work_s) for _, value, work_s in found_in_run if value is not None]
        if 2 * len(known) > len(found_in_run):
            row.quiet.append(median(value for value, _ in known))
            rounds = [value / work_s for value, work_s in known if work_s]
            if len(rounds) == len(known):
                row.rounds.append(median(rounds))
    return values


def certain(data: Data | None, most: float) -> float | None:
    """The headline of `data` where half its interval is at most the share `most` of it."""
    if data is None:
        return None
    found = headline(data)
    sure = found.half_width is not None and found.half_width <= most
    return found.value if sure else None


def spread_row(name: str, values: Values, runs: int, limit: float | None = None) -> Row:
    """Largest over smallest, less one: of the first `runs` undisturbed, and of more."""
    every, quiet = values.every, values.quiet
    figures = []
    samples = {"ours": quiet or every, "all": every}
    if len(quiet) > 1:
        first = quiet[:runs]
        figures.append(
            observed(f"spread of {len(first)} undisturbed", spread(first), "fraction", limit)
        )
        at_one_clock = values.at_one_clock()[:runs]
        if at_one_clock:
            figures.append(observed("at one clock", spread(at_one_clock), "fraction"))
            samples["at one clock"] = at_one_clock
    if len(quiet) > runs:
        figures.append(observed(f"of all {len(quiet)} undisturbed", spread(quiet), "fraction"))
    figures.append(observed(f"of all {len(every)}", spread(every), "fraction"))
    return Row(name=name, samples=samples, figures=figures)


def default_run(chosen: Sequence[str], series: Series = FLOOR) -> Row:
    """One run with default settings."""
    message("one default run")
    _, wall_s = rows_of(series, *chosen)
    figures = [observed("took", wall_s, "s", series.default_s)]
    return Row(name=f"wall time, {series.command}", samples={"ours": [wall_s]}, figures=figures)


def rows_of(series: Series, *options: str) -> tuple[list[Measurement], float]:
    """What one run in a fresh process measured, and its wall time in seconds."""
    result, wall_s = measured_by(series.command, "--device", "cpu", *options)
    return [*result.measurements, *result.rungs], wall_s


def headline(data: Data) -> stats.Estimate:
    """The row's median or slope, seconds."""
    if data.estimate == "median":
        return stats.median_interval(data.samples)
    counts = [level.count for level in data.levels]
    levels = [level.samples_s for level in data.levels]
    line = stats.slope_interval(counts, levels, resamples=_RESAMPLES)
    return line.slope if data.estimate == "slope" else line.intercept


if __name__ == "__main__":
    sys.exit(main())
