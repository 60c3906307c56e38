"""Errors after which a context is of no use: said once, by the rows that they fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.records import Plan, Setting

# The driver's errors of which its manual says that the process is left in an inconsistent state and
# that all further work returns the same (CUDA Driver API, "Data types used by CUDA driver").
_PERSISTENT = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        *("ILLEGAL_ADDRESS", "LAUNCH_TIMEOUT", "ASSERT", "HARDWARE_STACK_ERROR"),
        *("ILLEGAL_INSTRUCTION", "MISALIGNED_ADDRESS", "INVALID_ADDRESS_SPACE", "INVALID_PC"),
        *("LAUNCH_FAILED", "ECC_UNCORRECTABLE", "NVLINK_UNCORRECTABLE", "CONTAINED"),
        *("MPS_CLIENT_TERMINATED", "TENSOR_MEMORY_LEAK"),
    )
)


class BrokenContext:
    """Remembers which persistent error failed a row.

    Whatever is given back afterwards fails with the same error: that is no further fact.
    """

    def __init__(self) -> None:
        self._name: str | None = None

    def watched(self, row: FloorRow) -> FloorRow:
        """`row`, its failures looked at."""
        return replace(row, measure=self._watching(row.measure))

    def tells(self, text: str) -> bool:
        """Whether `text` only repeats what a row has failed with."""
        return self._name is not None and f"{self._name} " in text

    def _watching(
        self, measure: Callable[[Setting, Plan], Outcome]
    ) -> Callable[[Setting, Plan], Outcome]:
        def watching(setting: Setting, plan: Plan) -> Outcome:
            try:
                return measure(setting, plan)
            except core().cuda.CudaError as error:
                if error.name in _PERSISTENT:
                    self._name = error.name
                raise

        return watching
