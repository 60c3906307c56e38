"""Execution modes by name. A new one is a file beside this and a line here."""

from __future__ import annotations

from ftax_micro.registry import Registry

MODES = Registry(
    "mode",
    {
        "eager": "ftax_micro.modes.eager:Eager",
        "torchscript": "ftax_micro.modes.torchscript:TorchScript",
        "onnxruntime": "ftax_micro.modes.onnxruntime:OnnxRuntime",
        "cuda_graph": "ftax_micro.modes.cuda_graph:CudaGraph",
        "onnxruntime_cuda_graph": "ftax_micro.modes.onnxruntime_cuda_graph:OnnxRuntimeCudaGraph",
        "better_transformer": "ftax_micro.modes.better_transformer:BetterTransformer",
        "torch_compile": "ftax_micro.modes.torch_compile:TorchCompile",
        "torch_compile_reduce_overhead": (
            "ftax_micro.modes.torch_compile_reduce_overhead:TorchCompileReduceOverhead"
        ),
    },
)
