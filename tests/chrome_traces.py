"""What readers of Chrome's trace event format ask of a file, checked event by event."""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from typing import Any

Event = dict[str, Any]
_ESCAPED = re.compile(rb"(?<!\\)(?:\\\\)*\\u")
_KEYS = {
    "X": {"ph", "cat", "name", "pid", "tid", "ts", "dur"},
    "M": {"ph", "name", "pid", "tid", "args"},
    "s": {"ph", "cat", "name", "id", "pid", "tid", "ts"},
    "f": {"ph", "cat", "name", "id", "pid", "tid", "ts", "bp"},
    "C": {"ph", "cat", "name", "pid", "ts", "args"},
}


def ns(microseconds: float) -> int:
    """As Perfetto reads a time: multiplied, and cut off."""
    return int(microseconds * 1000.0)


class Opened:
    """A file, read as a viewer does; wrong ones fail."""

    def __init__(self, data: bytes) -> None:
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        assert not _ESCAPED.search(text)  # older readers stop there
        self.document = json.loads(text, parse_constant=lambda word: 1 / 0)
        assert self.document["displayTimeUnit"] == "ns"
        self.events: list[Event] = self.document["traceEvents"]
        for event in self.events:
            assert set(event) - {"args"} == _KEYS[event["ph"]] - {"args"}, event
            assert event.get("ts", 0) >= 0
        self._named()
        self._nested()
        self._bound()

    def of(self, phase: str) -> list[Event]:
        """The events of one phase."""
        return [event for event in self.events if event["ph"] == phase]

    def track(self, process: str, thread: str) -> list[Event]:
        """What stands in one row, in order."""
        (key,) = (key for key, name in self.threads.items() if self.full(key) == (process, thread))
        return self.stretches[key]

    def full(self, key: tuple[int, int]) -> tuple[str, str]:
        """The names of a process and its thread."""
        return self.processes[key[0]], self.threads[key]

    def rows(self, process: str) -> list[str]:
        """The names of a process's rows, from top to bottom."""
        keys = [key for key in self.threads if self.processes[key[0]] == process]
        return [self.threads[key] for key in sorted(keys, key=self.order.__getitem__)]

    def _named(self) -> None:
        """Every process and thread has one name and one place; no number means two of them."""
        self.processes: dict[int, str] = {}
        self.threads: dict[tuple[int, int], str] = {}
        self.order: dict[tuple[int, int], int] = {}
        for event in self.of("M"):
            key = event["pid"], event["tid"]
            if event["name"] == "process_name":
                assert event["pid"] not in self.processes
                self.processes[event["pid"]] = event["args"]["name"]
            elif event["name"] == "thread_name":
                assert key not in self.threads
                self.threads[key] = event["args"]["name"]
            elif event["name"] == "thread_sort_index":
                self.order[key] = event["args"]["sort_index"]
        numbers = [*self.processes, *(thread for _, thread in self.threads)]
        assert len(numbers) == len(set(numbers))
        assert set(self.order) == set(self.threads)

    def _nested(self) -> None:
        """In each row what begins within something is over no later than that."""
        self.stretches: dict[tuple[int, int], list[Event]] = defaultdict(list)
        for event in self.of("X"):
            assert event["dur"] >= 0
            self.stretches[event["pid"], event["tid"]].append(event)
        assert set(self.stretches) == set(self.threads)
        for found in self.stretches.values():
            found.sort(key=lambda event: ns(event["ts"]))
            open_until: list[int] = []
            for event in found:
                begin = ns(event["ts"])
                while open_until and open_until[-1] <= begin:
                    open_until.pop()
                end = begin + ns(event["dur"])
                assert not open_until or end <= open_until[-1], event
                open_until.append(end)

    def _bound(self) -> None:
        """Flows have two ends, and each lies just inside of one stretch of its row."""
        sources, targets = self.of("s"), self.of("f")
        assert sorted(e["id"] for e in sources) == sorted(e["id"] for e in targets)
        assert len({event["id"] for event in sources}) == len(sources)
        begins = {(e["pid"], e["tid"], ns(e["ts"]) + (ns(e["dur"]) > 1)): e for e in self.of("X")}
        self.ends = {
            (event["id"], event["ph"]): begins[event["pid"], event["tid"], ns(event["ts"])]
            for event in sources + targets
        }
