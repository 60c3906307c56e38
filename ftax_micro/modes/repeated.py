"""A forward of several steps, each on the outputs of the one before, in any mode that can run one.

A mode prepares one step; generation is a loop over it, as in every serving program. Unrolled into
one graph the same takes minutes to export and to compile.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from ftax_micro.errors import Skip
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.outputs import on_cpu

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from ftax_micro.models.workload import Workload


def repeated(prepared: Prepared, workload: Workload) -> Prepared:
    """`prepared`, one step of `workload`, as its whole forward: `prepared` itself where that is it.

    Each forward begins with the workload's own inputs and returns the last step's outputs; what
    feeds back is `workload.feedback`. Errors: `Skip` where the mode cannot exchange its inputs.
    """
    if workload.steps == 1:
        return prepared
    run = prepared.run
    if run is None:
        raise Skip("inputs cannot be exchanged in this mode, so no step can follow another")
    names, first = tuple(workload.inputs), tuple(workload.inputs.values())
    places = [names.index(name) for name in workload.feedback]
    steps = range(workload.steps)

    def forward() -> Sequence[torch.Tensor]:
        inputs = list(first)
        outputs: Sequence[torch.Tensor] = ()
        for _ in steps:
            outputs = run(inputs)
            for place, output in zip(places, outputs, strict=True):
                inputs[place] = output
        return outputs

    step = prepared.executed
    return dataclasses.replace(
        prepared,
        forward=forward,
        outputs=on_cpu,
        run=None,
        executed=step and (lambda: {name: n * workload.steps for name, n in step().items()}),
    )
