"""Tracers by name. Each is one small module; a setting's `tracer` names it.

Every module has three functions: `missing() -> str | None` tells, without importing anything heavy,
why the tracer cannot be had here; `start() -> Tracer` starts it, in a process that has not called
the driver yet; it raises `errors.Skip` with the reason where it cannot. A process that was traced
once is never used for untraced figures: what a tracer leaves behind stays until the process ends.
"""

from __future__ import annotations

from ftax_micro.registry import Registry

TRACERS = Registry("tracer", {"cupti": "ftax_micro.profilers.cupti:CUPTI"})
