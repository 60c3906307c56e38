"""Eager: operations run as Python calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.exchange import runner
from ftax_micro.modes.executed import dispatched
from ftax_micro.modes.outputs import on_cpu
from ftax_micro.modes.waiting import waiting_for

if TYPE_CHECKING:
    from ftax_micro.models.workload import Workload


class Eager:
    """The module as it is."""

    def prepare(self, workload: Workload) -> Prepared:
        """Nothing to make ready."""
        module, inputs = workload.module, workload.inputs

        def forward() -> Any:
            return module(**inputs)

        return Prepared(
            forward,
            on_cpu,
            synchronise=waiting_for(workload),
            run=runner(module, tuple(inputs)),
            executed=lambda: dispatched(forward),
        )
