"""Ctrl-C in a real run of ``model_latency``, then ``--resume``."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from stand_in import finish, messages, start

from ftax_micro.results import load_result

pytest.importorskip("torch", reason="the models extra is not installed")

# Each is measured in a process of its own, which takes seconds to start: a signal after the first
# case comes while the second model's process does.
FIRST, SECOND = "conv1d@channels=2", "conv1d@channels=3"
ASKED = ("--model", f"{FIRST},{SECOND}", "--sequence", "4", "--mode", "eager,torchscript")
BRIEF = ("--device", "cpu", "--quick", "--min-samples", "4", "--timeout", "1")


def begin(path: Path) -> subprocess.Popen[str]:
    return start("-m", "ftax_micro.model_latency", *ASKED, *BRIEF, "-o", str(path), "--resume")


def wait_for_cases(path: Path, child: subprocess.Popen[str]) -> None:
    """Until the file has cases: it is written anew after each workload."""
    last_s = time.monotonic() + 60
    while not path.exists() or not load_result(path).cases:
        assert child.poll() is None, finish(child)
        assert time.monotonic() < last_s
        time.sleep(0.05)


def test_ctrl_c_keeps_what_was_measured_and_resume_adds_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    child = begin(path)
    wait_for_cases(path, child)
    os.kill(child.pid, signal.SIGINT)
    code, out, err = finish(child)
    assert code == 130
    assert "ftax-micro: stopped by SIGINT; 2 cases measured" in messages(err)
    stopped = load_result(path)
    assert not stopped.complete
    measured = [(case.model, case.mode) for case in stopped.cases if case.status == "ok"]
    assert measured == [(FIRST, "eager"), (FIRST, "torchscript")]
    assert FIRST in out

    code, out, err = finish(begin(path))
    assert code == 0
    assert "ftax-micro: 2 cases are there already, 2 are to be measured" in messages(err)
    whole = load_result(path)
    assert whole.complete
    assert [(case.model, case.mode, case.status) for case in whole.cases] == [
        (model, mode, "ok") for model in (FIRST, SECOND) for mode in ("eager", "torchscript")
    ]
    assert whole.cases[:2] == stopped.cases[:2]  # their `measured_at` among it
    assert SECOND in out
