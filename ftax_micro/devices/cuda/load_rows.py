"""The row for a kernel's first launch: compiling, loading and launching it, each apart."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cuda.loops import Loops, row_measure
from ftax_micro.measurement import measure_shots
from ftax_micro.records import ClockFacts, Plan, Setting

# What is timed, of which image: PTX that the driver compiles (alone, or as it loads it), or machine
# code made once before.
_SETTINGS: Sequence[Setting] = (
    {"step": "compile", "image": "ptx"},
    {"step": "load", "image": "ptx"},
    {"step": "load", "image": "cubin"},
    {"step": "get_function", "image": "cubin"},
    {"step": "first_launch", "image": "cubin"},
    {"step": "first_total", "image": "cubin"},
    {"step": "second_total", "image": "cubin"},
)
_MODULES_PER_DRAW = 5


def load_rows(loops: Loops, clock: ClockFacts) -> list[FloorRow]:
    """``first_launch``: a fresh module for every sample."""
    return [
        FloorRow(
            "first_launch",
            "first launch of a kernel not loaded yet, and what it takes to load it",
            row_measure(functools.partial(_first_launch, loops, clock)),
            settings=_SETTINGS,
        )
    ]


def _first_launch(loops: Loops, clock: ClockFacts, setting: Setting, plan: Plan) -> Outcome:
    session = loops.session()
    images = loops.extension.Image
    image = getattr(images, str(setting["image"]))

    def probe(modules: int) -> list[float]:
        if setting["step"] == "compile":  # once in a call, before what is compiled is loaded
            compiled = (
                loops.extension.first_launch(session, images.cubin, 1) for _ in range(modules)
            )
            return [float(each.link_s) for each in compiled]
        launches = loops.extension.first_launch(session, image, modules)
        return list(getattr(launches, f"{setting['step']}_s"))

    return Outcome(measure_shots(probe, plan, clock, per_draw=_MODULES_PER_DRAW))
