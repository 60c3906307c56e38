"""What a bench script records: rows of raw samples with figures and targets, and their file."""

from __future__ import annotations

from typing import Literal

import msgspec

from ftax_micro.errors import FtaxError

# History of the file format.
#   1  machine, settings, rows with raw samples and figures
SCHEMA_VERSION = 1

Unit = Literal["s", "ratio", "fraction", "count"]
Verdict = Literal["met", "not met", "undecided"]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One number derived from a row's samples. Its target, where it has one: at most `limit`.

    `low` and `high` are None where there are too few blocks for an interval, and equal to `value`
    where the value is an observation and not an estimate (a wall time).
    """

    what: str
    unit: Unit
    value: float
    low: float | None = None
    high: float | None = None
    limit: float | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison. `samples`: the values of every variant, block by block, ours first.

    Several figures with a limit are alternatives: one of them has to be met.
    """

    name: str
    status: Literal["ok", "skipped", "failed"] = "ok"
    reason: str | None = None
    unit: Unit = "s"
    samples: dict[str, list[float]] = {}
    figures: list[Figure] = []
    facts: dict[str, str | float | int | None] = {}


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one script measured on one machine."""

    bench: str
    created_at: str
    quick: bool
    machine: dict[str, str | float | int | list[str] | None]
    settings: dict[str, str | float | int]
    rows: list[Row]
    schema_version: int = SCHEMA_VERSION


def verdict(row: Row) -> Verdict | None:
    """Whether the row's target is met by the whole interval, by none of it, or undecided."""
    targets = [figure for figure in row.figures if figure.limit is not None]
    if not targets:
        return None
    found = {_figure_verdict(figure) for figure in targets}
    for best in ("met", "undecided"):
        if best in found:
            return best
    return "not met"


def _figure_verdict(figure: Figure) -> Verdict:
    assert figure.limit is not None
    if figure.low is None or figure.high is None:
        return "undecided"
    if figure.high <= figure.limit:
        return "met"
    return "not met" if figure.low > figure.limit else "undecided"


def skipped(name: str, reason: str) -> Row:
    """A row that could not run here."""
    return Row(name=name, status="skipped", reason=reason)


def failed(name: str, error: Exception) -> Row:
    """A row that ran and went wrong."""
    text = " ".join(str(error).split()) or "no message"
    reason = text if isinstance(error, FtaxError) else f"{type(error).__name__}: {text}"
    return Row(name=name, status="failed", reason=reason)


def encode(report: Report) -> bytes:
    """JSON with one row a line; samples to eight significant digits, beyond any clock's tick."""
    rows = [
        msgspec.structs.replace(
            row, samples={k: [float(f"{x:.8g}") for x in v] for k, v in row.samples.items()}
        )
        for row in report.rows
    ]
    head = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(report, rows=[])))
    lines = b",\n".join(b"    " + msgspec.json.encode(row) for row in rows)
    return head.replace(b'"rows": []', b'"rows": [\n' + lines + b"\n  ]", 1) + b"\n"


def decode(data: bytes) -> Report:
    """A report that a script wrote."""
    return msgspec.json.decode(data, type=Report)
