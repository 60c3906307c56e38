"""Whether the traced floor can run: a tracer's package is here, and the driver lets it in."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterable

from ftax_micro.findings import Finding
from ftax_micro.orchestration.doctor.scene import Scene
from ftax_micro.orchestration.doctor.tracer_trial import tracer_refusal


def check_tracing(_scene: Scene) -> Iterable[Finding]:
    """NVIDIA's cupti-python: by its metadata and, where there is a driver, by starting it, in a
    process of its own: it would load CUPTI into this one.
    """
    try:
        version = importlib.metadata.version("cupti-python")
    except importlib.metadata.PackageNotFoundError:
        yield Finding(
            part="tracing",
            status="missing",
            detail="cupti-python is not installed",
            advice="only for the traced floor: `pip install 'ftax-micro[trace]'`",
        )
        return
    if importlib.util.find_spec("cupti") is None:
        advice = "`pip install --force-reinstall cupti-python`"
        detail = f"cupti-python {version} is installed without its module"
        yield Finding(part="tracing", status="broken", detail=detail, advice=advice)
        return
    if not _has_driver():
        detail = f"cupti-python {version}; not tried without a driver"
        yield Finding(part="tracing", status="ok", detail=detail)
        return
    refusal = tracer_refusal("cupti")
    if refusal is not None:
        detail, _, advice = f"cupti-python {version}: {refusal}".partition("; ")
        advice = advice or "rows under a tracer are skipped"
        yield Finding(part="tracing", status="broken", detail=detail, advice=advice)
        return
    detail = f"cupti-python {version} can trace this process"
    yield Finding(part="tracing", status="ok", detail=detail)


def _has_driver() -> bool:
    from ftax_micro.devices._extension import core
    from ftax_micro.devices.cuda import unavailable_reason
    from ftax_micro.errors import ExtensionError

    try:
        return bool(core().has_cuda) and unavailable_reason() is None
    except ExtensionError:
        return False
