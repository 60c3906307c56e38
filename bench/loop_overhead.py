"""Does the extension's loop cost more than the same loop in plain C?

    python bench/loop_overhead.py [--quick] [-o FILE]

Variants, each timed block by block in one process (loop_overhead.c is compiled alone, with the
flags of the extension's release build, into a shared library that is loaded beside it):

call_direct            calls of an empty function through an opaque pointer
submit, dearest        launches through the tests' fake driver at its default cost of a launch
submit, cheapest       the same with every cost of the fake at 0: what is left are its locks and
                       look-ups, so that a few nanoseconds of ours would show

Targets: call_direct within 0.3 ns or 1.10 of plain C; submit at most 1.02. Needs a C compiler; the
submit rows also a C++ compiler, NVIDIA's cuda.h and an extension with the CUDA device.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from common import BENCH, ROOT, attempt, difference, finish, interleave, parser, ratio
from rows import Row, skipped

from ftax_micro import stats
from ftax_micro.devices import cuda_unavailable_reason, open_device
from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import Device
from ftax_micro.measurement import calibrate, measure_slope
from ftax_micro.records import ClockFacts, Data, Plan

FLAGS = ("-O3", "-DNDEBUG", "-fPIC", "-std=gnu11", "-Wall", "-Wextra", "-Werror")
# A block of calls this long has some 10^5 clock ticks and fits between two timer interrupts.
BLOCK_S = 1e-3
# One estimate of a launch: some bursts of every size at the dearest, dozens at the cheapest.
BURST_S, QUICK_BURST_S = 0.15, 0.02
# The fake's settings, in nanoseconds, that differ from its defaults.
FREE = ("submit_ns", "body_ns", "gap_ns", "start_ns", "start_active_ns", "sync_spin_ns")
COSTS: dict[str, dict[str, int]] = {
    "submit, dearest": {},
    "submit, cheapest": dict.fromkeys(FREE, 0),
}


class NoCompiler(Exception):
    """There is no C compiler here."""


def plain_library(folder: Path) -> ctypes.CDLL:
    """loop_overhead.c, compiled and loaded. Errors: `NoCompiler`; the compiler's complaint."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise NoCompiler("no C compiler: set CC, or install cc")
    output = folder / "loop_overhead.so"
    command = [compiler, *FLAGS, "-shared", str(BENCH / "loop_overhead.c"), "-o", str(output)]
    done = subprocess.run([*command, "-ldl"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    library = ctypes.CDLL(str(output))
    for name in ("plain_call_direct", "plain_submit_burst"):
        function = getattr(library, name)
        function.argtypes, function.restype = [ctypes.c_int64], ctypes.c_int64
    library.plain_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    return library


def call_direct(library: ctypes.CDLL, blocks: int) -> Row:
    """Ours against plain C, seconds per call."""
    ours = core().host.call_direct
    loops = calibrate(ours, clock_facts(), BLOCK_S)
    samples = interleave(
        {
            "ours": lambda: ours(loops) / loops,
            "plain C": lambda: library.plain_call_direct(loops) * 1e-9 / loops,
        },
        blocks,
    )
    a, b = samples.values()
    figures = [ratio(a, b, limit=1.10), difference(a, b, limit=0.3e-9)]
    return Row(name="call_direct", samples=samples, figures=figures, facts={"loops": loops})


def clock_facts() -> ClockFacts:
    """The measuring clock, measured."""
    found = core().host.measure_clock()
    return ClockFacts(name="steady_clock", tick_s=found.tick_s, read_cost_s=found.read_cost_s)


def submit(library: ctypes.CDLL, build_folder: Path, blocks: int, burst_s: float) -> list[Row]:
    """The submit row of the cuda device over the fake driver, and plain C over the same."""
    sys.path.insert(0, str(ROOT / "tests"))
    from fake_cuda import FakeCuda, keys
    from fake_cuda.build import Builder, NotBuildable

    try:
        path = Builder(build_folder).driver()
    except NotBuildable as error:
        return [skipped(name, str(error)) for name in COSTS]
    os.environ["FTAX_MICRO_CUDA_DRIVER"] = str(path)
    if reason := cuda_unavailable_reason():
        return [skipped(name, reason) for name in COSTS]
    fake = FakeCuda(path)
    orders = []
    try:
        for _ in range(2):  # ours is opened first, then once more after plain C
            with worker_on_another_core() as settled:
                device = open_device("cuda:0")
                try:
                    sides = Sides(device, library, path, burst_s)
                    settled()
                    orders.append([])
                    for settings in COSTS.values():
                        fake.configure(**{name: settings.get(name, keys()[name]) for name in FREE})
                        orders[-1].append(interleave(sides.probes(), blocks))
                finally:
                    device.close()
    finally:
        library.plain_close()
    blocks_of = zip(*orders, strict=True)
    return [submit_row(name, *both) for name, both in zip(COSTS, blocks_of, strict=True)]


@contextlib.contextmanager
def worker_on_another_core() -> Iterator[Callable[[], None]]:
    """Threads started before the yielded function is called stay on one core, this one on another.

    Else the scheduler chooses, differently from run to run, whether a launch wakes the fake's
    worker on the launching core or on another: a factor of three at the cheapest, nothing of ours.
    """
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        yield lambda: None
        return
    before = os.sched_getaffinity(0)
    host, worker = sorted(before)[:2]
    os.sched_setaffinity(0, {worker})
    try:
        yield lambda: os.sched_setaffinity(0, {host})
    finally:
        os.sched_setaffinity(0, before)


def submit_row(name: str, first: dict[str, list[float]], second: dict[str, list[float]]) -> Row:
    """Both orders as one: the geometric mean of a block with ours opened first and one after."""
    samples = {
        label: [math.sqrt(a * b) for a, b in zip(first[label], second[label], strict=True)]
        for label in first
    }
    return Row(name=name, samples=samples, figures=[ratio(*samples.values(), limit=1.02)])


class Sides:
    """Our submit row and plain C's bursts over the same driver, in the same burst sizes."""

    def __init__(self, device: Device, library: ctypes.CDLL, driver: Path, burst_s: float) -> None:
        self._row = next(row for row in device.rows() if row.name == "submit")
        self._plan = Plan(min_time_s=burst_s, timeout_s=burst_s, half_width=0.0, warmup_time_s=0.01)
        self._library, self._clock = library, device.clock
        self._sizes = [level.count for level in self._ours().levels]
        ptx = (ROOT / "csrc" / "kernels" / "floor.ptx").read_bytes()
        if status := library.plain_open(str(driver).encode(), ptx):
            raise RuntimeError(f"plain C could not open the fake driver: {status}")

    def probes(self) -> dict[str, Callable[[], float]]:
        """Seconds a launch of each, over bursts of the row's sizes."""
        burst = plain_burst(self._library)
        return {
            "ours": lambda: per_launch(self._ours()),
            "plain C": lambda: per_launch(
                measure_slope(burst, self._sizes, self._plan, self._clock)
            ),
        }

    def _ours(self) -> Data:
        return self._row.measure(self._row.settings[0], self._plan).data


def per_launch(data: Data) -> float:
    """Seconds a launch over the median bursts of all sizes.

    Not their slope: both sides have the same two clock reads, and a slope loses more to noise than
    the 2 % in question.
    """
    bursts = [stats.median_interval(level.samples_s).value for level in data.levels]
    return sum(bursts) / sum(level.count for level in data.levels)


def plain_burst(library: ctypes.CDLL) -> Callable[[int], float]:
    """Plain C's burst as the measuring core's probe."""

    def probe(count: int) -> float:
        elapsed_ns = library.plain_submit_burst(count)
        if elapsed_ns <= 0:
            raise RuntimeError(f"a plain launch failed with CUresult {-elapsed_ns}")
        return float(elapsed_ns) * 1e-9

    return probe


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--fake-dir", type=Path, help="where the fake driver is built and kept")
    args = options.parse_args(argv)
    calls, bursts = (12, 2) if args.quick else (400, 60)
    burst_s = QUICK_BURST_S if args.quick else BURST_S
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            library = plain_library(folder)
        except NoCompiler as reason:
            rows = [skipped(what, str(reason)) for what in ("call_direct", "submit")]
        else:
            rows = attempt("call_direct", lambda: call_direct(library, calls))
            rows += attempt(
                "submit", lambda: submit(library, args.fake_dir or folder, bursts, burst_s)
            )
    return finish("loop_overhead", rows, args, {"block_s": BLOCK_S, "flags": " ".join(FLAGS)})


if __name__ == "__main__":
    sys.exit(main())
