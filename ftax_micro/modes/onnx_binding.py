"""ONNX Runtime on torch's memory: inputs read and outputs written where the tensors are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import FtaxError
from ftax_micro.frameworks.onnx_session import Target, run_options

if TYPE_CHECKING:
    import torch

# ONNX's element types (TensorProto.DataType in onnx.proto): torch's name, ONNX Runtime's, number.
_TYPES = (
    ("float32", "tensor(float)", 1),
    ("uint8", "tensor(uint8)", 2),
    ("int8", "tensor(int8)", 3),
    ("int16", "tensor(int16)", 5),
    ("int32", "tensor(int32)", 6),
    ("int64", "tensor(int64)", 7),
    ("bool", "tensor(bool)", 9),
    ("float16", "tensor(float16)", 10),
    ("float64", "tensor(double)", 11),
    ("bfloat16", "tensor(bfloat16)", 16),
)


class BindingError(FtaxError):
    """A tensor that ONNX Runtime cannot read or write where it is."""


class Binding:
    """A session's inputs and outputs at fixed addresses; calling it is one run.

    `outputs` are the tensors that each call writes, in the session's order.
    """

    def __init__(
        self,
        session: Any,
        target: Target,
        inputs: Mapping[str, torch.Tensor],
        graph: int | None = None,
        like: Sequence[torch.Tensor] | None = None,
    ) -> None:
        """Outputs are new tensors, as `like` where an earlier binding knows them already.

        `graph` is the CUDA graph that these addresses belong to, where runs are replays.
        Errors: `BindingError` for element types and inputs that cannot be bound.
        """
        self._session, self._target = session, target
        self._options = run_options(asynchronous=target.stream is not None, graph=graph)
        self._io = session.io_binding()
        self._held: dict[str, torch.Tensor] = {}
        self._taken = [each.name for each in session.get_inputs()]
        missing = [name for name in self._taken if name not in inputs]
        if missing:
            raise BindingError(f"the exported model asks for an input {missing[0]!r}")
        self.bind(inputs)
        device = next(iter(inputs.values())).device
        self.outputs = self._new_outputs(device) if like is None else list(map(_empty_like, like))
        for each, tensor in zip(session.get_outputs(), self.outputs, strict=True):
            self._io.bind_output(each.name, *self._place(tensor))

    def bind(self, inputs: Mapping[str, torch.Tensor]) -> None:
        """Read `inputs` from now on; those that stay where they are cost nothing."""
        for name in self._taken:  # constants that the exporter folded away are no inputs
            tensor = inputs[name].contiguous()
            held = self._held.get(name)
            if held is None or held.data_ptr() != tensor.data_ptr():
                self._io.bind_input(name, *self._place(tensor))
            self._held[name] = tensor

    def call(self) -> Callable[[], Any]:
        """The run itself, with nothing of ours around it."""
        run, io, options = self._session.run_with_iobinding, self._io, self._options

        def once(_tensors: Binding = self) -> Any:  # whose memory must live as long as the call
            return run(io, options)

        return once

    def _place(self, tensor: torch.Tensor) -> tuple[Any, ...]:
        number = _number(str(tensor.dtype))
        where = self._target
        return (
            where.device_type,
            where.device_index,
            number,
            tuple(tensor.shape),
            tensor.data_ptr(),
        )

    def _new_outputs(self, device: torch.device) -> list[torch.Tensor]:
        import torch

        asked = self._session.get_outputs()
        shapes = [each.shape for each in asked]
        if not all(isinstance(size, int) for shape in shapes for size in shape):
            shapes = self._found_shapes([each.name for each in asked])
        return [
            torch.empty(tuple(shape), dtype=getattr(torch, _torch_name(each.type)), device=device)
            for each, shape in zip(asked, shapes, strict=True)
        ]

    def _found_shapes(self, names: Sequence[str]) -> list[Sequence[int]]:
        """The shapes of outputs that the model leaves open: by one run that allocates them."""
        for name in names:
            self._io.bind_output(name, self._target.device_type, self._target.device_index)
        uncaptured = -1 if self._target.cuda_graph else None
        options = run_options(asynchronous=False, graph=uncaptured)
        self._session.run_with_iobinding(self._io, options)
        shapes: list[Sequence[int]] = [each.shape() for each in self._io.get_outputs()]
        self._io.clear_binding_outputs()
        return shapes


def _empty_like(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.empty_like(tensor)


def _number(torch_dtype: str) -> int:
    name = torch_dtype.removeprefix("torch.")
    for torch_name, _, number in _TYPES:
        if torch_name == name:
            return number
    raise BindingError(f"ONNX Runtime takes no {name}")


def _torch_name(onnx_type: str) -> str:
    for name, of_runtime, _ in _TYPES:
        if of_runtime == onnx_type:
            return name
    raise BindingError(f"torch has no {onnx_type}")
