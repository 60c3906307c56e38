"""Forwards of an ONNX Runtime session on inputs other than those it was prepared with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from ftax_micro.modes.onnx_binding import Binding

# Makes a binding of its own for these inputs.
MakeBinding = Callable[[Mapping[str, "torch.Tensor"]], "Binding"]


class Rebound:
    """The session reads the new inputs where they are: nothing is copied.

    Two sets of outputs take turns, so that the outputs of one call may be the inputs of the next.
    Where they are fed back like that, addresses repeat after two calls and nothing is bound again.
    """

    def __init__(self, names: Sequence[str], make: MakeBinding, stream: Any = None) -> None:
        self._names, self._make, self._stream = tuple(names), make, stream
        self._bindings: list[Binding] = []
        self._turn = 0

    def __call__(self, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        named = dict(zip(self._names, inputs, strict=True))
        if not self._bindings:
            self._bindings = [self._make(named), self._make(named)]
        self._turn = 1 - self._turn
        binding = self._bindings[self._turn]
        with in_order(self._stream):
            binding.bind(named)
            binding.call()()
        return binding.outputs


class Copied:
    """The new inputs are copied to where a captured graph reads them: its addresses are fixed."""

    def __init__(self, names: Sequence[str], make: MakeBinding, stream: Any) -> None:
        self._names, self._make, self._stream = tuple(names), make, stream
        self._static: dict[str, torch.Tensor] = {}
        self._binding: Binding | None = None

    def __call__(self, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        named = dict(zip(self._names, inputs, strict=True))
        with in_order(self._stream):
            if self._binding is None:
                self._static = {name: value.clone() for name, value in named.items()}
                self._binding = self._make(self._static)
            for name, value in named.items():
                self._static[name].copy_(value, non_blocking=True)
            self._binding.call()()
        return self._binding.outputs


@contextlib.contextmanager
def in_order(stream: Any) -> Iterator[None]:
    """What is launched inside runs on `stream`, after what torch's current stream has been given
    and before what it will be given; nothing waits on the host. None on the cpu.
    """
    if stream is None:
        yield
        return
    import torch

    caller = torch.cuda.current_stream(stream.device)
    stream.wait_stream(caller)
    with torch.cuda.stream(stream):
        yield
    caller.wait_stream(stream)
