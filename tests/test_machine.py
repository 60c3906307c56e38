"""What is recorded of a machine beside its models; a script stands for the process of the peaks."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fake_results import environment, result, row

from ftax_micro.errors import Interrupted
from ftax_micro.orchestration import machine
from ftax_micro.orchestration.interrupts import Interrupts, catch_signals
from ftax_micro.orchestration.machine import Machine, measure_machine
from ftax_micro.result_rules import check_roofline

# The real child, with peaks that cost nothing.
CHILD = """
import os, sys, time
from ftax_micro.orchestration import machine
from ftax_micro.records import Data, Roofline

def peaks(device, dtypes, plan, quick, threads):
    what = os.environ["FTAX_TEST_PEAKS"]
    if what == "exit": print("no luck", file=sys.stderr, flush=True); os._exit(3)
    if what == "garble": return ["nonsense"]
    if what == "hang":
        open(os.environ["FTAX_TEST_MARK"], "w").write(str(os.getpid())); time.sleep(3600)
    data = Data(estimate="median", stop_reason="interval", samples=[1.0])
    return [Roofline(device=device, operation="matmul", dtype=dtype, work=float(threads),
                     status="ok", data=data) for dtype in dtypes]

machine.measure_rooflines = peaks
sys.exit(machine.main(sys.argv[1:]))
"""


class Floor:
    """Stands for a run of the launch floor."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def run(self) -> Any:
        return result(row("call_direct", [1.0] * 8))


def measured(
    what: str, monkeypatch: pytest.MonkeyPatch, interrupts: Interrupts | None = None
) -> Machine:
    monkeypatch.setattr(machine, "FloorRun", Floor)
    monkeypatch.setenv("FTAX_TEST_PEAKS", what)
    return measure_machine(
        "cpu",
        ["fp32", "fp16"],
        environment(),
        threads=3,
        interrupts=interrupts,
        command=(sys.executable, "-c", CHILD),
    )


def test_a_machine_is_its_floor_and_its_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured("all", monkeypatch)
    assert [each.name for each in found.measurements] == ["call_direct"]
    assert [(each.dtype, each.work, each.status) for each in found.rooflines] == [
        ("fp32", 3.0, "ok"),
        ("fp16", 3.0, "ok"),
    ]


@pytest.mark.parametrize(
    ("what", "reason"), [("exit", "its process ended with 3"), ("garble", "Expected `object`")]
)
def test_peaks_that_are_not_to_be_had_are_rows_with_the_reason(
    what: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured(what, monkeypatch)
    assert [each.status for each in found.rooflines] == ["failed", "failed"]
    for each in found.rooflines:
        check_roofline(each)
        assert reason in str(each.reason)


def test_ctrl_c_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    monkeypatch.setenv("FTAX_TEST_MARK", str(mark))

    def interrupt() -> None:
        while not mark.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with catch_signals() as interrupts:
        thread.start()
        with pytest.raises(Interrupted):
            measured("hang", monkeypatch, interrupts)
        thread.join(60)
