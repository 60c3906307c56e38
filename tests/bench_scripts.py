"""The scripts in bench/, for tests that import them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parent.parent / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of bench/ by name, as its scripts see each other."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module
