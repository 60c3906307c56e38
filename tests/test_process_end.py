"""How a process ends that leaves its modules to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import atexit, sys
from ftax_micro.process_end import end_process

class Kept:
    def __del__(self):
        sys.stderr.write("taken apart\\n")

kept = Kept()
atexit.register(print, " and registered")
print("buffered", end="")
"""


def ended(by: str) -> tuple[int, str, str]:
    command = [sys.executable, "-c", SCRIPT + by]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("code", [0, 3])
def test_what_is_registered_and_buffered_is_not_lost_and_nothing_is_taken_apart(code: int) -> None:
    assert ended(f"end_process({code})") == (code, "buffered and registered\n", "")
    assert ended(f"sys.exit({code})") == (code, "buffered and registered\n", "taken apart\n")
