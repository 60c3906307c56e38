"""What a workload's mode must be before it is timed, and the conditions it is timed under."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ftax_micro.errors import FtaxError, Skip
from ftax_micro.interleaving import ForwardProbe
from ftax_micro.models.workload import import_torch
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.equality import MismatchError, check_equal
from ftax_micro.orchestration.workload.request import WorkloadRequest


def probe_of(prepared: Prepared) -> ForwardProbe:
    """What is timed of a workload that is ready in one mode."""
    return ForwardProbe(
        prepared.forward,
        synchronise=prepared.synchronise,
        host=prepared.host,
        pipelined=prepared.unpipelined is None,
        compilations=prepared.compilations,
    )


class UnrepeatableError(FtaxError):
    """A model whose outputs differ from forward to forward: nothing can be compared with it."""


def nothing_to_compare_with(reason: str) -> Skip:
    """Why a mode is skipped where eager has no outputs."""
    return Skip(f"there is nothing to compare with, eager has no outputs: {reason}")


def check_repeatable(
    prepared: Prepared, outputs: Sequence[Any], dtype: str, valid: Any = None
) -> None:
    """Errors: `UnrepeatableError` where a second forward answers otherwise, by more than `dtype`
    lets modes differ; `MismatchError` where nothing can be compared with `outputs`.

    Rounding may differ: kernels that add up in no fixed order are no random numbers.
    """
    kept = [output.clone() for output in outputs]  # a forward may write where the last one did
    check_equal(kept, kept, dtype, valid)
    again = prepared.outputs(prepared.forward())
    try:
        check_equal(kept, again, dtype, valid)
    except MismatchError as error:
        raise UnrepeatableError(
            "eager's outputs differ from forward to forward, by more than rounding: the model "
            "draws random numbers or keeps a state"
        ) from error


@contextlib.contextmanager
def quiet_torch(request: WorkloadRequest) -> Iterator[None]:
    """Inference mode, the request's threads and device for every mode; torch as it was after."""
    torch = import_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(request.threads)
    device = torch.cuda.device(request.device) if request.device != "cpu" else None
    try:
        with torch.inference_mode(), device or contextlib.nullcontext():
            yield
    finally:
        torch.set_num_threads(before)
