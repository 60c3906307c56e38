"""Where each recorded sweep changes its regime: the crossover, and the law through its points."""

from __future__ import annotations

from ftax_micro.analysis.crossover.hinge import Crossover, SweepCrossover, crossovers
from ftax_micro.analysis.crossover.sweeps import Sweep
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit, named_source
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.analysis.views.reasons import Subject, reason_lines, traces_aside
from ftax_micro.units import format_seconds

COLUMNS = (
    Column("source", None, folds=True, spare=0),
    Column("model", "model", folds=True),
    Column("mode", "mode"),
    Column("device", "device", spare=2),
    Column("dtype", "dtype", spare=3),
    Column("axis", "over"),
    Column("points", "points", Unit.COUNT, spare=4),
    Column("law", "law", spare=1),
    Column("crossover", "crossover", Unit.RATIO, interval=True),
    Column("plateau", "plateau", Unit.SECONDS, spare=8),
    Column("intercept", "intercept", Unit.SECONDS, spare=6),
    Column("slope", "slope", Unit.SECONDS, spare=7),
    Column("worst_residual", "off the law", Unit.SHARE, spare=5),
    Column("reason", None),
)
NO_SWEEP = "no case was measured at two sizes of one axis (model_latency --batch 1..64 does that)"
LAWS = (
    "law: max is a plateau, then growth, as on a GPU; sum is a fixed time and growth, as on the "
    "cpu; slope is per one more on the axis"
)


def build(question: Question) -> Sheet:
    """A row for every sweep of every result."""
    found = [
        (models.source, each)
        for models in question.models
        for each in crossovers(models.result.cases, models.result.plan.confidence)
    ]
    subjects = [_subject(each.sweep, question.prefix(source)) for source, each in found]
    reasons = [
        (subject, f"no crossover, {each.crossover.reason}")
        for subject, (_, each) in zip(subjects, found, strict=True)
        if each.crossover.reason
    ]
    lines = [*([LAWS] if found else []), *reason_lines(reasons, subjects, "sweeps")]
    if question.models and not found:
        lines.append(NO_SWEEP)
    columns = (named_source(COLUMNS[0], [name for name, _ in found]), *COLUMNS[1:])
    rows = tuple(
        _row(source, subject, each) for subject, (source, each) in zip(subjects, found, strict=True)
    )
    return Sheet("crossovers", None, columns, rows, (*lines, *traces_aside(question)))


VIEW = View("where sweeps change their regime, by a law through their points", build)


def _row(source: str, subject: Subject, found: SweepCrossover) -> Row:
    sweep, crossover = found.sweep, found.crossover
    cells = (
        *(source, _model(sweep), sweep.mode, sweep.device, sweep.dtype, sweep.axis),
        *(crossover.points, crossover.law, crossover.x, crossover.plateau, crossover.intercept),
        *(crossover.slope, crossover.worst_residual, crossover.reason),
    )
    return Row(cells, crossover.fixed is not None, tuple(_sentences(subject, sweep, crossover)))


def _sentences(subject: Subject, sweep: Sweep, crossover: Crossover) -> list[str]:
    x, fixed, slope = crossover.x, crossover.fixed, crossover.slope
    if x is None or fixed is None or slope is None:
        return []
    end = x.value if x.low is None else x.low
    name = f"{subject.case} {subject.mode}"
    more = f"each one more takes {format_seconds(slope.value)}"
    if crossover.law == "max":
        stays = f"latency stays at {format_seconds(fixed.value)}"
        return [f"{name}: up to {sweep.axis} {end:.3g} {stays}, beyond the crossover {more}"]
    words = f"{format_seconds(fixed.value)} are fixed, {more}"
    return [f"{name}: {words}; up to {sweep.axis} {end:.3g} the fixed part is the larger one"]


def _model(sweep: Sweep) -> str:
    sizes = [f"{name} {size}" for name, size in sweep.sizes]
    return " ".join([sweep.model, *sizes, *([sweep.lengths] if sweep.lengths else [])])


def _subject(sweep: Sweep, prefix: str) -> Subject:
    case = f"{_model(sweep)} {sweep.device} {sweep.dtype} over {sweep.axis}"
    return Subject(f"{prefix}{case}", sweep.mode)
