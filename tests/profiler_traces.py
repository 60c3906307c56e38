"""Writes traces as the PyTorch profiler does; times in microseconds, as in its files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Event = dict[str, Any]
Time = float | int


def kernel(
    ts: Time,
    dur: Time,
    correlation: int | None = None,
    *,
    name: str = "gemm",
    stream: int = 7,
    device: int = 0,
    cat: str = "kernel",
    **args: Any,
) -> Event:
    """A kernel, or another device operation by `cat`."""
    args = {"device": device, "stream": stream, **args}
    if correlation is not None:
        args["correlation"] = correlation
    return complete(cat, name, ts, dur, pid=device, tid=stream, **args)


def call(
    ts: Time,
    dur: Time,
    correlation: int | None = None,
    *,
    name: str = "cudaLaunchKernel",
    tid: int | str = 10,
    cat: str = "cuda_runtime",
) -> Event:
    """A runtime or driver call."""
    args = {} if correlation is None else {"correlation": correlation}
    return complete(cat, name, ts, dur, tid=tid, **args)


def launched(
    correlation: int, called: Time, call_dur: Time, start: Time, dur: Time, **kinds: Any
) -> list[Event]:
    """A kernel and its launch."""
    tid = kinds.pop("tid", 10)
    return [call(called, call_dur, correlation, tid=tid), kernel(start, dur, correlation, **kinds)]


def annotation(name: str, ts: Time, dur: Time, tid: int = 10) -> Event:
    """A user's annotation, or a step of the profiler by its name."""
    return complete("user_annotation", name, ts, dur, tid=tid)


def complete(
    cat: str, name: str, ts: Time, dur: Time, *, pid: int = 99, tid: int | str = 10, **args: Any
) -> Event:
    """Any event with a begin and a duration."""
    event = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return {**event, "args": args}


def trace_text(
    events: Iterable[Mapping[str, Any]],
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> bytes:
    """The file: keys before the list of events, the list, keys behind it."""
    document = {
        "schemaVersion": 1,
        **(before or {}),
        "traceEvents": list(events),
        **({"traceName": "x.json"} if after is None else after),
    }
    return json.dumps(document, indent=1).encode()
