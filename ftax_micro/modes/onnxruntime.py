"""ONNX Runtime: the exported graph, optimised ahead of time, on torch's own tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ftax_micro.models.workload import Workload
    from ftax_micro.modes.contract import Prepared


class OnnxRuntime:
    """The paper's static execution, by the execution provider of the workload's device."""

    def prepare(self, workload: Workload) -> Prepared:
        """Export, unless that was done before; load, bind inputs and outputs, run once."""
        from ftax_micro.modes.onnx_preparation import prepare

        return prepare(workload)
