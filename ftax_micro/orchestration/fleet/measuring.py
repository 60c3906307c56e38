"""The process that measures on a node: ``python -m …measuring COMMAND [its options]``.

The command as by hand, in a folder of its own, but that it ends when the process that started it
does: nobody would fetch its result, and the next measurement would run beside it.
"""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

from ftax_micro.orchestration.child_process import end_with_parent

# To end what the command started, after the first signal.
_GRACE_S = 10.0
# What says that a process is one of many. Here that was the one that started the engine.
RANKS = (
    *("RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "PMI_RANK"),
    *("FLUX_TASK_RANK", "PMIX_RANK", "SLURM_PROCID"),
)


def main(command: str) -> None:
    """Run `command` in this process, whose arguments are its own."""
    orphaned = threading.Event()

    def leave() -> None:
        orphaned.set()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_GRACE_S)
        shutil.rmtree(Path.cwd(), ignore_errors=True)
        os.killpg(os.getpid(), signal.SIGKILL)

    for variable in RANKS:
        os.environ.pop(variable, None)
    end_with_parent(leave)
    try:
        runpy.run_module(f"ftax_micro.{command}", run_name="__main__", alter_sys=True)
    finally:
        if orphaned.is_set():
            shutil.rmtree(Path.cwd(), ignore_errors=True)


if __name__ == "__main__":
    name = sys.argv.pop(1)
    main(name)
