"""A workload: a model at a shape and dtype, its weights and inputs random, seeded and offline."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftax_micro.collector import collector_off
from ftax_micro.errors import MissingPackageError, Skip, UsageError
from ftax_micro.models.contract import Inputs, ModelSpec, Overrides, Shape
from ftax_micro.models.lengths import padded_inputs
from ftax_micro.models.settle import settle

if TYPE_CHECKING:
    import torch

# The paper's two, and the one that today's weights come in.
DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


@dataclass(frozen=True)
class Workload:
    """A module in evaluation mode and the inputs of its forward, both on `device` already.

    `feedback` names, output by output, the input that it becomes in the next step; a workload with
    `steps` above 1 runs so many of them as one forward. Empty where a forward stands alone.

    `lengths` names the distribution that the sequences' lengths come from (`lengths.LENGTHS`), and
    `valid` (batch × sequence, on the cpu) is then True where a token is no padding. What a model
    answers at the other positions means nothing. Both None where nothing is padded.
    """

    model: str
    shape: Shape
    dtype: str
    module: torch.nn.Module
    inputs: Inputs
    device: str = "cpu"
    feedback: tuple[str, ...] = ()
    steps: int = 1
    lengths: str | None = None
    valid: torch.Tensor | None = None

    @property
    def parameters(self) -> int:
        """How many weights the module has, shared ones once."""
        return sum(each.numel() for each in self.module.parameters())

    @property
    def weight_bytes(self) -> int:
        """Bytes of all weights and buffers."""
        tensors = [*self.module.parameters(), *self.module.buffers()]
        return sum(each.numel() * each.element_size() for each in tensors)


def build_workload(
    spec: ModelSpec,
    overrides: Overrides | None = None,
    shape: Shape | None = None,
    dtype: str = "fp32",
    device: str = "cpu",
    seed: int = 0,
    lengths: str | None = None,
) -> Workload:
    """`spec` built at `shape` (default: the spec's own) with everything random drawn from `seed`.

    The same arguments give the same weights and inputs, whatever was drawn before; torch's own
    generator is left as it was. `device` is a torch device. `lengths` pads the sequences from
    lengths so distributed (`lengths.padded_inputs`).
    Errors: `UsageError` for settings the model cannot take, unknown dtypes, and `lengths` of a
    model that knows no padding;
    `MissingPackageError` and `Skip` where its library is missing or cannot build it.
    """
    check_dtype(dtype)
    torch = import_torch()
    chosen, settings = shape or spec.shape, overrides or {}
    with _seeded(seed), torch.inference_mode(False):
        module = spec.build(chosen, settings).eval().requires_grad_(False)
        inputs = spec.inputs(module, chosen, settings)
        settle(module, inputs)
    valid = None
    if lengths is not None:
        inputs, valid = padded_inputs(spec, module, inputs, lengths, seed)
    kind = getattr(torch, DTYPES[dtype])
    moved = {name: _moved(value, kind, device) for name, value in inputs.items()}
    placed = module.to(device=device, dtype=kind)
    return Workload(
        spec.name,
        chosen,
        dtype,
        placed,
        moved,
        device,
        feedback=spec.feedback,
        steps=spec.steps,
        lengths=lengths,
        valid=valid,
    )


def check_dtype(dtype: str) -> None:
    """Errors: `UsageError` for a dtype that is none of `DTYPES`."""
    if dtype not in DTYPES:
        raise UsageError(f"unknown dtype {dtype!r}; known: {', '.join(DTYPES)}")


def count_parameters(spec: ModelSpec, overrides: Overrides | None = None) -> int:
    """Weights of `spec`'s module, shared ones once, without the memory and time to make them.

    Errors: as `build_workload`.
    """
    torch = import_torch()
    settings = overrides or {}
    try:
        with torch.device("meta"):
            module = spec.build(spec.shape, settings)
    except NotImplementedError:  # a module that computes with tensors while it is made
        module = spec.build(spec.shape, settings)
    return sum(each.numel() for each in module.parameters())


@collector_off()
def import_torch() -> torch.types.ModuleType:
    """torch. Errors: `MissingPackageError` naming the extra where it is not installed, `Skip` where
    it is and cannot be imported.
    """
    try:
        import torch
    except Exception as error:  # whatever a broken installation raises
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            raise MissingPackageError("torch", "models") from error
        words = " ".join(str(error).split())
        raise Skip(f"torch cannot be imported: {type(error).__name__}: {words}") from error
    return torch


def _moved(value: torch.Tensor, dtype: torch.dtype, device: str) -> torch.Tensor:
    return value.to(device=device, dtype=dtype if value.is_floating_point() else None)


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
