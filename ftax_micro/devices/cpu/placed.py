"""Rows that say which cores they ran on, and stay there."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.glances import Glance, Sight
from ftax_micro.records import Plan, Setting

CoresOf = Callable[[Setting], Sequence[int]]
# The fact by which a row's cores are known to whoever judges how fast they were.
CORES = "cores"


def own_glance(kept_on: int) -> Glance:
    """How fast the core is that the calling thread is kept on, at this moment."""
    name = str(kept_on)
    return lambda: Sight({name: core().host.glance()})


def placed(row: FloorRow, cores_of: CoresOf, *, pinned: bool = False) -> FloorRow:
    """`row` with its cores among its facts; `pinned` keeps the calling thread on the first."""
    measure = functools.partial(_measure, row.measure, cores_of, pinned)
    return replace(row, measure=measure)


def _measure(
    measure: Callable[[Setting, Plan], Outcome],
    cores_of: CoresOf,
    pinned: bool,
    setting: Setting,
    plan: Plan,
) -> Outcome:
    cores = [number for number in cores_of(setting) if number >= 0]
    with _kept_on(cores[0]) if pinned and cores else contextlib.nullcontext():
        outcome = measure(setting, plan)
    if not cores:
        return outcome
    return replace(outcome, facts={**outcome.facts, CORES: ",".join(map(str, cores))})


@contextlib.contextmanager
def _kept_on(number: int) -> Iterator[None]:
    """The calling thread on core `number`, where the system has such a call and allows it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    former = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {number})
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, former)
