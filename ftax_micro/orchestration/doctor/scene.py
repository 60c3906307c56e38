"""What the checks of a diagnosis look at."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ftax_micro.facts import Environment


@dataclass(frozen=True)
class Scene:
    """This machine, captured once and before any check opens a driver.

    `root` stands for ``/`` in tests, `environ` for the process's variables.
    """

    environment: Environment
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    root: Path = Path("/")
