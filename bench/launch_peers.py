"""Our submit against other ways to launch the same null kernel, on a GPU.

    python bench/launch_peers.py [--quick] [-o FILE]

Host time of one launch call: bursts of d, 2d, 3d … launches into a drained stream, slope over the
burst sizes, the same sizes for all; one slope of each a block. Ours is the row `submit` of
launch_floor. Its peers, each optional with its reason:

plain CUDA C++    launch_peers.cu, compiled by nvcc
CuPy              RawKernel called from Python
Numba             a configured cuda.jit kernel called from Python
cuda.core         cuda.core.launch
Triton, JIT       kernel[grid]() as users write it
Triton, cached    the launcher of the kernel compiled before
torch             torch.cuda._compile_kernel's object

Python's peers are called in an unrolled function, so that no loop is in their slope; arguments are
bound by functools.partial, some 20 ns. Target: ours at or below each. Where there is no GPU the
rows are skipped and say so.
"""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import BENCH, attempt, finish, interleave, message, parser, ratio, slope_of
from rows import Row, skipped

from ftax_micro.devices import cuda_unavailable_reason, open_device
from ftax_micro.devices.contract import Device, FloorRow
from ftax_micro.devices.cpu.calls import unrolled_probe
from ftax_micro.measurement import BurstProbe, measure_slope
from ftax_micro.records import ClockFacts, Plan

KERNEL = 'extern "C" __global__ void null_kernel() {}'
# One slope: dozens of bursts of every size.
SLOPE_S = 0.1


class Peer(NamedTuple):
    """Another way to launch: one launch, and the wait that drains its stream."""

    launch: Callable[[], object]
    drain: Callable[[], object]


def main(argv: Sequence[str] | None = None) -> int:
    args = parser(__doc__).parse_args(argv)
    blocks = 8 if args.quick else 40
    reason = cuda_unavailable_reason()
    if reason is not None:
        rows = [skipped(f"submit against {name}", reason) for name in ("plain CUDA C++", *PEERS)]
    else:
        rows = attempt("submit", lambda: against_peers(blocks))
    return finish("launch_peers", rows, args, {"blocks": blocks, "slope_s": SLOPE_S})


def against_peers(blocks: int) -> list[Row]:
    """One row for each peer, all interleaved with ours."""
    device = open_device("cuda:0")
    try:
        with tempfile.TemporaryDirectory() as folder:
            bursts, missing = open_peers(Path(folder))
            return measured(device, bursts, blocks) + [
                skipped(f"submit against {name}", reason) for name, reason in missing.items()
            ]
    finally:
        device.close()


def measured(device: Device, bursts: dict[str, BurstProbe], blocks: int) -> list[Row]:
    """Slopes of all, block by block."""
    row = next(row for row in device.rows() if row.name == "submit")
    plan = Plan(min_time_s=SLOPE_S, timeout_s=SLOPE_S, half_width=0.0, warmup_time_s=0.01)
    sizes = [level.count for level in row.measure(row.settings[0], plan).data.levels]
    probes = {"ours": our_probe(row, plan)}
    for name, burst in bursts.items():
        probes[name] = functools.partial(peer_slope, burst, sizes, plan, device.clock)
    samples = interleave(probes, blocks)
    ours = samples["ours"]
    return [
        Row(
            name=f"submit against {name}",
            samples={"ours": ours, name: samples[name]},
            figures=[ratio(ours, samples[name], limit=1.0, comparisons=len(bursts))],
            facts={"bursts": ",".join(map(str, sizes)), **row.settings[0]},
        )
        for name in bursts
    ]


def our_probe(row: FloorRow, plan: Plan) -> Callable[[], float]:
    """One slope of the row, seconds a launch."""
    return lambda: slope_of(row.measure(row.settings[0], plan).data)


def peer_slope(burst: BurstProbe, sizes: list[int], plan: Plan, clock: ClockFacts) -> float:
    """One slope of a peer, seconds a launch."""
    return slope_of(measure_slope(burst, sizes, plan, clock))


def open_peers(folder: Path) -> tuple[dict[str, BurstProbe], dict[str, str]]:
    """The peers that can run here as bursts, each tried once, and why the others cannot."""
    bursts: dict[str, BurstProbe] = {}
    missing: dict[str, str] = {}
    openers: dict[str, Callable[[], BurstProbe]] = {
        "plain CUDA C++": functools.partial(plain_program, folder)
    }
    for name, make in PEERS.items():
        openers[name] = functools.partial(peer_burst, make)
    for name, opener in openers.items():
        message(f"opening {name}")
        try:
            burst = opener()
            burst(2)
        except Exception as error:  # whatever a peer lacks here is its reason
            text = " ".join(str(error).split()) or "no message"
            missing[name] = f"{type(error).__name__}: {text[:200]}"
        else:
            bursts[name] = burst
    return bursts, missing


