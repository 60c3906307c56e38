"""Does a model take as long in the next run as in this one, mode by mode?

    python bench/latency_repeatability.py [--device cpu] [--model bert_tiny] [--mode …]
        [--patience SECONDS] [-o FILE]

Fresh runs of `model_latency` one after the other, all modes of a run by turns. Per mode the figure
is the largest median over the smallest, less one. Targets, on an otherwise idle machine: 5 % on the
cpu, 2 % on a GPU at equal clocks. A mode that cannot run here is a skipped row with its reason.

Whether a machine is otherwise idle a guest cannot see: so the target holds for medians over the
blocks beside which no core was slower than at its fastest in all runs, of those runs that have 20
samples in such blocks, and the spread of all medians stands beside it. Runs go on until each mode
has five such (--runs), or --most are done; with --patience each run waits for a quiet moment first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from common import attempt, finish, measured_by, message, observed, parser, spread, until_stopped
from quiet import Quiet, add_patience
from rows import Row

from ftax_micro import stats
from ftax_micro.analysis.core_speed import block_slowdowns, undisturbed_samples
from ftax_micro.records import Case

CPU_LIMIT, GPU_LIMIT = 0.05, 0.02
# So few samples have a median that is no accident.
LEAST = 20


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, metavar="N", help="runs (default: 5; 2)")
    options.add_argument(
        "--most", type=int, metavar="N", help="runs at most (default: three times --runs; --runs)"
    )
    options.add_argument("--device", default="cpu")
    options.add_argument("--model", default="bert_tiny")
    options.add_argument("--mode", default="eager,torchscript,onnxruntime")
    add_patience(options)
    args = options.parse_args(argv)
    runs = args.runs or (2 if args.quick else 5)
    chosen = ["--model", args.model, "--mode", args.mode, "--device", args.device]
    chosen += ["--quick"] if args.quick else ["--timeout", "15s"]
    most = args.most or (runs if args.quick else 3 * runs)
    quiet = Quiet(args.patience)
    rows = attempt(f"{runs} runs of {args.model}", lambda: repeated(runs, most, chosen, quiet))
    settings: dict[str, str | float | int] = {
        "runs": runs,
        "model": args.model,
        "device": args.device,
    }
    if args.patience:
        settings["patience_s"] = args.patience
    return finish("latency_repeatability", rows, args, settings)


def repeated(runs: int, most: int, chosen: Sequence[str], quiet: Quiet | None = None) -> list[Row]:
    """A row for each mode, when `runs` runs of each were undisturbed, or after `most`."""
    cases: list[Case] = []
    with until_stopped():
        for run in range(most):
            if quiet is not None:
                quiet.wait()
            message(f"run {run + 1}, for {runs} undisturbed")
            cases += cases_of(chosen)
            timed = [case for case in cases if case.latency is not None]
            values = [len(undisturbed(found)) for found in by_mode(timed).values()]
            if run + 1 >= runs and min(values, default=runs) >= runs:
                break
    if not cases:
        raise RuntimeError("stopped before a run was done")
    return [mode_row(mode, found) for mode, found in by_mode(cases).items()]


def by_mode(cases: Sequence[Case]) -> dict[str, list[tuple[Case, list[float]]]]:
    """The cases of each mode, each with how slowed its blocks were."""
    modes: dict[str, list[tuple[Case, list[float]]]] = {}
    for case, slowdowns in zip(cases, block_slowdowns(cases), strict=True):
        modes.setdefault(case.mode, []).append((case, slowdowns))
    return modes


def undisturbed(found: Sequence[tuple[Case, Sequence[float]]]) -> list[float]:
    """The medians of the runs that have enough samples in undisturbed blocks, over these."""
    quiet = [undisturbed_samples(case, slowdowns) for case, slowdowns in found if slowdowns]
    return [stats.median_interval(each).value for each in quiet if len(each) >= LEAST]


def mode_row(mode: str, found: Sequence[tuple[Case, Sequence[float]]]) -> Row:
    """The spread of one mode's medians, from each run's case and how slowed its blocks were;
    skipped where a run has no time, with that run's reason.
    """
    cases = [case for case, _ in found]
    absent = next((case for case in cases if case.latency is None), None)
    name = f"{cases[0].model} {mode}"
    if absent is not None:
        return Row(name=name, status="skipped", reason=absent.reason)
    medians = [stats.median_interval(case.latency.samples).value for case in cases if case.latency]
    limit = CPU_LIMIT if cases[0].device == "cpu" else GPU_LIMIT
    quiet = undisturbed(found)
    figures = []
    if len(quiet) > 1:
        what = f"spread of {len(quiet)} undisturbed"
        figures.append(observed(what, spread(quiet), "fraction", limit))
    figures.append(observed(f"of all {len(medians)}", spread(medians), "fraction"))
    return Row(name=name, samples={"ours": quiet or medians, "all": medians}, figures=figures)


def cases_of(chosen: Sequence[str]) -> list[Case]:
    """The cases of one run in fresh processes, which ends with 1 where a mode failed."""
    result, _ = measured_by("model_latency", *chosen, strict=False)
    return list(result.cases)


if __name__ == "__main__":
    sys.exit(main())
