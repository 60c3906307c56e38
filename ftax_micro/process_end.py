"""How a process ends that has imported a framework and done its work."""

from __future__ import annotations

import atexit
import os
import sys
from typing import NoReturn


def end_process(code: int) -> NoReturn:
    """End this process with `code`: what is registered for its end is called, what is buffered is
    written, and the rest is the system's to take back.

    A return from main would have Python take apart every module first, object by object. With torch
    that takes most of a second, and twice that with its compiler, while somebody waits for the end.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)
