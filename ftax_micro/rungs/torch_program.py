"""What the rungs in torch share: one-element tensors, a wait for the device, a quiet torch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ftax_micro.errors import Skip
from ftax_micro.measurement import slope_counts
from ftax_micro.rungs.chained import Chain
from ftax_micro.rungs.contract import Place, Program
from ftax_micro.rungs.packages import require

# Some tens of operations of some microseconds; fewer than a quarter of what a stream takes before a
# launch blocks.
COUNTS = slope_counts(16, 96)


def import_torch(place: Place) -> Any:
    """torch, ready for `place`. Errors: `Skip` where it is missing or cannot use the device."""
    torch = require("torch", "models", (2, 6))
    torch.set_num_threads(1)  # one element is not for sharing
    if place.kind == "cuda" and not torch.cuda.is_available():
        raise Skip(f"this torch ({torch.__version__}) cannot use a CUDA device here")
    return torch


def waiting(torch: Any, place: Place) -> Callable[[], object]:
    """What waits until `place` is idle."""
    if place.kind == "cpu":
        return lambda: None
    return functools.partial(torch.cuda.synchronize, place.index)


def python_program(place: Place, mode: str) -> Program:
    """Programs of torch.add called from Python, under the context manager `mode` of torch."""
    torch = import_torch(place)
    under = getattr(torch, mode)
    with under():
        one = torch.ones(1, device=place.device)
    chain = Chain(
        "x = add(x, one)",
        {"add": torch.add, "one": one},
        start=lambda: torch.zeros(1, device=place.device),
        before=waiting(torch, place),
    )

    def burst(count: int) -> float:
        with under():
            return chain.burst(count)

    def executed(count: int) -> int:
        with under():
            return round(float(chain.result(count)))

    return Program(burst, COUNTS, executed, {"torch": torch.__version__})
