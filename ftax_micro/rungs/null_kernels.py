"""What the rungs of CUDA libraries share: the same null kernel, and the same arguments for it.

Every argument is 8 bytes, as on the rungs below. Most arguments of a framework's kernels are
pointers to tensors, which a library takes as its own arrays and has to look into; the others are
sizes. So of every five arguments three are one-element arrays and two are integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ftax_micro.devices._extension import core
from ftax_micro.errors import FtaxError, Skip
from ftax_micro.frameworks.preparation import first_line
from ftax_micro.rungs.chained import Chain
from ftax_micro.rungs.launching import ADDRESS

# What the kernel is called.
KERNEL = "ftax_null"
_PTX = """.version 6.4
.target sm_50
.address_size 64
.visible .entry {name}({parameters}) {{ ret; }}
"""


def null_ptx(arguments: int) -> bytes:
    """PTX of the null kernel with so many arguments of 8 bytes, for any GPU and driver."""
    parameters = ", ".join(f".param .u64 p{i}" for i in range(arguments))
    return _PTX.format(name=KERNEL, parameters=parameters).encode()


def launch_arguments(number: int, array: Callable[[], Any]) -> list[Any]:
    """So many arguments; `array()` makes an array of one fp32 on the device."""
    return [array() if i % 5 < 3 else ADDRESS + 256 * i for i in range(number)]


def argument_names(number: int) -> str:
    """What a `launch_chain` calls them, as they stand in a call."""
    return ", ".join(f"a{i}" for i in range(number))


def launch_chain(
    statement: str,
    names: Mapping[str, Any],
    arguments: list[Any],
    before: Callable[[], object],
) -> Chain:
    """Launches in a row, each by `statement`, which may use `argument_names` and `names`."""
    held = {f"a{i}": argument for i, argument in enumerate(arguments)}
    return Chain(statement, {**names, **held}, before=before)


def cuda_extra() -> str:
    """The extra whose packages fit this machine's driver."""
    try:
        version = int(core().cuda.driver_facts("")[0])
    except (FtaxError, RuntimeError, AttributeError):  # no driver, or no CUDA in this build
        return "cuda13"
    return "cuda12" if version < 13_000 else "cuda13"


def unusable(library: str, version: str, why: BaseException | str) -> Skip:
    """A library that is here and finds no device, in one sentence with the reason."""
    reason = first_line(why) if isinstance(why, BaseException) else " ".join(why.split())
    return Skip(f"{library} {version} can use no CUDA device here: {reason}")