def peer_burst(make: Callable[[], Peer]) -> BurstProbe:
    """A peer's launches as a burst into its drained stream, unrolled."""
    peer = make()
    timed = unrolled_probe(peer.launch)

    def burst(count: int) -> float:
        peer.drain()
        elapsed_s = timed(count)
        peer.drain()
        return elapsed_s

    return burst


def plain_program(folder: Path) -> BurstProbe:
    """launch_peers.cu, compiled and loaded."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        raise FileNotFoundError("nvcc is not on the path")
    output = folder / "launch_peers.so"
    command = [nvcc, "-O3", "-std=c++17", "-Xcompiler", "-fPIC", "-shared"]
    command += [str(BENCH / "launch_peers.cu"), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    library = ctypes.CDLL(str(output))
    library.plain_burst.argtypes, library.plain_burst.restype = [ctypes.c_int64], ctypes.c_int64
    if status := library.plain_open(0):
        raise RuntimeError(f"cudaError {status}")

    def burst(count: int) -> float:
        elapsed_ns = library.plain_burst(count)
        if elapsed_ns <= 0:
            raise RuntimeError(f"cudaError {-elapsed_ns}")
        return float(elapsed_ns) * 1e-9

    return burst


def by_cupy() -> Peer:
    """cupy.RawKernel on a stream that is current, as CuPy's users have it."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    stream.use()
    kernel = cupy.RawKernel(KERNEL, "null_kernel")
    return Peer(functools.partial(kernel, (1,), (1,), ()), stream.synchronize)


def by_numba() -> Peer:
    """A cuda.jit kernel with its signature given, configured once."""
    from numba import cuda

    stream = cuda.stream()
    return Peer(cuda.jit("void()")(null_kernel)[1, 1, stream], stream.synchronize)


def by_cuda_core() -> Peer:
    """cuda.core.launch of a kernel that it compiled."""
    try:
        import cuda.core as core
    except ImportError:
        import cuda.core.experimental as core
    device = core.Device(0)
    device.set_current()
    stream = device.create_stream()
    major, minor = device.compute_capability
    options = core.ProgramOptions(arch=f"sm_{major}{minor}")
    program = core.Program(KERNEL, code_type="c++", options=options)
    kernel = program.compile("cubin").get_kernel("null_kernel")
    config = core.LaunchConfig(grid=1, block=1)
    return Peer(functools.partial(core.launch, stream, config, kernel), stream.sync)


def by_triton_jit() -> Peer:
    """kernel[grid]() on torch's current stream."""
    kernel, stream = triton_kernel(), torch_stream()
    return Peer(lambda: kernel[(1,)](), stream.synchronize)


def by_triton_cached() -> Peer:
    """The compiled kernel's own launcher, the stream given."""
    kernel, stream = triton_kernel(), torch_stream()
    launcher = kernel[(1,)]()[(1, 1, 1)]
    return Peer(functools.partial(launcher, stream=stream.cuda_stream), stream.synchronize)


def by_torch() -> Peer:
    """torch's own run-time compiled kernel on its current stream."""
    import torch

    stream = torch_stream()
    kernel = torch.cuda._compile_kernel(KERNEL, "null_kernel")
    return Peer(functools.partial(kernel, (1, 1, 1), (1, 1, 1), []), stream.synchronize)


@functools.cache
def torch_stream() -> Any:
    """One stream, current from now on, for torch and Triton, which launches on torch's."""
    import torch

    stream = torch.cuda.Stream()
    torch.cuda.set_stream(stream)
    return stream


def triton_kernel() -> Any:
    """The null kernel, to be compiled at its first launch."""
    import triton

    return triton.jit(null_kernel)


def null_kernel():
    # Numba and Triton read this function's source: no annotation, no text inside.
    pass


PEERS: dict[str, Callable[[], Peer]] = {
    "CuPy": by_cupy,
    "Numba": by_numba,
    "cuda.core": by_cuda_core,
    "Triton, JIT": by_triton_jit,
    "Triton, cached": by_triton_cached,
    "torch": by_torch,
}

if __name__ == "__main__":
    sys.exit(main())
