"""Rungs of the dispatch ladder by name, the lowest first. A new one is a file and a line here."""

from __future__ import annotations

from ftax_micro.registry import Registry

RUNGS = Registry(
    "rung",
    {
        name: f"ftax_micro.rungs.{name}:RUNG"
        for name in (
            "raw_call",
            "driver",
            "runtime",
            "extension",
            "ctypes",
            "cuda_core",
            "cupy_raw_kernel",
            "numba",
            "triton_cached",
            "triton_jit",
            "numpy_ufunc",
            "torchscript",
            "torch_inference_mode",
            "torch_no_grad",
            "torch_grad",
            "nn_module",
            "torch_custom_op",
            "torch_compile_op",
            "onnxruntime",
            "cuda_graph",
        )
    },
)
