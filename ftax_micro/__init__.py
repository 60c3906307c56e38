"""ftax_micro: measure the framework tax, from one kernel launch to a model's latency.

Public names are loaded on first use, so that importing the package costs nothing:

>>> import ftax_micro
>>> result = ftax_micro.measure_launch_floor(device="cpu", quick=True)   # doctest: +SKIP
>>> ftax_micro.load_result("floor.json")                                 # doctest: +SKIP
"""

from __future__ import annotations

import os

__version__ = "0.1.0"

# Type checkers take this name for true. Importing it from `typing`, or `pathlib` further down,
# would be most of what `import ftax_micro` costs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ftax_micro.analysis.comparing.comparison import compare_results
    from ftax_micro.analysis.floor.closure import closure_check
    from ftax_micro.analysis.ladder_prediction import predict
    from ftax_micro.analysis.ladder_view import ladder_rows
    from ftax_micro.analysis.pools.pool import pool_results
    from ftax_micro.analysis.summary import summarise
    from ftax_micro.errors import FtaxError
    from ftax_micro.orchestration.doctor.diagnosis import diagnose
    from ftax_micro.orchestration.floor import measure_launch_floor
    from ftax_micro.orchestration.ladder import measure_dispatch_ladder
    from ftax_micro.orchestration.latency.api import (
        measure_model_latency,
        measure_module_latency,
    )
    from ftax_micro.results import load_result, save_result

__all__ = [
    "FtaxError",
    "__version__",
    "closure_check",
    "compare_results",
    "diagnose",
    "ladder_rows",
    "load_result",
    "measure_dispatch_ladder",
    "measure_launch_floor",
    "measure_model_latency",
    "measure_module_latency",
    "pool_results",
    "predict",
    "save_result",
    "summarise",
]

_LAZY = {
    "FtaxError": "ftax_micro.errors",
    "closure_check": "ftax_micro.analysis.floor.closure",
    "compare_results": "ftax_micro.analysis.comparing.comparison",
    "diagnose": "ftax_micro.orchestration.doctor.diagnosis",
    "ladder_rows": "ftax_micro.analysis.ladder_view",
    "load_result": "ftax_micro.results",
    "measure_dispatch_ladder": "ftax_micro.orchestration.ladder",
    "measure_launch_floor": "ftax_micro.orchestration.floor",
    "measure_model_latency": "ftax_micro.orchestration.latency.api",
    "measure_module_latency": "ftax_micro.orchestration.latency.api",
    "pool_results": "ftax_micro.analysis.pools.pool",
    "predict": "ftax_micro.analysis.ladder_prediction",
    "save_result": "ftax_micro.results",
    "summarise": "ftax_micro.analysis.summary",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _find_extension() -> None:
    """In a checkout without a built extension, look for the installed one (see _checkout)."""
    here = os.path.dirname(__file__)  # noqa: PTH120
    if any(name.startswith("_core.") and name.endswith(".so") for name in os.listdir(here)):  # noqa: PTH208
        return
    from pathlib import Path

    from ftax_micro._checkout import installed_package

    folder = installed_package(Path(here))
    if folder is not None:
        __path__.append(str(folder))


_find_extension()
