"""Eager: operations run as Python calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.executed import dispatched
from ftax_micro.modes.outputs import on_cpu

if TYPE_CHECKING:
    from ftax_micro.models.workload import Workload


class Eager:
    """The module as it is."""

    def prepare(self, workload: Workload) -> Prepared:
        """Nothing to make ready."""
        module, inputs = workload.module, workload.inputs

        def forward() -> Any:
            return module(**inputs)

        return Prepared(forward, on_cpu, executed=lambda: dispatched(forward))
