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
    "model_latency": "how long does a model take in each execution mode?",
    "compare": "floors of several machines side by side",
    "doctor": "what can run here and, for what cannot, why",
}

_USAGE = """\
usage: ftax-micro [COMMAND] [options]

Measure the framework tax: what software adds to the latency of a model, starting
with what one kernel launch costs on this machine. Without a command: launch_floor
on the best device here.

commands:
{commands}

options:
  -h, --help    show this help; COMMAND --help shows that of a command
  --version     show the version

examples:
  ftax-micro                           measure this machine, a minute or so
  ftax-micro doctor                    what can run here
  ftax-micro launch_floor -o a.json    measure and keep every raw sample
  ftax-micro compare a.json b.json     two machines, or before and after

`python -m ftax_micro` is the same as `ftax-micro`.

exit codes: 0 done; 1 a row failed or --fail-on fired; 2 wrong usage or unreadable
input; 3 the device is not available; 4 the result could not be written; 130 / 143
interrupted or terminated
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
