"""Importing torchvision beside a torch it was not built for.

PyPI's torchvision is built for CUDA. Beside a CPU build of torch its compiled operators cannot be
loaded, after which ``import torchvision`` fails with "operator torchvision::nms does not exist",
and transformers' model classes, which import torchvision where it is installed, fail with it. No
classification model uses those operators: once their signatures are declared, everything else
works.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from types import ModuleType
from typing import Any

from ftax_micro.collector import collector_off
from ftax_micro.errors import MissingPackageError, Skip

_SYMPTOM = "torchvision::nms does not exist"
_MISSING_OPERATORS = ("nms", "qnms")
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
# Declarations live as long as the library object.
_kept: list[Any] = []


@functools.cache
@collector_off()
def import_torchvision() -> ModuleType:
    """torchvision, with its missing operators declared where its own could not be loaded.

    Errors: `MissingPackageError` where it is not installed; `Skip` with the reason where it is and
    cannot be imported.
    """
    try:
        return importlib.import_module("torchvision")
    except ModuleNotFoundError as error:
        if error.name == "torchvision":
            raise MissingPackageError("torchvision", "models") from error
        raise Skip(f"torchvision cannot be imported: {error}") from error
    except (RuntimeError, OSError) as error:
        if _SYMPTOM not in str(error):
            raise Skip(f"torchvision cannot be imported: {error}") from error
    _declare_operators()
    _forget_half_imported()
    try:
        return importlib.import_module("torchvision")
    except Exception as error:
        raise Skip(f"this torchvision and this torch do not belong together: {error}") from error


def operators_declared() -> bool:
    """Whether `import_torchvision` had to declare operators: detection models cannot run."""
    return bool(_kept)


def mend_torchvision() -> None:
    """Make what imports torchvision on its own account (transformers) work, where it can be."""
    with contextlib.suppress(MissingPackageError, Skip):
        import_torchvision()


def _declare_operators() -> None:
    import torch

    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in _MISSING_OPERATORS:
        library.define(f"{name}{_SIGNATURE}")
    _kept.append(library)


def _forget_half_imported() -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
