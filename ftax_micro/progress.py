"""Progress on a terminal: one line that says what is measured and how far the run is."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from ftax_micro.records import Measurement, Setting

if TYPE_CHECKING:
    from typing_extensions import Self


class _Line:
    """A live line on stderr, and nothing at all where stderr is no terminal."""

    def __init__(self, total: int | None = None) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(file=sys.stderr),
            transient=True,
            disable=sys.stderr is None or not sys.stderr.isatty(),
            # Redrawing is work on a core that is being measured: twice a second is enough to see
            # life.
            refresh_per_second=2,
        )
        self._task = self._progress.add_task("starting", total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Takes the line away and shows the cursor again. Safe to call twice."""
        self._progress.stop()


class TerminalProgress(_Line):
    """Which row of a launch floor is measured, and how far the run is."""

    def row_begins(self, index: int, total: int, device: str, name: str, setting: Setting) -> None:
        """Shows what is measured now."""
        text = " ".join([device, name, *(f"{k}={v}" for k, v in setting.items())])
        self._progress.update(self._task, completed=index, total=total, description=text)

    def row_ends(self, _: Measurement) -> None:
        """Moves the bar."""
        self._progress.advance(self._task)

    def process_begins(self, index: int, total: int) -> None:
        """Shows which of the fresh processes runs now."""
        self._progress.update(
            self._task, completed=index, total=total, description=f"process {index + 1} of {total}"
        )


class LatencyLine(_Line):
    """Which mode of which model is made ready or timed; `total` cases."""

    def mode_begins(self, model: str, mode: str) -> None:
        """Shows what is made ready now."""
        self._progress.update(self._task, description=f"{model} {mode}: making ready")

    def block_ends(self, model: str, mode: str, samples: int) -> None:
        """Shows how many samples there are."""
        self._progress.update(self._task, description=f"{model} {mode}: {samples} samples")

    def case_ends(self) -> None:
        """Moves the bar."""
        self._progress.advance(self._task)
