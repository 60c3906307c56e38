"""numpy.add, the smallest array operation that Python has."""

from __future__ import annotations

import numpy as np

from ftax_micro.measurement import slope_counts
from ftax_micro.rungs.chained import Chain
from ftax_micro.rungs.contract import CALL_PROCESSES, Place, Program, Rung

# Half a microsecond each.
_COUNTS = slope_counts(64, 384)


def _make(_place: Place, _arguments: int) -> Program:
    chain = Chain(
        "x = add(x, one)",
        {"add": np.add, "one": np.ones(1, np.float32)},
        start=lambda: np.zeros(1, np.float32),
    )

    def executed(count: int) -> int:
        return round(float(chain.result(count)[0]))

    return Program(chain.burst, _COUNTS, executed, {"numpy": np.__version__})


RUNG = Rung(
    name="numpy_ufunc",
    summary=(
        "Python calls numpy.add on one-element arrays, which looks up the loop for their types and "
        "allocates an array for the result. It is what an eager operation costs in a library "
        "without autograd and without devices."
    ),
    source="https://numpy.org/doc/stable/reference/ufuncs.html",
    operation={"cpu": "add"},
    below={"cpu": "extension"},
    make=_make,
    processes=CALL_PROCESSES,
)
