"""Which of the packages are installed that rungs of the dispatch ladder and pictures need.

They are not tried: each rung is measured in a process of its own and says itself what is wrong.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Mapping

from ftax_micro.findings import Finding
from ftax_micro.orchestration.doctor.scene import Scene

# By the module that is imported: the distributions that may bring it, the extra that asks for one.
PACKAGES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "numba": (("numba",), "ladder"),
    "numba.cuda": (("numba-cuda",), "cuda13"),
    "cuda.core": (("cuda-core",), "cuda13"),
    "cupy": (("cupy-cuda13x", "cupy-cuda12x", "cupy"), "cuda13"),
    "triton": (("triton",), "models"),
    "matplotlib": (("matplotlib",), "report"),
    "plotly": (("plotly",), "report"),
}


def check_ladder(_scene: Scene) -> Iterable[Finding]:
    """One finding for all: what is there, and what is not with the extras that bring it."""
    present, missing, extras = [], [], []
    for module, (distributions, extra) in PACKAGES.items():
        versions = [f"{name} {found}" for name in distributions if (found := _version(name))]
        present += versions
        if not versions:
            missing.append(module)
            extras.append(extra)
    detail = ", ".join(present) or "none of the optional ones"
    if not missing:
        yield Finding(part="ladder: packages", status="ok", detail=detail)
        return
    wanted = ",".join(dict.fromkeys(extras))
    advice = f"for their rungs and for pictures: `pip install 'ftax-micro[{wanted}]'`"
    detail = f"{detail}; not installed: {', '.join(missing)}"
    yield Finding(part="ladder: packages", status="missing", detail=detail, advice=advice)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
