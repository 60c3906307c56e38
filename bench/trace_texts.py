"""Traces for `trace_peers.py`: one synthesised, and any one repeated to a number of events.

The synthesised one has the layout and the proportions of a PyTorch profiler's file (Kineto) of a
training job: four events in ten are operators with their shapes, two runtime calls, of which less
than half launch something, three the arrows between calls and operations, one is a device operation
with a name of hundreds of characters. No line of it is from anybody's trace.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterator
from pathlib import Path

EVENTS = 100_000  # of what is synthesised; more are repetitions
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
# What tells the repetitions apart: times, ids, and the numbers of steps.
_TIME = re.compile(rb'"ts"\s*:\s*(\d+)')
_ID = re.compile(rb'"(?:correlation|[Ee]xternal id|id)"\s*:\s*(\d+)')
_SHIFTED = re.compile(rb'("(?:(ts)|correlation|[Ee]xternal id|id)"\s*:\s*|ProfilerStep#)(\d+)')
_PHASE = re.compile(rb'"ph"\s*:\s*"')
_PAUSE_US = 1_000_000  # between repetitions

_HOST, _THREADS = 4211, (4211, 4377)
_CALLS = ("cudaEventQuery", "cudaFuncSetAttribute", "cudaStreamGetCaptureInfo", "cudaGetDevice")
_OPS = ("aten::linear", "aten::addmm", "aten::t", "aten::transpose", "aten::as_strided")


def write_synthesised(path: Path, events: int = EVENTS) -> None:
    """A trace of about so many events (a step of 2,000 more at most), gzip-compressed."""
    head = '{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {\n      "id": 0, '
    head += '"name": "Synthetic GPU"\n    }\n  ],\n  "traceEvents": [\n'
    steps = max(2, -(-events // _Step.SIZE))
    with gzip.open(path, "wb", compresslevel=6) as file:
        file.write(head.encode())
        made = _Step(random.Random(1))
        for number in range(steps):
            text = ",\n".join(made.events(number))
            file.write((text + ",\n").encode())
        file.write(b'  {\n    "name": "process_name", "ph": "M", "ts": 1700000000000000, ')
        file.write(b'"pid": 4211, "tid": 0,\n    "args": {\n      "name": "python"\n    }\n  }\n')
        file.write(b'],\n  "traceName": "synthesised.json"\n}\n')


def write_repeated(source: Path, path: Path, times: int) -> None:
    """The trace of `source` so many times one after the other, written as it comes.

    Needs as much memory as two of its texts. Steps, ids and times go on; what stands before and
    behind the list of events is there once.
    """
    text = gzip.decompress(source.read_bytes()) if _is_gzip(source) else source.read_bytes()
    found = _LIST.search(text)
    if found is None:
        raise ValueError(f"{source} has no traceEvents")
    begin, end = found.end(), text.rindex(b"]")
    head, body, tail = text[:begin], text[begin:end], text[end:]
    del text
    moments = [int(each) for each in _TIME.findall(body)]
    offsets = max(moments) - min(moments) + _PAUSE_US, max(map(int, _ID.findall(body))) + 1
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        for number in range(times):
            file.write(b"," if number else b"")
            file.write(_shifted(body, number, *offsets))
        file.write(tail)


def _shifted(body: bytes, number: int, time_us: int, ids: int) -> bytes:
    def shift(found: re.Match[bytes]) -> bytes:
        offset = number * time_us if found[2] else number * ids
        return found[1] + str(int(found[3]) + offset).encode()

    return _SHIFTED.sub(shift, body) if number else body


def count_events(path: Path) -> int:
    """How many events a trace has, by its phases."""
    with (gzip.open if _is_gzip(path) else open)(path, "rb") as file:
        count, text = 0, b""
        while chunk := file.read(1 << 20):
            text += chunk
            ends = [found.end() for found in _PHASE.finditer(text)]
            count += len(ends)
            text = text[max(ends[-1] if ends else 0, len(text) - 16) :]
        return count


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


class _Step:
    """The events of one training step after the other: a clock for the host, one for the device."""

    SIZE = 2_000

    def __init__(self, random: random.Random) -> None:
        self._random = random
        self._host_us = 1_700_000_000_000_000
        self._device_us = self._host_us
        self._id = 1000
        self._kernels = [_kernel_name(random) for _ in range(150)]

    def events(self, number: int) -> Iterator[str]:
        begin = self._host_us
        made = 1
        while made < self.SIZE:
            for each in self._operator():
                yield each
                made += each.count('"ph"')  # a call comes with its arrow
        yield self._call("cudaDeviceSynchronize", max(2, self._device_us - self._host_us + 3))
        name = f"ProfilerStep#{number + 10}"
        yield self._host_event("user_annotation", name, begin, self._host_us - begin, '"a": 0')
        self._host_us += self._random.randint(50, 200)

    def _operator(self) -> Iterator[str]:
        """Operators within each other, the calls of the innermost, and what they launched."""
        draw = self._random
        begin = self._host_us
        inner: list[str] = []
        self._host_us += 10
        for _ in range(draw.randint(1, 2)):
            inner += self._unlaunching()
            inner += self._launch()
        self._host_us += 10
        for depth in range(draw.randint(4, 9)):
            dims = f"[[{2 ** draw.randint(3, 12)}, {2 ** draw.randint(3, 12)}], [], []]"
            args = f'"External id": {self._next_id()},\n      "Profiler Event Index": {self._id}, '
            args += f'"Input Dims": {dims}, "Input type": ["float", "Scalar", ""], '
            args += '"Module Hierarchy": "", "Call stack": ""'
            length = self._host_us - begin - 2 * depth
            yield self._host_event("cpu_op", draw.choice(_OPS), begin + depth, length, args)
        yield from inner

    def _unlaunching(self) -> Iterator[str]:
        for _ in range(self._random.randint(0, 3)):
            yield self._call(self._random.choice(_CALLS), self._random.randint(0, 3))

    def _launch(self) -> Iterator[str]:
        draw = self._random
        kind = draw.choices(("kernel", "gpu_memcpy", "gpu_memset"), (90, 3, 7))[0]
        called = {"kernel": "cudaLaunchKernel", "gpu_memcpy": "cudaMemcpyAsync"}
        yield self._call(called.get(kind, "cudaMemsetAsync"), draw.randint(3, 9))
        name = {"gpu_memcpy": "Memcpy HtoD (Pinned -> Device)", "gpu_memset": "Memset (Device)"}
        start = max(self._device_us + 1, self._host_us + draw.randint(0, 8))
        length = int(draw.lognormvariate(1.8, 0.9)) + 1
        self._device_us = start + length
        args = f'"External id": {self._id}, "queued": 0, "device": 0, "context": 1,\n      '
        args += f'"stream": 7, "correlation": {self._id}, "registers per thread": 90, '
        args += '"shared memory": 49152, "blocks per SM": 0.5925926, "warps per SM": 2.3703704,\n'
        args += '      "grid": [64, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 4'
        named = name.get(kind) or draw.choice(self._kernels)
        yield _event("X", kind, named, 0, 7, start, length, args)
        yield self._arrow("s", start)

    def _call(self, name: str, length: int) -> str:
        args = f'"External id": {self._next_id()}, "cbid": 211, "correlation": {self._id}'
        begin = self._host_us + self._random.randint(0, 2)
        self._host_us = begin + length + 1
        call = self._host_event("cuda_runtime", name, begin, length, args)
        return f"{call},\n{self._arrow('f', begin)}"

    def _arrow(self, phase: str, time_us: int) -> str:
        text = (
            f'  {{\n    "ph": "{phase}", "id": {self._id}, "pid": {_HOST}, "tid": {_THREADS[0]}, '
        )
        text += f'"ts": {time_us},\n    "cat": "async_cpu_to_gpu", "name": "async_gpu"'
        return text + (', "bp": "e"\n  }' if phase == "f" else "\n  }")

    def _host_event(self, category: str, name: str, begin: int, length: int, args: str) -> str:
        thread = _THREADS[self._id % 50 == 0]
        return _event("X", category, name, _HOST, thread, begin, length, args)

    def _next_id(self) -> int:
        self._id += 1
        return self._id


def _event(
    phase: str, category: str, name: str, pid: int, tid: int, ts: int, dur: int, args: str
) -> str:
    text = f'  {{\n    "ph": "{phase}", "cat": "{category}", "name": "{name}", "pid": {pid}, '
    text += f'"tid": {tid},\n    "ts": {ts}, "dur": {dur},\n    "args": {{\n      {args}\n'
    return text + "    }\n  }"


def _kernel_name(random: random.Random) -> str:
    """As long as those of templates are: 30 to 400 characters."""
    inner = "float, at::detail::Array<char*, 3>, TrivialOffsetCalculator<2, unsigned int>"
    parts = ", ".join(f"op_{random.randrange(100)}<{inner}>" for _ in range(random.randint(0, 4)))
    return f"void at::native::kernel_{random.randrange(1000)}<4, {parts}>(int, float*)"
