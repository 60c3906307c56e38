"""What PyTorch's dispatch modes have in common, wherever this package has one."""

from __future__ import annotations

import sys


def compiler_is_loaded() -> bool:
    """What a dispatch mode's ``_should_skip_dynamo`` shall answer; PyTorch's own says yes.

    A mode that says so imports the compiler at its first operation, to keep it off: 3 s and 1,000
    modules in a process that compiles nothing. One that is not loaded need not be kept off.
    """
    return "torch._dynamo" in sys.modules
