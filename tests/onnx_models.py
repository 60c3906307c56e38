"""ONNX models small enough to be written by hand, where an export would take seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

SHAPE = (2, 3)


def step_model(folder: Path, shape: tuple[int | str, ...] = SHAPE) -> Path:
    """``state, change -> state + change, (state + change) * change``, in fp32."""
    kind = TensorProto.FLOAT
    nodes = [
        helper.make_node("Add", ["state", "change"], ["next"]),
        helper.make_node("Mul", ["next", "change"], ["product"]),
    ]
    inputs = [helper.make_tensor_value_info(name, kind, SHAPE) for name in ("state", "change")]
    outputs = [helper.make_tensor_value_info(name, kind, shape) for name in ("next", "product")]
    return saved(helper.make_graph(nodes, "step", inputs, outputs), folder)


def saved(graph: Any, folder: Path) -> Path:
    """`graph` as a file that every ONNX Runtime here can read."""
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path
