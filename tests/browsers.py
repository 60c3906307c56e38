"""A Chromium of this machine, for pages of our own opened from files: it asks for nothing else."""

from __future__ import annotations

import os
import shutil

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def chromium() -> str | None:
    """Its path; None where there is none. FTAX_MICRO_CHROMIUM names another one."""
    return os.environ.get("FTAX_MICRO_CHROMIUM") or next(
        filter(None, map(shutil.which, _NAMES)), None
    )
