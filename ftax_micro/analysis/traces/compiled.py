"""The compiled reader of events, where the extension is there; reading needs no more than time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ftax_micro.devices._extension import core
from ftax_micro.errors import ExtensionError


def compiled_scan() -> Callable[[bytes | memoryview], Any] | None:
    """`scan_events` of the extension, or None where it is missing or of another version."""
    try:
        scan: Callable[[bytes | memoryview], Any] = core().traces.scan_events
    except ExtensionError:
        return None
    return scan
