"""What a forward compiled by inductor executes: its own kernels, and the operations it calls.

A dispatch mode around a compiled function makes dynamo run the function eagerly, and inside of the
generated code it sees no generated kernel. So it is put around each graph's generated code, and the
kernels that this code finds among its module's names count themselves.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ftax_micro.errors import Skip
from ftax_micro.modes.executed import dispatched

# How inductor names what it generates: for the cpu, for a GPU, and for a choice of several.
_KERNELS = ("cpp_", "triton_", "multi_kernel_")


def executed_compiled(forward: Callable[[], Any], breaks: int = 0) -> dict[str, int]:
    """How often one `forward` executes each operation (``aten::addmm``) and each generated kernel
    (``inductor::cpp_fused_add_0``), most often first.

    Errors: `Skip` where `breaks` says that operations run between graphs, which nobody counts, and
    where this torch runs its graphs in another way than the one that is watched.
    """
    if breaks:
        raise Skip(f"what runs between graphs is not counted, and this forward has {breaks} breaks")
    counted: Counter[str] = Counter()
    with _counting_kernels(counted), _counting_operations(counted) as graphs:
        forward()
    if not graphs:
        raise Skip("this torch runs compiled graphs where they cannot be watched")
    return dict(counted.most_common())


@contextlib.contextmanager
def _counting_operations(counted: Counter[str]) -> Iterator[list[str]]:
    """Every graph of inductor that runs inside adds what it dispatches; the list names them."""
    from torch._inductor.output_code import CompiledFxGraph

    original: Callable[..., Any] = CompiledFxGraph.__call__
    graphs: list[str] = []

    def watched(self: Any, inputs: Any) -> Any:
        kept: list[Any] = []
        counted.update(dispatched(lambda: kept.append(original(self, inputs))))
        graphs.append(str(getattr(self, "cache_key", None)))
        return kept[0]

    CompiledFxGraph.__call__ = watched
    try:
        yield graphs
    finally:
        CompiledFxGraph.__call__ = original


@contextlib.contextmanager
def _counting_kernels(counted: Counter[str]) -> Iterator[None]:
    """Every generated kernel that runs inside counts itself."""
    from torch._inductor.codecache import PyCodeCache

    spaces: list[dict[str, Any]] = [vars(module) for module in PyCodeCache.modules]
    kept = [(names, _kernels(names)) for names in spaces]
    for names, kernels in kept:
        names.update({name: _Counting(name, kernel, counted) for name, kernel in kernels.items()})
    try:
        yield
    finally:
        for names, kernels in kept:
            names.update(kernels)


def _kernels(names: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in names.items()
        if name.startswith(_KERNELS) and (callable(value) or hasattr(value, "run"))
    }


class _Counting:
    """A kernel that counts its launches: called on the cpu, `run` on a GPU."""

    def __init__(self, name: str, kernel: Any, counted: Counter[str]) -> None:
        self._name, self._kernel, self._counted = f"inductor::{name}", kernel, counted

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self._counted[self._name] += 1
        return self._kernel(*arguments, **named)

    def run(self, *arguments: Any, **named: Any) -> Any:
        self._counted[self._name] += 1
        return self._kernel.run(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)
