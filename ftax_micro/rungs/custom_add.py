"""An operation of our own in torch's registry, written in Python: it adds, and can be counted.

To every compiler it is opaque: called, never fused or looked into.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ftax_micro.collector import collector_off
from ftax_micro.frameworks.compiler_tools import check_cache
from ftax_micro.frameworks.preparation import preparing
from ftax_micro.frameworks.quiet import quiet

_NAME = "ftax_micro::add"


def _missing(_x: Any, _y: Any) -> Any:
    raise RuntimeError(f"{_NAME} runs before it is registered")


# What the operation does. Counting replaces it, so that nothing is counted while it is timed.
_body: Callable[[Any, Any], Any] = _missing


@functools.cache
def custom_add(torch: Any) -> Any:
    """The operation, registered once in a process, whoever asks.

    Errors: `PreparationError`.
    """
    global _body
    _body = torch.add

    def add(x: Any, y: Any) -> Any:
        return _body(x, y)

    def fake(x: Any, _y: Any) -> Any:
        return torch.empty_like(x)

    with quiet(), collector_off(), preparing(f"registering {_NAME}"):
        check_cache()  # the first call imports dynamo, which takes seconds
        schema = "(Tensor x, Tensor y) -> Tensor"
        operation = torch.library.custom_op(_NAME, add, mutates_args=(), schema=schema)
        operation.register_fake(fake)
        operation(torch.zeros(1), torch.ones(1))
    return operation


def counted(run: Callable[[], Any]) -> int:
    """How often the operation runs while `run` does."""
    global _body
    number, original = 0, _body

    def counting(x: Any, y: Any) -> Any:
        nonlocal number
        number += 1
        return original(x, y)

    _body = counting
    try:
        run()
    finally:
        _body = original
    return number
