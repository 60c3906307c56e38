"""``python -m ftax_micro [COMMAND]`` and ``ftax-micro [COMMAND]``.

Without a command: the main job, which for now is the launch floor of the best device here.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence

from ftax_micro import __version__, cli
from ftax_micro.errors import UnknownNameError

# name: what it answers. Each is a module of this name with a function `command(argv)`.
COMMANDS = {
    "launch_floor": "how cheap can one launch be on this machine?",
    "compare": "floors of several machines side by side",
    "doctor": "what can run here and, for what cannot, why",
}

_USAGE = """\
usage: ftax-micro [COMMAND] [options]

Measure the framework tax. Without a command: the launch floor of the best device here.

commands:
{commands}

`ftax-micro COMMAND --help` shows a command's options; --version prints the version.
"""


def usage() -> str:
    """The help text."""
    return _USAGE.format(
        commands="\n".join(f"  {name:<14}{text}" for name, text in COMMANDS.items())
    )


def command(argv: Sequence[str] | None = None) -> int:
    """Dispatch to a command. Errors: `UnknownNameError` for a name that is none."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["-h"], ["--help"]):
        cli.write_output(usage())
        return 0
    if arguments[:1] == ["--version"]:
        cli.write_output(f"ftax-micro {__version__}")
        return 0
    name = "launch_floor"
    if arguments and not arguments[0].startswith("-"):
        name = arguments.pop(0).replace("-", "_")
    if name not in COMMANDS:
        raise UnknownNameError("command", name, COMMANDS)
    chosen: Callable[[Sequence[str]], int] = importlib.import_module(f"ftax_micro.{name}").command
    return chosen(arguments)


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
