"""What a newcomer wants to know first of every machine, by the analysis that the commands use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pack_files import Pack, PackFile

from ftax_micro.analysis.bounding.cases import CaseBounds
from ftax_micro.analysis.core_speed import CODE as SLOWED
from ftax_micro.analysis.ladder_view import LadderRow
from ftax_micro.analysis.latency_view import CaseSummary, summarise_cases, workload_sizes
from ftax_micro.analysis.sheet import Cell, Column, Row, Sheet, Unit
from ftax_micro.analysis.summary import Summary
from ftax_micro.records import POLLING, WORKER, Case
from ftax_micro.reporters.cells import interval_text, value_text
from ftax_micro.reporters.sheets import cell_text, render_markdown
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

NOT_MEASURED = "not measured"
# The least of the floor that has a meaning on every device.
_FLOOR_ROWS = ("submit", "to_start", "launch_sync")
_OPERATION = "torch_inference_mode"
# The paper's first language model and its first vision model (Table 1); others fill in for them.
_MODELS = ("bert_base", "resnet50")
_REFERENCE = "eager"
_LAYERS = (
    Column("machine", "machine"),
    Column("submit", "one launch (`submit`)"),
    Column("to_start", "until it runs (`to_start`)"),
    Column("launch_sync", "launch and wait (`launch_sync`)"),
    Column("operation", "an addition in PyTorch", Unit.SECONDS, interval=True),
    Column("ratio", "× the lowest rung", Unit.RATIO),
)
_CASES = (
    Column("machine", "machine"),
    Column("case", "model"),
    Column("eager", "in eager", Unit.SECONDS, interval=True),
    Column("tax", "framework tax", Unit.SECONDS, interval=True),
    Column("share", "share", Unit.SHARE),
    Column("best", "in its fastest mode"),
    Column("speedup", "× as fast", Unit.RATIO, interval=True),
    Column("best_tax", "tax there", Unit.SECONDS, interval=True),
)
_LATENCY = _CASES[2]


@dataclass(frozen=True)
class _Timed:
    """A case that has a latency, what explains it where that is known, and its file."""

    summary: CaseSummary
    found: CaseBounds | None
    source: str

    @property
    def case(self) -> Case:
        """What was measured."""
        return self.summary.case

    @property
    def tax(self) -> Estimate | None:
        """In seconds."""
        return self.found.bounds.tax if self.found and self.found.bounds else None

    @property
    def share(self) -> Estimate | None:
        """The tax's, of the latency."""
        return self.found.bounds.tax_share if self.found and self.found.bounds else None


def headline(packs: Sequence[Pack]) -> str:
    """Two tables, of layers and of models, a row or more for each machine."""
    layers = [row for pack in packs for row in _layers(pack)]
    cases = [row for pack in packs for row in _cases(pack)]
    sheets = [
        Sheet("layers", None, _LAYERS, tuple(layers)),
        Sheet("cases", None, _CASES, tuple(cases)),
    ]
    return render_markdown(sheets).rstrip("\n")


def _layers(pack: Pack) -> Iterator[Row]:
    """Floor and ladder of each device; of both the most thorough run."""
    for device in _devices(pack):
        floor, ladder = _best(pack, device, "measurements"), _best(pack, device, "rungs")
        rows = [row for row in floor.floor if row.device == device] if floor else []
        operation = _rung(ladder.ladder, device, _OPERATION) if ladder else None
        cells = [
            *(_headline(rows, name) for name in _FLOOR_ROWS),
            None if operation is None else operation.slope,
            None if operation is None else operation.ratio_to_floor,
        ]
        if any(cell is not None for cell in cells):
            lines = [*_disturbed(rows), *_polled(floor, device)]
            yield _told([f"{pack.short}, {device}", *cells], lines)


def _headline(rows: Sequence[Summary], name: str) -> str | None:
    """The first row of that name with a value, waiting as a default run does, untraced."""
    for row in rows:
        plain = row.setting.get("wait", "spin") == "spin" and "tracer" not in row.setting
        if row.name == name and plain and row.value is not None:
            return f"{value_text(row)} ({interval_text(row)})"
    return None


def _rung(rungs: Iterable[LadderRow], device: str, name: str) -> LadderRow | None:
    own = (row for row in rungs if row.summary.device == device and row.rung == name)
    return next((row for row in own if row.slope is not None), None)


