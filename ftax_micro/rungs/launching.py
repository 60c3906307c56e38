"""What the rungs share that hand over integers: to an empty function, or to our own null kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ftax_micro.devices._extension import core
from ftax_micro.devices.cuda.loops import translated
from ftax_micro.errors import Skip
from ftax_micro.measurement import slope_counts
from ftax_micro.records import FactValue
from ftax_micro.rungs.chained import Chain
from ftax_micro.rungs.contract import Place, Program

# Launches of a C++ loop take a microsecond or two each, and a stream takes about 1,000 of them
# before one blocks: under half of that.
LAUNCHES = slope_counts(64, 384)
# From Python each takes longer, and is a statement that has to be compiled.
LAUNCHED = slope_counts(32, 192)
# Calls on the cpu take time mostly by their arguments: so many with none, the fewer the more.
_CALLED = 1200
# As large as addresses are, which is what most arguments of kernels are: an integer of Python is
# converted faster where it is small.
ADDRESS = 0x7F12_3456_0000


def open_session(place: Place) -> Any:
    """The extension's session on the device. Errors: `Skip` where the place has none."""
    if place.session is None:
        raise Skip(f"{place.device} has no driver to launch with")
    return place.session()


def null_spec(arguments: int = 0, api: str = "kernel") -> Any:
    """The launch of the null kernel with so many arguments of 8 bytes, through a call of `api`."""
    cuda = core().cuda
    return cuda.LaunchSpec(api=getattr(cuda.LaunchApi, api), arguments=arguments)


def call_statement(arguments: int) -> str:
    """A call of ``call`` with so many integers, written out."""
    return f"call({', '.join(str(ADDRESS + 256 * i) for i in range(arguments))})"


def called_program(call: Callable[..., object], arguments: int) -> Program:
    """Programs of `call` on the cpu, from Python, with so many integers."""
    chain = Chain(call_statement(arguments), {"call": call})
    most = _CALLED // (1 + arguments)
    return Program(chain.burst, slope_counts(most // 6, most))


def submitted_program(
    session: Any, arguments: int, api: str, facts: Mapping[str, FactValue] | None = None
) -> Program:
    """Programs of launches in a C++ loop, through a call of `api`."""
    cuda, spec = core().cuda, null_spec(arguments, api)

    def burst(count: int) -> float:
        with translated():
            return float(cuda.submit(session, spec, count, 1)[0])

    return Program(burst, LAUNCHES, facts=facts or {})


def launched_program(
    session: Any, arguments: int, call_of: Callable[[Any], Callable[..., object]]
) -> Program:
    """Programs of launches from Python by `call_of(launcher)`, with so many integers.

    The launcher gives the context, the kernel and the stream, and the wait before each program.
    """
    launcher = core().cuda.Launcher(session, null_spec(arguments))
    chain = Chain(call_statement(arguments), {"call": call_of(launcher)}, before=launcher.wait)

    def burst(count: int) -> float:
        with translated(), launcher:
            return chain.burst(count)

    return Program(burst, LAUNCHED)
