"""Execution modes by name. A new one is a file beside this and a line here."""

from __future__ import annotations

from ftax_micro.registry import Registry

MODES = Registry(
    "mode",
    {
        "eager": "ftax_micro.modes.eager:Eager",
        "torchscript": "ftax_micro.modes.torchscript:TorchScript",
        "onnxruntime": "ftax_micro.modes.onnxruntime:OnnxRuntime",
        "onnxruntime_cuda_graph": "ftax_micro.modes.onnxruntime_cuda_graph:OnnxRuntimeCudaGraph",
    },
)
