"""``python -m ftax_micro [COMMAND]`` and ``ftax-micro [COMMAND]``.

Without a command: the main job.
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
    "dispatch_ladder": "what does every software layer add to one operation?",
    "model_latency": "how long does a model take in each execution mode?",
    "bound_analysis": "what explains a latency: kernels, launches, or the framework?",
    "report": "all of it as one page, with figures",
    "fleet": "the same measurement on every machine of a cluster",
    "compare": "results of several machines side by side, or before and after",
    "doctor": "what can run here and, for what cannot, why",
}

MAIN_JOB = "main_job"

_USAGE = """\
usage: ftax-micro [COMMAND] [options]

Measure the framework tax: what software adds to the latency of a model. Without a
command, the main job: what one launch costs on this machine, a small and a large
BERT in every execution mode that can run here, what binds each of them, and what
to do about it; three minutes at most on a laptop. Models need torch: pip install
'ftax-micro[models]'.

commands:
{commands}

options:
  -h, --help       show this help; COMMAND --help shows that of a command
  --version        show the version

options of the main job:
  --device NAME    cpu, cuda, cuda:N or auto: a GPU if one can be used (default)
  -o FILE          save everything, raw samples included, as JSON; --force replaces
                   an existing FILE; fields like {{host}} in its name are filled in
                   (launch_floor --help lists them)
  --report PAGE    where to write the report (default: beside FILE as .html, else
                   among the temporary files)
  --format NAME    table, json or markdown (default: table)
  --show FILE      measure nothing; show a result saved with -o

examples:
  ftax-micro                           floor, models and advice for this machine
  ftax-micro -o machine.json           keep every raw sample
  ftax-micro doctor                    what can run here
  ftax-micro launch_floor -o a.json    the floor alone, more closely
  ftax-micro compare a.json b.json     two machines, or before and after

`python -m ftax_micro` is the same as `ftax-micro`.

exit codes: 0 done; 1 a row failed or --fail-on fired; 2 wrong usage or unreadable
input; 3 the device is not available; 4 the result could not be written; 130 / 143
interrupted or terminated
"""


def usage() -> str:
    """The help text."""
    return _USAGE.format(
        commands="\n".join(f"  {name:<16}{text}" for name, text in COMMANDS.items())
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
    name = MAIN_JOB
    if arguments and not arguments[0].startswith("-"):
        name = arguments.pop(0).replace("-", "_")
    if name not in (*COMMANDS, MAIN_JOB):
        raise UnknownNameError("command", name, COMMANDS)
    chosen: Callable[[Sequence[str]], int] = importlib.import_module(f"ftax_micro.{name}").command
    return chosen(arguments)


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
