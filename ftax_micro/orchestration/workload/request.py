"""What a workload is that was asked for, and who hears how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ftax_micro.models.request import ModelRequest
from ftax_micro.models.twin import twin_of

if TYPE_CHECKING:
    from ftax_micro.models.contract import Overrides, Shape

REFERENCE = "eager"


@dataclass(frozen=True)
class WorkloadRequest:
    """One workload as it was asked for.

    `lengths` names the distribution that sequences are padded from, `twin` asks for the model's
    zero-work twin in its place.
    """

    model: ModelRequest
    shape: Shape
    dtype: str = "fp32"
    device: str = "cpu"
    threads: int = 1
    lengths: str | None = None
    twin: bool = False

    @property
    def text(self) -> str:
        """The workload in a few words."""
        sizes = vars(self.shape).items()
        parts = [self.model.text, *(f"{name} {size}" for name, size in sizes if size is not None)]
        return " ".join([*parts, self.dtype, *(["twin"] if self.twin else [])])

    def made_of(self) -> tuple[Overrides, Shape]:
        """Settings and sizes that it is built with, its twin's where that is meant.

        Errors: `Skip` for a model that has no twin.
        """
        if not self.twin:
            return self.model.overrides, self.shape
        return twin_of(self.model, self.shape)


class LatencyProgress(Protocol):
    """What a front end may show while workloads are measured."""

    def workload_begins(self, text: str, index: int, total: int) -> None:
        """Workload `index` (from 0) of `total`."""

    def mode_begins(self, mode: str, phase: str) -> None:
        """A mode is about to be prepared, checked, timed or counted."""

    def block_ends(self, mode: str, samples: int) -> None:
        """A mode has so many samples by now."""

    def solo_ends(self, mode: str) -> None:
        """A mode was measured by itself."""

    def case_ends(self, mode: str) -> None:
        """A mode is done, skipped or failed."""
