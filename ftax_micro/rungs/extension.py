"""A function of our own extension, called from Python: an empty one, or one that launches."""

from __future__ import annotations

from ftax_micro.devices._extension import core
from ftax_micro.rungs.contract import ARGUMENTS, CALL_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.launching import called_program, launched_program, open_session


def _make(place: Place, arguments: int) -> Program:
    if place.kind == "cuda":
        return launched_program(open_session(place), arguments, lambda launcher: launcher.launch)
    return called_program(getattr(core().host, f"call_{arguments}"), arguments)


RUNG = Rung(
    name="extension",
    summary=(
        "Python calls a METH_FASTCALL function of the extension, which converts its integers and "
        "calls an empty C function with them, or on a GPU cuLaunchKernel, whose status it checks. "
        "It is the least that the way from Python into compiled code costs."
    ),
    source="https://docs.python.org/3/c-api/structures.html#c.METH_FASTCALL",
    operation={"cpu": "call", "cuda": "kernel"},
    below={"cpu": "raw_call", "cuda": "driver"},
    make=_make,
    arguments=ARGUMENTS,
    processes=CALL_PROCESSES,
)
