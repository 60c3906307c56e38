"""The index of bench/results: of each machine the facts, of each file what it holds."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from pack_files import Pack, PackFile

from ftax_micro.analysis.core_speed import CODE as SLOWED
from ftax_micro.analysis.latency_view import workload_sizes
from ftax_micro.records import Case, Measurement
from ftax_micro.reporters.markdown import bullet_list, markdown_table

# More models than these are counted, not named.
_MOST_NAMES = 4
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_FILE_HEADINGS = ("file", "holds", "rows", "made by", "size", "shown by")


def index(packs: Sequence[Pack]) -> str:
    """All packs as markdown, a part each."""
    return "\n\n".join(_part(pack) for pack in packs)


def _part(pack: Pack) -> str:
    """One machine: its files, its facts, and what speaks against the numbers."""
    facts = markdown_table(("fact", "value"), list(_facts(pack)))
    parts = [f"## {pack.title}", _files(pack.files), facts]
    warnings = list(_warnings(pack.files))
    if warnings:
        parts += ["What the runs themselves said against their numbers:", bullet_list(warnings)]
    return "\n\n".join(parts)


def _files(files: Sequence[PackFile]) -> str:
    """The table of files; what the names of files and commands are is code, and not escaped."""
    lines = ["| " + " | ".join(_FILE_HEADINGS) + " |", "|" + " --- |" * len(_FILE_HEADINGS)]
    for file in files:
        cells = (_link(file), _holds(file), _rows(file), _made_by(file), _size(file), _shown(file))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _link(file: PackFile) -> str:
    table = file.path.with_suffix(".md")
    more = f", [as a table]({table.name})" if table.exists() else ""
    return f"[{file.what}]({file.path.name}){more}"


def _holds(file: PackFile) -> str:
    if file.result is None:
        names = dict.fromkeys(report.bench for report in file.reports)
        return f"benches of ours: {', '.join(f'`{name}`' for name in names)}"
    result = file.result
    parts = [_measured("launch floor", result.measurements)]
    parts += [_measured("dispatch ladder", result.rungs)]
    parts += [*_models([case for case in result.cases if not case.twin])]
    parts += ["zero-work twins"] if any(case.twin for case in result.cases) else []
    parts += ["measured peaks"] if result.rooflines else []
    parts += [f"{result.processes} processes"] if result.processes > 1 else []
    parts += ["quick"] if result.plan.quick else []
    parts += [] if result.complete else [f"incomplete: {result.incomplete_reason}"]
    return "; ".join(part for part in parts if part)


def _measured(what: str, rows: Sequence[Measurement]) -> str:
    """On which devices; those alone on which any row could run, if there are any."""
    ok = {row.device for row in rows if row.status == "ok"}
    names = sorted(ok or {row.device for row in rows})
    return f"{what} of {', '.join(names)}" if names else ""


def _models(cases: Sequence[Case]) -> Iterator[str]:
    """Which models, modes, dtypes and sizes; those alone that ran, if any did."""
    cases = [case for case in cases if case.status == "ok"] or cases
    if not cases:
        return
    yield _named("models", [case.model for case in cases])
    yield _named("modes", [case.mode for case in cases])
    yield ", ".join(dict.fromkeys(case.device for case in cases))
    yield ", ".join(dict.fromkeys(case.dtype for case in cases))
    sizes: dict[str, set[int]] = {}
    for case in cases:
        for name, size in workload_sizes(case).items():
            sizes.setdefault(name, set()).add(size)
    yield ", ".join(f"{name} {_range(found)}" for name, found in sizes.items())


def _named(kind: str, names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return f"{len(distinct)} {kind}" if len(distinct) > _MOST_NAMES else ", ".join(distinct)


def _range(sizes: Iterable[int]) -> str:
    least, most = min(sizes), max(sizes)
    return f"{least}" if least == most else f"{least} … {most}"


def _rows(file: PackFile) -> str:
    if file.result is None:
        rows = Counter(row.status for report in file.reports for row in report.rows)
        return ", ".join(f"{count} {status}" for status, count in rows.most_common())
    result = file.result
    every = chain(result.measurements, result.rungs, result.cases, result.rooflines)
    counts = Counter(row.status for row in every)
    told = [f"{count:,} {status}" for status, count in counts.most_common()]
    # Of floor and ladder those beside which a core was slower than it can be.
    rows = [*file.floor, *(rung.summary for rung in file.ladder)]
    slowed = sum(any(each.code == SLOWED for each in row.verdicts) for row in rows)
    return ", ".join(told) + (f"; {slowed} of them beside a busy neighbour" if slowed else "")


def _made_by(file: PackFile) -> str:
    if file.result is not None:
        return _code(shlex.join(file.result.environment.command))
    if len(file.reports) > 1:
        return "each by " + _code("python bench/NAME.py")
    (report,) = file.reports
    quick = " --quick" if report.quick else ""
    settings = ", ".join(f"{name} {value}" for name, value in report.settings.items())
    return _code(f"python bench/{report.bench}.py{quick}") + (f", {settings}" if settings else "")


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _size(file: PackFile) -> str:
    size = file.path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"


def _shown(file: PackFile) -> str:
    """The command that shows it. Reports go to no command: their table is in bench/README.md."""
    if file.result is None:
        return "any reader of JSON; `bench/rows.py` has the types"
    result, name = file.result, file.path.name
    show = "python -m ftax_micro"
    if result.cases and result.rungs:  # the main job has all of them
        return _code(f"{show} --show {name}")
    if any(case.twin or case.device_pass for case in result.cases):
        return _code(f"{show}.bound_analysis {name}")
    if len({case.model for case in result.cases}) > _MOST_NAMES:
        return _code(f"{show}.{result.kind} --show {name} --format matrix")
    return _code(f"{show}.{result.kind} --show {name}")


def _facts(pack: Pack) -> Iterator[tuple[str, str]]:
    """Every fact once; where files do not agree, each value with those that have it."""
    days = sorted(chain.from_iterable(file.dates for file in pack.files))
    yield "measured", days[0] if days[0] == days[-1] else f"{days[0]} … {days[-1]}"
    yield "gpu", ", ".join(pack.gpus) or "none"
    # In the order of a result: it knows more of them than a bench report does.
    files = sorted(pack.files, key=lambda file: file.result is None)
    for name in dict.fromkeys(chain.from_iterable(file.facts for file in files)):
        told = {f.what: f.facts[name] for f in pack.files if f.facts.get(name)}
        if told and name != "gpu":
            yield name, _agreed(told)


def _warnings(files: Sequence[PackFile]) -> Iterator[str]:
    """Every warning once, with its files; of those that differ in numbers alone the worst."""
    alike: dict[str, list[tuple[list[float], str, str]]] = {}
    for file in files:
        for sentence in file.warnings:
            numbers = [float(number) for number in _NUMBER.findall(sentence)]
            told = alike.setdefault(_NUMBER.sub("#", sentence), [])
            told.append((numbers, sentence, file.what))
    for told in alike.values():
        names = ", ".join(dict.fromkeys(name for _, _, name in told))
        several = len({sentence for _, sentence, _ in told})
        worst = f"; the worst of {several}" if several > 1 else ""
        yield f"{max(told)[1]} ({names}{worst})"


def _agreed(told: Mapping[str, str]) -> str:
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    names: dict[str, list[str]] = {}
    for name, value in told.items():
        names.setdefault(value, []).append(name)
    return ", ".join(f"{value} ({', '.join(of)})" for value, of in names.items())
