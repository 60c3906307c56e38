"""Where the numbers are from, whether to trust them, and what has none."""

from __future__ import annotations

from collections.abc import Iterator

from ftax_micro.analysis.bounding.rows import case_label
from ftax_micro.analysis.machine import device_models
from ftax_micro.analysis.report.layers import shown
from ftax_micro.analysis.report.material import Material, Materials
from ftax_micro.analysis.report.page import Section
from ftax_micro.analysis.sheet import Column, Row, Sheet
from ftax_micro.analysis.traces.machine_floor import recorded_on
from ftax_micro.trust import trust_warnings

_FACTS = (Column("fact", "fact"), Column("value", "value", folds=True))
_VERDICTS = (
    Column("source", "file"),
    Column("severity", "severity"),
    Column("code", "about"),
    Column("sentence", "what a reader has to know", folds=True),
)
_ABSENCES = (
    Column("source", "file"),
    Column("part", "part"),
    Column("name", "what", folds=True),
    Column("status", "status"),
    Column("reason", "reason", folds=True),
)
# Libraries whose version moves the numbers.
_PACKAGES = ("torch", "transformers", "onnxruntime", "onnxruntime-gpu", "triton", "numpy")


def about(found: Materials) -> tuple[str, ...]:
    """What a page is of, a line for each file: its devices, its host and its date."""
    traces = (f"{each.name}: a trace of {recorded_on(each.trace)}" for each in found.traces)
    return (*map(_about, found.results), *traces)


def _about(material: Material) -> str:
    result = material.result
    host = f" (host {result.environment.hostname})" if result.environment.hostname else ""
    models = ", ".join(device_models(result)) or "no device"
    part = "" if result.complete else f", incomplete: {result.incomplete_reason}"
    return f"{material.name}: {models}{host}, {result.created_at[:10]}{part}"


def machines(found: Materials) -> Section:
    """The machine of each result, and the verdicts on it and its rows."""
    sheets = [
        Sheet("machine", f"Machine of {each.name}", _FACTS, tuple(_facts(each)))
        for each in found.results
    ]
    several = len(found.results) > 1
    verdicts = [
        Row((each.name if several else None, *verdict))
        for each in found.results
        for verdict in _verdicts(each)
    ]
    lines = []
    if found.results and not verdicts:
        lines.append("Nothing was found that speaks against the numbers.")
    if verdicts:
        sheets.append(Sheet("trust", "Verdicts on environment and rows", _VERDICTS, (*verdicts,)))
    missing = None if found.results else "No result file: traces do not record their machine."
    heading = "Environment and trust"
    return Section("machines", "Machines", heading, lines, sheets=sheets, missing=missing)


def _facts(material: Material) -> Iterator[Row]:
    result = material.result
    environment, plan = result.environment, result.plan
    host, process = environment.host, environment.process
    known: list[tuple[str, object]] = [
        ("machine", environment.hostname),
        ("operating system", environment.os),
        ("kernel", environment.kernel),
        *((f"device {each.name}", each.model) for each in result.devices),
        ("logical cpus", host.logical_cpus),
        ("governor", ", ".join(host.governors or [])),
        ("hypervisor", host.hypervisor),
        ("container", host.container),
    ]
    for gpu in environment.gpus or []:
        known += [(f"GPU {gpu.index}", gpu.name), (f"GPU {gpu.index} driver", gpu.driver_version)]
    known += [("Python", process.python_version)]
    known += [(name, process.packages[name]) for name in _PACKAGES if name in process.packages]
    known += [
        ("ftax_micro", result.tool_version),
        ("command", " ".join(environment.command)),
        ("measured at", result.created_at),
        ("kind of result", result.kind),
        ("processes", result.processes),
        ("intervals", f"{plan.confidence * 100:.4g} %{', quick' if plan.quick else ''}"),
    ]
    yield from (Row((name, str(value))) for name, value in known if value not in (None, ""))


def _verdicts(material: Material) -> Iterator[tuple[str, str, str]]:
    result = material.result
    cuda = [device for device in result.devices if device.kind == "cuda"]
    uuids = [str(device.facts["uuid"]) for device in cuda if "uuid" in device.facts]
    if not result.complete:
        yield "warn", "incomplete", str(result.incomplete_reason)
    for warning in trust_warnings(result.environment, gpu_uuids=uuids):
        yield warning.severity, warning.code, warning.sentence
    for row in material.cases:
        for verdict in row.verdicts:
            where = f"{case_label(row.case)} {row.case.mode}"
            yield "row", verdict.code, f"{where}: {verdict.sentence}"


def absences(found: Materials) -> Section:
    """Every row and case that failed or was skipped, failed ones first, with its reason."""
    several = len(found.results) + len(found.traces) > 1
    every = [
        (status != "failed", Row((each.name if several else None, part, name, status, reason)))
        for each in found.results
        for part, name, status, reason in _absent(each)
    ]
    rows = tuple(row for _, row in sorted(every, key=lambda pair: pair[0]))
    lines = [] if rows else ["Nothing failed and nothing was skipped."]
    failed = sum(not skipped for skipped, _ in every)
    if rows:
        lines.append(f"{failed} failed, {len(rows) - failed} skipped.")
    sheets = [Sheet("absent", "What has no number, and why", _ABSENCES, rows)] if rows else []
    return Section("absent", "Failed", "Failed and skipped", lines, sheets=sheets)


def _absent(material: Material) -> Iterator[tuple[str, str, str, str]]:
    """Part, name, status and reason."""
    for part, rows in (("launch floor", material.floor.rows),):
        for row in rows:
            if row.status != "ok":
                yield (
                    part,
                    f"{row.device} {row.name} {shown(row)}".strip(),
                    row.status,
                    f"{row.reason}",
                )
    for rung in material.ladder.rows:
        if rung.summary.status != "ok":
            own = rung.summary
            yield (
                "ladder",
                f"{own.device} {own.name} {shown(own)}".strip(),
                own.status,
                f"{own.reason}",
            )
    for summary in material.cases:
        case = summary.case
        if case.status != "ok":
            twin = ", twin" if case.twin else ""
            yield "models", f"{case_label(case)} {case.mode}{twin}", case.status, f"{case.reason}"
    for peak in material.result.rooflines:
        if peak.status != "ok":
            where = f"{peak.device} {peak.operation} {peak.dtype}"
            yield "roofline", where, peak.status, str(peak.reason)
