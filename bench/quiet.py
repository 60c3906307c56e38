"""Waiting until the machine is quiet, as far as a guest can tell: by the speed of its cores.

What slows a run that begins in a quiet moment is seen by the run itself. This saves the runs that
would begin beside a busy neighbour, which for minutes may be all of them.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

from common import message

from ftax_micro import _core
from ftax_micro.analysis.core_speed import is_slowed

# Neighbours pause: several looks, apart, have to find all cores at their fastest.
_LOOKS, _APART_S = 3, 0.5
_FIRST_LOOKS = 10

Look = Callable[[], list[float]]


def add_patience(options: argparse.ArgumentParser) -> None:
    """The option that `Quiet` takes."""
    options.add_argument(
        "--patience",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="wait so long at most before each run, until no core is slowed (default: 0)",
    )


def cores_work() -> list[float]:
    """Seconds of the same work on each core that this process may use, all at the same time."""
    count = os.cpu_count() or 1
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(count)
    return _core.host.fixed_work(sorted(allowed))


class Quiet:
    """Waits before runs; remembers how fast each core has been at its fastest."""

    def __init__(
        self,
        patience_s: float,
        look: Look = cores_work,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._patience_s, self._look, self._sleep = patience_s, look, sleep
        self._fastest: list[float] = []

    def wait(self) -> bool:
        """Return as soon as the cores are quiet, or out of patience; whether they are quiet."""
        if self._patience_s <= 0:
            return False
        if not self._fastest:
            for _ in range(_FIRST_LOOKS):
                self._is_quiet()
        looks = int(self._patience_s / _APART_S)
        in_a_row = 0
        for number in range(looks):
            in_a_row = in_a_row + 1 if self._is_quiet() else 0
            if in_a_row == _LOOKS:
                return True
            if number == _LOOKS:
                message(f"waiting for quiet cores, at most {self._patience_s:g} s")
            self._sleep(_APART_S)
        return False

    def _is_quiet(self) -> bool:
        works = self._look()
        self._fastest = [*map(min, works, self._fastest or works)]
        slowest = max(map(float.__truediv__, works, self._fastest))
        return not is_slowed(slowest)
