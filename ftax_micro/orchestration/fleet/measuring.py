"""The process that measures on a node: ``python -m …measuring COMMAND [its options]``.

As by hand, but in a folder of its own, which goes with it, and no rank of whatever started the
engine.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from ftax_micro.environment.ranks import without_ranks
from ftax_micro.orchestration.with_parent import run_with_parent


def main(command: str) -> None:
    """Run `command` in this process, whose arguments are its own."""
    for name in os.environ.keys() - without_ranks(os.environ).keys():
        del os.environ[name]
    folder = Path.cwd()
    run_with_parent(command, lambda: shutil.rmtree(folder, ignore_errors=True))


if __name__ == "__main__":
    main(sys.argv.pop(1))
