"""Python's garbage collector, kept out of what is timed and of what makes many objects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class _Aside:
    """Whether this module has set objects aside."""

    begun: bool = False


_aside = _Aside()


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """The collector off, and as it was afterwards. What imports and compilers make stays, and going
    through it again and again is a tenth of what they take.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextlib.contextmanager
def old_objects_set_aside() -> Iterator[None]:
    """Let the collector look at new objects only: to go through all that a framework has made takes
    as long as a block of forwards or thousands of bursts, and leaves the caches full of it.

    Does not collect first, which takes as long. Within itself it does nothing.
    """
    # Asking how many are set aside already goes through all of them: 40 ms beside PyTorch.
    if _aside.begun or gc.get_freeze_count():  # whoever else did that wants it to stay
        yield
        return
    gc.freeze()
    _aside.begun = True
    try:
        yield
    finally:
        _aside.begun = False
        gc.unfreeze()
