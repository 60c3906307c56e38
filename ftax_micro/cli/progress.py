"""Progress on a terminal: one line that says what is measured and how far the run is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ftax_micro.records import Measurement, Setting

if TYPE_CHECKING:
    from rich.progress import TaskID
    from typing_extensions import Self

    from ftax_micro.clusters.contract import Node

# Lines below the first, so that a terminal holds them.
_MOST_NODES = 16


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


class FilesLine(_Line):
    """How many of the files are read; `total` of them."""

    def __init__(self, total: int) -> None:
        super().__init__(total)
        self._progress.update(self._task, description="reading")

    def file_ends(self) -> None:
        """Moves the bar."""
        self._progress.advance(self._task)


class LatencyLine(_Line):
    """Which mode of which workload is made ready or timed, and how long the rest may take; `total`
    cases.
    """

    def __init__(self, total: int) -> None:
        super().__init__(total)
        self._total, self._done = total, 0.0
        self._begin_s = time.monotonic()
        self._alone: set[str] = set()
        self._workload = ""

    def workload_begins(self, text: str, index: int, total: int) -> None:
        """Shows which workload it is."""
        self._workload = f"{index + 1} of {total}: {text}"
        self._alone = set()
        self._say("starting")

    def mode_begins(self, mode: str, phase: str) -> None:
        """Shows what is done to a mode."""
        self._say(f"{mode}: {phase}")

    def block_ends(self, mode: str, samples: int) -> None:
        """Shows how many samples there are."""
        self._say(f"{mode}: {samples} samples")

    def solo_ends(self, mode: str) -> None:
        """A case of which half is done."""
        self._alone.add(mode)
        self._done += 0.5

    def case_ends(self, mode: str) -> None:
        """Moves the bar."""
        self._done += 0.5 if mode in self._alone else 1.0
        self._progress.advance(self._task)

    def left_s(self) -> float | None:
        """Seconds that the rest takes, if it is like what is done; None at the beginning."""
        if not self._done:
            return None
        elapsed_s = time.monotonic() - self._begin_s
        return elapsed_s / self._done * (self._total - self._done)

    def _say(self, what: str) -> None:
        left_s = self.left_s()
        left = "" if left_s is None else f" ({_about(left_s)} left)"
        self._progress.update(self._task, description=f"{self._workload} {what}{left}")


class FleetLine(_Line):
    """How many of the nodes are ready, and below that what each of the first ones does; what is
    saved is said above, on a terminal or not.
    """

    def __init__(self, total: int, say: Callable[[str], None]) -> None:
        super().__init__(total)
        self._say = say
        self._lines: dict[str, TaskID] = {}
        self._progress.update(self._task, description="nodes")

    def node_begins(self, node: Node) -> None:
        """A line for the node, where there is room."""
        if len(self._lines) < _MOST_NODES:
            self._lines[node.id] = self._progress.add_task(_of_node(node, "waiting"), total=None)

    def node_does(self, node: Node, what: str) -> None:
        """Shows what it does now."""
        if node.id in self._lines:
            self._progress.update(self._lines[node.id], description=_of_node(node, what))

    def node_ends(self, node: Node) -> None:
        """Makes room, and moves the bar."""
        if node.id in self._lines:
            self._progress.remove_task(self._lines.pop(node.id))
        self._progress.advance(self._task)

    def saved(self, node: Node, device: str, name: str) -> None:
        """Says which file it is."""
        self._say(f"saved {name}: {device} of {node.host}")


def _of_node(node: Node, what: str) -> str:
    return f"  {node.host} {what}"


def _about(seconds: float) -> str:
    """A time that nobody should take for exact."""
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"about {max(1, round(seconds))} s"
    return f"about {minutes} min" if minutes < 120 else f"about {round(minutes / 60)} h"
