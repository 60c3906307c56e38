"""Frameworks imported and compilers run without the garbage collector looking on."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """The collector off: what imports and compilers make stays, and going through it again and
    again is a tenth of what they take.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