def _disturbed(rows: Sequence[Summary]) -> list[str]:
    """What a reader of these rows must not miss."""
    slowed = [row for row in rows if any(each.code == SLOWED for each in row.verdicts)]
    if not slowed:
        return []
    most = max(row.slowdown or 1.0 for row in slowed)
    return [
        f"the launch floor there had busy neighbours: beside {len(slowed)} of its {len(rows)} "
        f"rows a core was up to {most:.2g} times slower than it can be"
    ]


def _polled(floor: PackFile | None, device: str) -> list[str]:
    """What there is to say of a hand-over that is not what others' is."""
    result = floor.result if floor else None
    rows = result.measurements if result else []
    own = [row for row in rows if row.device == device and row.name == "submit"]
    if all(row.facts.get(WORKER) != POLLING for row in own):
        return []
    return [
        "submit there is of a worker that polled the queue meanwhile and took its cache lines "
        "away, as a busy one does not: it compares with others' launch_rate"
    ]


def _cases(pack: Pack) -> Iterator[Row]:
    """For each device two models at the least size, those of the paper if they were measured."""
    every = list(_timed(pack))
    for device in dict.fromkeys(each.case.device for each in every):
        own = [each for each in every if each.case.device == device]
        names = dict.fromkeys(each.case.model for each in own)
        chosen = sorted(names, key=lambda name: name not in _MODELS)[: len(_MODELS)]
        for name in chosen:
            yield from _row(pack, [each for each in own if each.case.model == name])


def _timed(pack: Pack) -> Iterator[_Timed]:
    """Every case with a latency, those of the most thorough runs first."""
    for models in sorted(pack.question.models, key=lambda each: _rank(each.result)):
        bounds = {id(each.case): each for each in models.bounds}
        result = models.result
        for summary in summarise_cases(result.cases, result.plan.confidence):
            if summary.latency is not None and not summary.case.twin:
                yield _Timed(summary, bounds.get(id(summary.case)), models.source)


def _row(pack: Pack, cases: Sequence[_Timed]) -> Iterator[Row]:
    """One model: eager against its fastest mode, on a workload whose tax is known if there is one,
    and of these the smallest. Without eager there is no row.
    """
    eager = [each for each in cases if each.case.mode == _REFERENCE]
    if not eager:
        return
    chosen = min(eager, key=lambda each: (each.tax is None, *_sizes(each).values()))
    run = [each for each in cases if _workload(each) == _workload(chosen)]
    best = min(run, key=lambda each: each.summary.latency or (0.0,))
    case = chosen.case
    sizes = [f"{name} {size}" for name, size in _sizes(chosen).items()]
    cells: list[Cell] = [
        f"{pack.short}, {case.device}",
        ", ".join([case.model, *sizes, case.dtype]),
        *(chosen.summary.latency, chosen.tax, chosen.share),
        f"{best.case.mode}: {cell_text(best.summary.latency, _LATENCY)}",
        *(best.summary.speedup, best.tax),
    ]
    reasons = {
        f"{each.case.model} in {each.case.mode}": each.found.reason
        for each in (chosen, best)
        if each.tax is None and each.found is not None and each.found.reason
    }
    yield _told(cells, [f"{where}, tax: {reason}" for where, reason in reasons.items()])


def _workload(each: _Timed) -> object:
    case = each.case
    threads = case.facts.get("threads")
    return each.source, tuple(_sizes(each).items()), case.dtype, case.lengths, threads


def _sizes(each: _Timed) -> dict[str, int]:
    return workload_sizes(each.case)


def _told(cells: Sequence[Cell], lines: Sequence[str]) -> Row:
    """A row that says where nothing was measured, and what a reader of it must know."""
    where, *_ = cells
    told = tuple(NOT_MEASURED if cell is None else cell for cell in cells)
    return Row(told, lines=tuple(f"{where}: {line}" for line in lines))


def _devices(pack: Pack) -> list[str]:
    """The devices of floors and ladders, a GPU first."""
    results = [result for _, result in pack.question.results]
    found = {row.device for each in results for row in (*each.measurements, *each.rungs)}
    return sorted(found, key=lambda name: (name == "cpu", name))


def _best(pack: Pack, device: str, part: Literal["measurements", "rungs"]) -> PackFile | None:
    """The file whose result is the most thorough of those that have this of `device`."""
    found = [
        (_rank(file.result), file)
        for file in pack.files
        if file.result and any(row.device == device for row in getattr(file.result, part))
    ]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _rank(result: Result) -> tuple[bool, bool, int, bool]:
    """What comes first where several files tell the same: no quick run, a whole one, of several
    processes, and one of this alone.
    """
    alone = sum(map(bool, (result.measurements, result.rungs, result.cases))) == 1
    return result.plan.quick, not result.complete, -result.processes, not alone
