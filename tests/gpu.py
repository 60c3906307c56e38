"""Real runs on a real GPU, each in a process of its own, and their headlines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ftax_micro.analysis.summary import Summary, summarise
from ftax_micro.records import Setting
from ftax_micro.results import Result, load_result

# Outside the checkout, so that the installed package is what runs.
_PLACE = Path(__file__).parent / "data"


def floor(path: Path, *arguments: str) -> tuple[int, Result]:
    """Exit code and result of ``launch_floor``.

    Other processes on the GPU, a debugger or the like make numbers a test cannot judge: then the
    run is refused, and what it said is the failure.
    """
    done = _run(["-m", "ftax_micro.launch_floor", *arguments, "-o", str(path)])
    assert path.exists(), done.stderr
    return done.returncode, load_result(path)


def script(text: str, timeout_s: float = 120) -> Any:
    """What a script prints as JSON in its last line."""
    done = _run(["-c", text], timeout_s)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def command(*arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of ``python -m`` with `arguments`."""
    done = _run(["-m", *arguments])
    return done.returncode, done.stdout, done.stderr


def row(result: Result, name: str, setting: Setting | None = None, device: str = "") -> Summary:
    """The row of that name in exactly that setting; it must have been measured."""
    wanted = setting or {}
    found = [
        each
        for each in summarise(result.measurements)
        if (each.name, each.setting) == (name, wanted) and each.device.startswith(device)
    ]
    assert found, f"no row {name} {wanted}"
    assert found[0].status == "ok", found[0].reason
    return found[0]


def headline_s(result: Result, name: str, setting: Setting | None = None) -> float:
    """Its value in seconds."""
    value = row(result, name, setting).value
    assert value is not None
    return value


def _run(arguments: Sequence[str], timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=_PLACE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
