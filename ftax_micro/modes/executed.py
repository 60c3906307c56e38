"""What one forward executes, seen at PyTorch's dispatcher, in a pass of its own.

A `TorchDispatchMode` costs some 25 µs an operation: nothing timed may run inside. It sees each
operation that reaches a device's kernels, under TorchScript's interpreter too, but not what a
compiled graph or another runtime does inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ftax_micro.frameworks.dispatching import compiler_is_loaded

if TYPE_CHECKING:
    import torch


def dispatched(forward: Callable[[], Any]) -> dict[str, int]:
    """How often `forward` executes each operation, by its name (``aten::addmm``), most often first.

    Views and allocations are operations too: each passes the dispatcher. What PyTorch composes of
    others (``aten::linear``) is counted as these.
    """
    counted: Counter[str] = Counter()

    def see(operation: Any, _arguments: Any, _output: Any) -> None:
        counted[_name(operation)] += 1

    _watch(forward, see)
    return dict(counted.most_common())


def activation_bytes(forward: Callable[[], Any]) -> int:
    """Bytes of all memory that the operations of `forward` allocate for their outputs.

    The sum over one forward, whatever is freed in between: what is written at least once. A storage
    counts once, at the operation that returns it first; views and operations in place return one
    that they were given. Workspace inside of a kernel is not seen.
    """
    total = 0

    def see(_operation: Any, arguments: Any, output: Any) -> None:
        nonlocal total
        given = {key for key, _ in _storages(arguments)}
        total += sum({key: size for key, size in _storages(output) if key not in given}.values())

    _watch(forward, see)
    return total


def _watch(forward: Callable[[], Any], see: Callable[[Any, Any, Any], None]) -> None:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):  # type: ignore[misc]  # torch's types are not followed
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return compiler_is_loaded()

        def __torch_dispatch__(
            self, func: Any, _types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = kwargs or {}
            output = func(*args, **given)
            see(func, (args, given), output)
            return output

    # In inference mode composed operations reach a dispatch mode whole, and what they are made of
    # runs unseen below it.
    with torch.inference_mode(False), torch.no_grad(), Watch():
        forward()


def _name(operation: Any) -> str:
    schema = getattr(operation, "_schema", None)
    return str(operation if schema is None else schema.name)


def _storages(value: Any) -> list[tuple[int, int]]:
    """Identity and bytes of the storages of all tensors in `value`."""
    import torch
    from torch.utils._pytree import tree_leaves

    return [_storage(each) for each in tree_leaves(value) if isinstance(each, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> tuple[int, int]:
    try:
        storage = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):  # an opaque layout has none that can be asked
        return id(tensor), tensor.numel() * tensor.element_size()
    return storage._cdata, storage.nbytes()
