"""The packages that make and run ONNX models, or a sentence that says which one is missing."""

from __future__ import annotations

import importlib
from typing import Any

from ftax_micro.collector import collector_off
from ftax_micro.errors import MissingPackageError, Skip

_EXTRA = "models"


def import_for_export() -> Any:
    """onnx, with onnxscript at hand. Errors: `Skip` where either cannot be imported."""
    _import("onnxscript")
    return _import("onnx")


def import_onnxruntime() -> Any:
    """onnxruntime, silent but for what is fatal. Errors: `Skip` where it cannot be imported."""
    library = _import("onnxruntime")
    library.set_default_logger_severity(4)
    return library


@collector_off()
def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise Skip(str(MissingPackageError(name, _EXTRA))) from error
        raise Skip(f"{name} cannot be imported: {error}") from error
    except (ImportError, RuntimeError, OSError, AttributeError) as error:
        raise Skip(f"{name} cannot be imported: {error}") from error
