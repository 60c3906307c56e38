"""ONNX Runtime replaying a CUDA graph that it captured of its own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftax_micro.errors import Skip

if TYPE_CHECKING:
    from ftax_micro.models.workload import Workload
    from ftax_micro.modes.contract import Prepared


class OnnxRuntimeCudaGraph:
    """As `OnnxRuntime`, captured once and launched as one graph from then on."""

    def prepare(self, workload: Workload) -> Prepared:
        """Export, unless that was done before; load, bind, capture.

        Errors: `Skip` on a device that is not CUDA's.
        """
        if not workload.device.startswith("cuda"):
            raise Skip("CUDA graphs exist on a CUDA device only")
        from ftax_micro.modes.onnx_preparation import prepare

        return prepare(workload, cuda_graph=True)
