"""A command that ends with the process that started it: ``python -m …with_parent COMMAND …``.

Nobody would fetch its result, and the next measurement would run beside it. Its stdin is a pipe
that only its parent can write to, and so ends with that, whatever ends it.
"""

from __future__ import annotations

import atexit
import os
import runpy
import signal
import sys
import threading
import time
from collections.abc import Callable

from ftax_micro.orchestration.child_process import end_with_parent

# To end what the command started, after the first signal.
_GRACE_S = 10.0


def run_with_parent(command: str, when_orphaned: Callable[[], None] = lambda: None) -> None:
    """Run `command` as by hand, in this process, whose arguments are its own; where the parent ends
    first, end it by SIGTERM, then call `when_orphaned`.

    The process leads a group: what is still there after a while is killed with it.
    """
    orphaned = threading.Event()

    def leave() -> None:
        orphaned.set()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_GRACE_S)
        when_orphaned()
        os.killpg(os.getpid(), signal.SIGKILL)

    end_with_parent(leave)
    atexit.register(lambda: when_orphaned() if orphaned.is_set() else None)
    runpy.run_module(f"ftax_micro.{command}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    run_with_parent(sys.argv.pop(1))
