"""Straight-line programs in Python: so many operations in a row, each on the result before.

The problem: a loop around the operation would be measured with it, and it is not small beside one.
  wrong:  for _ in range(n): x = f(x, one)
  right:  a generated function with n statements, between two clock reads; the clock, the entry and
          what the first statement finds cold fall into the intercept
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any


class Chain:
    """Programs of `statement`, which may read and assign ``x`` and read what `names` gives.

    `start()` makes the first ``x``. `before()` runs ahead of the first clock read, such as a wait
    for the device.
    """

    def __init__(
        self,
        statement: str,
        names: Mapping[str, Any],
        start: Callable[[], Any] = lambda: None,
        before: Callable[[], object] = lambda: None,
    ) -> None:
        self._statement, self._names = statement, dict(names)
        self._start, self._before = start, before
        self._programs: dict[int, Callable[..., tuple[int, Any]]] = {}

    def burst(self, count: int) -> float:
        """Seconds of `count` statements in a row."""
        return self._run(count)[0] / 1e9

    def result(self, count: int) -> Any:
        """What ``x`` is after `count` statements."""
        return self._run(count)[1]

    def _run(self, count: int) -> tuple[int, Any]:
        program = self._programs.get(count)
        if program is None:
            program = self._programs[count] = self._compiled(count)
        x = self._start()
        self._before()
        return program(x, time.perf_counter_ns)

    def _compiled(self, count: int) -> Callable[..., tuple[int, Any]]:
        # What is given by name becomes local: a global would be looked up in a dictionary.
        given = ", ".join(f"{name}={name}" for name in self._names)
        lines = [
            f"def program(x, now{', ' if given else ''}{given}):",
            "    begin = now()",
            *[f"    {self._statement}"] * count,
            "    return now() - begin, x",
        ]
        namespace = dict(self._names)
        exec("\n".join(lines), namespace)
        program: Callable[..., tuple[int, Any]] = namespace["program"]
        return program
