"""The two peaks of a device that bound every kernel: a large matrix product, and a large copy.

Measured, since data sheets name clocks that no machine holds. Operands are random: a GPU multiplies
zeros faster than numbers, for want of power spent on switching.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ftax_micro.errors import FtaxError, Interrupted, Skip
from ftax_micro.interleaving import ForwardProbe, measure_interleaved
from ftax_micro.models.workload import DTYPES, check_dtype, import_torch
from ftax_micro.records import FactValue, Plan, Roofline

if TYPE_CHECKING:
    import torch

_Operation = Literal["matmul", "copy"]

# Rows and columns of the products: as large as a sample may last, since small ones do not fill a
# GPU, and a cpu without short floats takes minutes for what others do in milliseconds.
_LEAST = 256
_MOST_CPU, _QUICK_MOST_CPU, _MOST_CUDA = 2048, 1024, 8192
_LONGEST_S, _QUICK_LONGEST_S = 0.5, 0.1
# Beyond the last cache of any cpu, and of any GPU.
_COPY_BYTES_CPU, _COPY_BYTES_CUDA = 256 << 20, 1 << 30


@dataclass(frozen=True)
class _Place:
    """Where to measure and how long a sample may last."""

    device: str
    threads: int
    most: int
    longest_s: float
    copy_bytes: int
    synchronise: Callable[[], None] | None


def measure_rooflines(
    device: str, dtypes: Sequence[str], plan: Plan, quick: bool = False, threads: int = 1
) -> list[Roofline]:
    """The peak of a square matrix product in each of `dtypes`, and of a copy, on a torch device.

    On the cpu with `threads` threads. Multiplications in fp32 are in fp32: without TF32 or shorter
    products. `data` has seconds per operation, up to its end; `facts` the sizes. What cannot run
    is a row with its reason. Errors: `UsageError` for an unknown dtype; `Interrupted`;
    `MissingPackageError` without torch.
    """
    for dtype in dtypes:
        check_dtype(dtype)
    place = _place(device, quick, threads)
    with _settings(threads):
        rows = [_measured(place, "matmul", dtype, plan) for dtype in dict.fromkeys(dtypes)]
        rows.append(_measured(place, "copy", "fp32", plan))
    return rows


def _place(device: str, quick: bool, threads: int) -> _Place:
    torch = import_torch()
    longest_s = _QUICK_LONGEST_S if quick else _LONGEST_S
    if device == "cpu":
        most = _QUICK_MOST_CPU if quick else _MOST_CPU
        return _Place(device, threads, most, longest_s, _COPY_BYTES_CPU, None)

    def synchronise() -> None:
        torch.cuda.synchronize(device)

    return _Place(device, threads, _MOST_CUDA, longest_s, _COPY_BYTES_CUDA, synchronise)


def _measured(place: _Place, operation: _Operation, dtype: str, plan: Plan) -> Roofline:
    """One row; whatever goes wrong is its reason."""
    work = 0.0
    facts: dict[str, FactValue] = {}
    if place.device == "cpu":
        facts["threads"] = place.threads
    try:
        if operation == "matmul":
            size, run = _product(place, dtype)
            work, facts["size"] = 2.0 * size**3, size
        else:
            run = _copy(place)
            work, facts["bytes"] = 2.0 * place.copy_bytes, place.copy_bytes
        probe = ForwardProbe(run, place.synchronise, pipelined=False)
        times = measure_interleaved({operation: probe}, plan)[operation]
    except Interrupted:
        raise
    except Exception as error:  # out of memory, a dtype without kernels, a driver that gives up
        return Roofline(
            device=place.device,
            operation=operation,
            dtype=dtype,
            work=work,
            status="skipped" if isinstance(error, Skip) else "failed",
            reason=_reason(error),
            facts=facts,
        )
    return Roofline(
        device=place.device,
        operation=operation,
        dtype=dtype,
        work=work,
        status="ok",
        data=times.latency,
        facts=facts,
    )


def _product(place: _Place, dtype: str) -> tuple[int, Callable[[], Any]]:
    """The largest product, up to the most, whose sample is short enough; its size, and how to run.

    Errors: `Skip` where already the smallest takes too long.
    """
    size = _LEAST
    while True:
        run = _multiplication(place.device, dtype, size)
        took_s = min(_once(place, run) for _ in range(2))  # the first loads kernels
        if size == _LEAST and took_s > place.longest_s:
            raise Skip(f"a product of {size} × {size} in {dtype} takes {took_s:.2g} s here")
        # Twice the size is eight times the work.
        if size * 2 > place.most or took_s * 8 > place.longest_s:
            return size, run
        size *= 2


def _multiplication(device: str, dtype: str, size: int) -> Callable[[], Any]:
    import torch

    kind = getattr(torch, DTYPES[dtype])
    one, two = (_random(size * size, kind, device).view(size, size) for _ in range(2))
    product = torch.empty_like(one)
    return lambda: torch.mm(one, two, out=product)


def _copy(place: _Place) -> Callable[[], Any]:
    import torch

    source = _random(place.copy_bytes // 4, torch.float32, place.device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _random(count: int, kind: torch.dtype, device: str) -> torch.Tensor:
    """Between -1 and 1, drawn without touching torch's own generators."""
    import torch

    generator = torch.Generator(device).manual_seed(0)
    drawn = torch.rand(count, generator=generator, device=device) * 2 - 1
    return drawn.to(kind)


def _once(place: _Place, run: Callable[[], Any]) -> float:
    begin_s = time.perf_counter()
    run()
    if place.synchronise is not None:
        place.synchronise()
    return time.perf_counter() - begin_s


@contextlib.contextmanager
def _settings(threads: int) -> Iterator[None]:
    """Inference mode, `threads` threads, products in full precision; torch as it was afterwards."""
    import torch

    before, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(before)
        torch.set_float32_matmul_precision(precision)


def _reason(error: Exception) -> str:
    if isinstance(error, FtaxError):
        return str(error)
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300] or 'no message'}"
