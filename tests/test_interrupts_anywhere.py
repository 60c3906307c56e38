"""Ctrl-C and SIGTERM at moments spread over a whole run: no traceback, nothing measured is lost."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from stand_in import messages, script

from ftax_micro.results import load_result

# The signal comes with the n-th call of a Python function, counted from the command's beginning.
RUN = """
import os, sys
from ftax_micro import cli, launch_floor
from ftax_micro.orchestration import floor
from stand_in import StandIn, row

number, at, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
floor.open_device = StandIn(row("first"), row("second"), row("third")).open
calls = 0

def count(frame, event, argument):
    global calls
    calls += event == "call"
    if calls == at and event == "call":
        os.kill(os.getpid(), number)

sys.setprofile(count)
code = cli.run(launch_floor.command, ["--device", "cpu", "--format", "csv", "-o", path])
sys.setprofile(None)
if not at:
    print("calls", calls, flush=True)
sys.exit(code)
"""
MOMENTS = 14
NEVER = 0
# The call of the command itself, and of what it calls first: earlier nobody could have listened.
_FIRST = 3


def run(path: Path, number: int, at: int) -> tuple[int, str, str]:
    return script(RUN, str(int(number)), str(at), str(path))


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Python calls of a run that nobody interrupts."""
    path = tmp_path_factory.mktemp("whole") / "floor.json"
    code, out, err = run(path, signal.SIGINT, NEVER)
    assert code == 0, err
    return int(out.split()[-1])


@pytest.mark.parametrize("moment", range(MOMENTS))
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_at_any_moment_loses_nothing(
    calls: int, moment: int, number: int, code: int, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    at = max(_FIRST, calls * moment // MOMENTS)
    status, out, err = run(path, number, at)
    assert "Traceback" not in err
    if status == -signal.SIGTERM:  # before or after the command listens: the system's own end
        assert number == signal.SIGTERM
        assert not path.exists() or load_result(path).complete
        return
    assert status in {code, 0}, err
    told = re.search(r"; (\d+) rows measured", err)
    rows = int(told[1]) if told else 0
    if rows:
        assert [m.name for m in load_result(path).measurements] == ["first", "second", "third"][
            :rows
        ]
        assert sum(line.startswith("cpu,") for line in out.splitlines()) == rows
    if status == code:
        assert len([line for line in messages(err) if "saved" not in line]) == 1
    else:  # it came when all was over
        assert len(load_result(path).measurements) == 3
