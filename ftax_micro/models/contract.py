"""What a model is to this package: data and two functions, nothing imported until it is built."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import UsageError

if TYPE_CHECKING:
    import torch

Override = int | float | str | bool
Overrides = Mapping[str, Override]
# What a forward is called with, by the names of its parameters; tensors on the cpu.
Inputs = dict[str, "torch.Tensor"]


class Family(str, enum.Enum):
    """What a model reads, and with that which sizes its input has."""

    encoder = "encoder"
    decoder = "decoder"
    vision = "vision"
    speech = "speech"
    layer = "layer"


@dataclass(frozen=True)
class Shape:
    """Sizes of a model's input; None where it has no such size.

    `batch` examples, each of `sequence` tokens, or an image of `image` × `image` pixels in three
    channels, or `audio` values of sound.
    """

    batch: int = 1
    sequence: int | None = None
    image: int | None = None
    audio: int | None = None

    def replaced(self, **sizes: int | None) -> Shape:
        """This shape with the given sizes in place of its own; those given as None stay.

        Errors: `UsageError` for a size below one, or one that the model's input does not have.
        """
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        for name, size in sizes.items():
            if size is None:
                continue
            if own[name] is None:
                has = " and ".join(key for key, value in own.items() if value is not None)
                raise UsageError(f"the model's input has no {name}; it has {has}")
            if size < 1:
                raise UsageError(f"{name} must be at least 1, not {size}")
            own[name] = size
        return Shape(**own)


@dataclass(frozen=True)
class ModelSpec:
    """One model of the zoo.

    `build(shape, overrides)` makes the module with the library's own random weights (some
    configurations depend on the input's length); `inputs(module, shape, overrides)` makes random
    inputs for it. Both draw from torch's default generator, which `workload.build_workload` seeds,
    and create tensors on torch's default device, so that a model can be made without memory on
    ``meta``.

    `source` is the class that is built, `stands_for` says what it stands in for where that class is
    not the paper's own, `parameters` are the names and defaults of what may be overridden;
    `feedback` and `steps` are those of `workload.Workload`.
    """

    name: str
    family: Family
    source: str
    shape: Shape
    build: Callable[[Shape, Overrides], torch.nn.Module]
    inputs: Callable[[torch.nn.Module, Shape, Overrides], Inputs]
    parameters: Callable[[], dict[str, Any]]
    stands_for: str | None = None
    feedback: tuple[str, ...] = ()
    steps: int = 1
