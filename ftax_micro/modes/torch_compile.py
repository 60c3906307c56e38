"""torch.compile: Python is traced into graphs, and these compiled into fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ftax_micro.frameworks.compiler_tools import check_compiler
from ftax_micro.modes.compiled_executed import executed_compiled
from ftax_micro.modes.compiling import compilations, compiled, forget
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.outputs import on_cpu
from ftax_micro.modes.waiting import waiting_for

if TYPE_CHECKING:
    from ftax_micro.models.workload import Workload


class TorchCompile:
    """`torch.compile` with its default backend and mode, for one shape."""

    def prepare(self, workload: Workload) -> Prepared:
        """Compile, and run until nothing is compiled any more."""
        check_compiler(workload.device)
        done = compiled(workload)
        module, inputs = done.module, done.inputs

        def forward() -> Any:
            return module(**inputs)

        return Prepared(
            forward,
            on_cpu,
            costs_s=done.costs_s,
            facts=done.facts,
            close=forget,
            synchronise=waiting_for(workload),
            run=done.run,
            executed=lambda: executed_compiled(forward, done.breaks),
            compilations=compilations,
        )
