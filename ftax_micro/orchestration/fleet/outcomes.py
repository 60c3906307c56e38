"""What became of every node, as rows with reasons, and the exit code of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ftax_micro.analysis.sheet import Column, Row, Sheet
from ftax_micro.errors import Interrupted, OutputError
from ftax_micro.records import Status

COLUMNS = (
    Column("node", "node"),
    Column("address", "address", spare=1),
    Column("node_id", None),
    Column("device", "device"),
    Column("status", "status"),
    Column("file", "file"),
    Column("reason", "reason", folds=True),
)
# What an exit code says of a measurement; of all of them where none measured anything.
_UNAVAILABLE, _USAGE = 3, 2


@dataclass(frozen=True)
class Outcome:
    """One measurement, or a node that came to none (`device` None).

    `reason`: why it is not ok or, where it is, what is to be known of it. `code`: what it ended
    with, where it ran.
    """

    node: str
    host: str
    address: str
    status: Status
    device: str | None = None
    file: str | None = None
    reason: str | None = None
    code: int | None = None


def fleet_sheet(outcomes: Sequence[Outcome], notes: Sequence[str] = ()) -> Sheet:
    """A row for each; `notes` are sentences below."""
    ordered = sorted(outcomes, key=lambda o: (o.host, o.address, len(o.file or ""), o.file or ""))
    rows = tuple(
        Row((o.host, o.address, o.node, o.device, o.status, o.file, o.reason)) for o in ordered
    )
    return Sheet("nodes", None, COLUMNS, rows, tuple(notes))


def exit_code(
    outcomes: Sequence[Outcome], pending: Interrupted | None, unwritten: OutputError | None
) -> int:
    """0 where all was measured and nothing in it failed; what all ended with where nothing was."""
    if unwritten:
        return unwritten.exit_code
    if pending:
        return pending.exit_code
    if all(each.status == "ok" and not each.code for each in outcomes):
        return 0
    codes = {each.code for each in outcomes}
    if codes in ({_UNAVAILABLE}, {_USAGE}):
        return next(iter(codes)) or 1
    return 1


def tally(outcomes: Sequence[Outcome]) -> str:
    """How many measurements there are, and how many there are not."""
    nodes = {each.node for each in outcomes}
    ok = sum(each.status == "ok" for each in outcomes)
    rest = [f"{sum(each.status == s for each in outcomes)} {s}" for s in ("failed", "skipped")]
    others = ", ".join(text for text in rest if not text.startswith("0 "))
    flawed = sum(each.status == "ok" and bool(each.code) for each in outcomes)
    but = f" ({flawed} with rows that failed)" if flawed else ""
    return f"{len(nodes)} nodes: {ok} measured{but}{', ' + others if others else ''}"
