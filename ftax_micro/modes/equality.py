"""Does a mode compute what eager computes? Asked before anything is timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftax_micro.errors import FtaxError

if TYPE_CHECKING:
    import torch

# Largest relative norm of a difference that rounding explains, by dtype: some thousand roundings in
# fp32, some tens in the short ones. A wrong mode is off by a tenth and more.
TOLERANCES = {"fp32": 1e-3, "fp16": 2e-2, "bf16": 8e-2}


class MismatchError(FtaxError):
    """A mode whose outputs are not eager's."""


@dataclass(frozen=True)
class Agreement:
    """How far a mode's outputs are from eager's: the worst of all outputs.

    `relative_norm` is |mode - eager| / |eager| in the 2-norm, `largest` the largest absolute
    difference of any element.
    """

    relative_norm: float
    largest: float


def check_equal(
    reference: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    dtype: str,
    valid: torch.Tensor | None = None,
) -> Agreement:
    """The agreement of `outputs` with eager's `reference`, compared in double precision.

    Where `valid` (batch × sequence) is given, outputs with a vector for each token are compared at
    the tokens where it is True. Outputs that are whole numbers (tokens, positions) must be equal.
    Errors: `MismatchError` for another number of outputs, other shapes, values that are not finite,
    a reference that is zero throughout (equality would prove nothing), and a relative norm beyond
    the tolerance of `dtype`, with the largest difference.
    """
    if len(reference) != len(outputs):
        raise MismatchError(f"{len(outputs)} outputs, where eager has {len(reference)}")
    if not reference:
        raise MismatchError("eager has no output to compare with")
    pairs = [
        _agreement(i, *pair, valid) for i, pair in enumerate(zip(reference, outputs, strict=True))
    ]
    worst = Agreement(
        relative_norm=max(each.relative_norm for each in pairs),
        largest=max(each.largest for each in pairs),
    )
    limit = TOLERANCES[dtype]
    if worst.relative_norm > limit:
        raise MismatchError(
            f"outputs differ from eager's by {worst.relative_norm:.2g} of their norm "
            f"(at most {limit:g} in {dtype}); the largest difference is {worst.largest:.3g}"
        )
    return worst


def check_finite(outputs: Sequence[torch.Tensor]) -> None:
    """Errors: `MismatchError` where any output holds NaN or an infinity."""
    for index, output in enumerate(outputs):
        _check_finite(index, output)


def _check_finite(index: int, output: torch.Tensor) -> None:
    wrong = int((~output.isfinite()).sum())
    if wrong:
        raise MismatchError(f"output {index}: {wrong} of {output.numel()} are not finite")


def _agreement(
    index: int, reference: torch.Tensor, output: torch.Tensor, valid: torch.Tensor | None
) -> Agreement:
    if reference.shape != output.shape:
        sizes = f"{tuple(output.shape)} instead of eager's {tuple(reference.shape)}"
        raise MismatchError(f"output {index} has the shape {sizes}")
    # Not those with two dimensions: one vector for each sentence may be as wide as sentences long.
    if valid is not None and reference.dim() > 2 and reference.shape[:2] == valid.shape:
        reference, output = reference[valid], output[valid]
    _check_finite(index, reference)
    _check_finite(index, output)
    if not reference.is_floating_point():
        wrong = int((output != reference).sum())
        if wrong:
            raise MismatchError(f"output {index}: {wrong} of {output.numel()} are not eager's")
        return Agreement(0.0, 0.0)
    expected = reference.double()
    norm = float(expected.norm())
    if norm == 0.0:
        raise MismatchError(f"output {index} of eager is zero throughout: equality proves nothing")
    difference = output.double() - expected
    return Agreement(float(difference.norm()) / norm, float(difference.abs().max()))
