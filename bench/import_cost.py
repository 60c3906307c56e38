"""What importing the package and asking for help cost.

    python bench/import_cost.py [--quick] [-o FILE]

Fresh interpreters, interleaved; a sample is the wall time from starting one to its end. Variants:

bare      python -c pass
import    python -c "import ftax_micro"              target: at most 30 ms over bare
--help    python -m ftax_micro.launch_floor --help   target: at most 100 ms in all
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

from common import attempt, difference, finish, interleave, parser
from rows import Row

IMPORT_S, HELP_S = 0.030, 0.100
VARIANTS = {
    "bare": ("-c", "pass"),
    "import": ("-c", "import ftax_micro"),
    "--help": ("-m", "ftax_micro.launch_floor", "--help"),
}


def main(argv: Sequence[str] | None = None) -> int:
    args = parser(__doc__).parse_args(argv)
    blocks = 4 if args.quick else 60
    rows = attempt("import_cost", lambda: costs(blocks))
    return finish("import_cost", rows, args, {"blocks": blocks})


def costs(blocks: int) -> list[Row]:
    """The two rows with a target."""
    # A neutral folder: `python -c` looks there first, and must find the installed package.
    with tempfile.TemporaryDirectory() as folder:
        samples = interleave(
            {name: starter(arguments, folder) for name, arguments in VARIANTS.items()}, blocks
        )
    bare = samples["bare"]
    imported = {"ours": samples["import"], "bare interpreter": bare}
    helped = {"ours": samples["--help"], "bare interpreter": bare}
    over = difference(*imported.values(), what="over bare", limit=IMPORT_S)
    # Against nothing: the difference to zero is the whole.
    whole = difference(samples["--help"], [0.0] * blocks, what="in all", limit=HELP_S)
    return [
        Row(name="import ftax_micro", samples=imported, figures=[over]),
        Row(name="launch_floor --help", samples=helped, figures=[whole]),
    ]


def starter(arguments: Sequence[str], folder: str) -> Callable[[], float]:
    """A probe that runs one interpreter to its end."""
    command = [sys.executable, *arguments]

    def probe() -> float:
        begin_s = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        return time.perf_counter() - begin_s

    return probe


if __name__ == "__main__":
    sys.exit(main())
