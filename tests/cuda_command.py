"""The command on a fake driver in a process of its own, and a fake that is quick."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# The least that is still a measurement.
TINY = ("--min-samples", "5", "--min-time", "0", "--timeout", "0.1")
# Costs at which all rows take seconds. A kernel starts late enough to be seen to start.
CHEAP: dict[str, int] = {
    **dict.fromkeys(("submit_ns", "submit_ex_ns", "submit_cooperative_ns"), 2_000),
    **dict.fromkeys(("submit_dependent_ns", "submit_runtime_ns", "first_launch_ns"), 2_000),
    **dict.fromkeys(("start_ns", "start_active_ns"), 100_000),
    **dict.fromkeys(("gap_ns", "gap_dependent_ns", "body_ns", "graph_gap_ns"), 500),
    **dict.fromkeys(("capture_node_ns", "graph_launch_node_ns", "graph_upload_node_ns"), 100),
    **dict.fromkeys(("graph_instantiate_ns", "graph_upload_ns", "graph_update_ns"), 5_000),
    **dict.fromkeys(("jit_ns", "module_load_ns", "module_unload_ns"), 5_000),
    "knee": 128,
}


def settings(**more: int | str) -> str:
    """What FAKE_CUDA takes: `CHEAP` and `more`."""
    return ",".join(f"{name}={value}" for name, value in {**CHEAP, **more}.items())


def environment(driver: Path | str, fake: str = "", **more: str) -> dict[str, str]:
    """The environment of a process that finds `driver`, a fake one with the settings `fake`."""
    variables = {name: text for name, text in os.environ.items() if "CUDA" not in name}
    ours = {"FTAX_MICRO_CUDA_DRIVER": str(driver), "FTAX_MICRO_CUDA_RUNTIME": "/nonexistent"}
    tests = str(Path(__file__).parent)
    return {**variables, **ours, "PYTHONPATH": tests, "FAKE_CUDA": fake, **more}


def run(arguments: list[str], variables: Mapping[str, str]) -> tuple[int, str, list[str]]:
    """Exit code, stdout and the messages on stderr of a Python process.

    The lines about this machine are left out, which no test can know. Two minutes are for a loaded
    machine.
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        env=dict(variables),
        cwd=Path(__file__).parent / "data",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    return done.returncode, done.stdout, lines


def launch_floor(
    driver: Path | str, *arguments: str, fake: str = "", **more: str
) -> tuple[int, str, list[str]]:
    """``python -m ftax_micro.launch_floor``; see `run`."""
    return run(
        ["-m", "ftax_micro.launch_floor", *arguments],
        environment(driver, fake or settings(), **more),
    )
