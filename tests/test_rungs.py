"""What every rung has to be, and the machinery that measures one."""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ftax_micro.devices.contract import Outcome
from ftax_micro.devices.cpu import measured_clock
from ftax_micro.errors import Skip
from ftax_micro.records import Plan
from ftax_micro.rungs import RUNGS, ladder
from ftax_micro.rungs.chained import Chain
from ftax_micro.rungs.contract import ARGUMENTS, Place, Program, Rung
from ftax_micro.rungs.ladder import LadderDevice, RemovedOperationsError
from ftax_micro.rungs.packages import BrokenPackageError, require

PLAN = Plan(min_samples=12, min_time_s=0.0, timeout_s=0.2, warmup_time_s=0.0)
CLOCK = measured_clock()


@pytest.mark.parametrize("name", list(RUNGS))
def test_a_rung_says_what_it_is_and_stands_on_a_lower_one(name: str) -> None:
    rung: Rung = RUNGS.open(name)
    order = list(RUNGS)
    assert rung.name == name
    assert rung.source
    assert rung.summary.endswith(".")
    assert rung.summary.count(". ") == 1  # two sentences
    assert set(rung.operation) == set(rung.below) <= {"cpu", "cuda"}
    assert set(rung.arguments) in ({*ARGUMENTS}, set())
    for kind, below in rung.below.items():
        if below is not None:
            assert kind in RUNGS.open(below).below
            assert order.index(below) < order.index(name)


def test_the_lowest_rung_of_each_device_is_one_alone() -> None:
    every = [RUNGS.open(name) for name in RUNGS]
    for kind in {kind for rung in every for kind in rung.below}:
        assert sum(rung.below.get(kind, "") is None for rung in every) <= 1


def test_opening_all_rungs_imports_no_library() -> None:
    heavy = {"torch", "numba", "onnxruntime", "cupy", "triton", "cuda"}
    before = heavy & set(sys.modules)
    for name in RUNGS:
        RUNGS.open(name)
    assert heavy & set(sys.modules) == before


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_what_rungs_share_is_loaded_once_and_what_breaks_is_left_to_them(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    load = loaded.append

    def broken(_: str) -> None:
        raise ImportError("no such package")

    rung = RUNGS.open("raw_call")
    loads = {"a": load, "b": broken, "c": load, "d": None, "e": lambda kind: load(f"other {kind}")}
    rungs = {name: replace(rung, load=each) for name, each in loads.items()}
    monkeypatch.setattr(ladder, "RUNGS", SimpleNamespace(open=rungs.__getitem__))
    ladder.load_rungs(rungs, device)
    kind = device.partition(":")[0]
    assert loaded == [kind, f"other {kind}"]


def test_what_stands_on_torch_loads_it_ahead_and_what_needs_no_package_loads_none() -> None:
    every: list[Rung] = [RUNGS.open(name) for name in RUNGS]
    assert all(rung.load for rung in every if rung.package == "torch")
    assert not any(rung.load for rung in every if rung.package is None)


# Straight-line programs


def test_a_chain_runs_its_statement_as_often_as_asked_on_the_result_before() -> None:
    calls: list[int] = []

    def add(x: int, y: int) -> int:
        calls.append(x)
        return x + y

    chain = Chain("x = add(x, two)", {"add": add, "two": 2}, start=lambda: 5)
    assert chain.result(3) == 11
    assert calls == [5, 7, 9]
    assert chain.burst(2) > 0
    assert calls[3:] == [5, 7]


def test_what_comes_before_a_chain_is_not_timed() -> None:
    chain = Chain("pass", {}, before=lambda: time.sleep(0.1))
    assert min(chain.burst(1) for _ in range(3)) < 0.1


# Packages


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_package_that_is_missing_names_its_extra() -> None:
    with pytest.raises(Skip, match=r"no_such_package is not installed: pip install 'ftax-micro\["):
        require("no_such_package", "ladder")
    with pytest.raises(Skip, match="no_such_package is not installed"):
        require("no_such_package.part", "ladder")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise OSError('libwhat.so: no such file')", "OSError: libwhat.so: no such file"),
        ("import another_that_is_missing", "No module named 'another_that_is_missing'"),
        ("this is no Python", "SyntaxError"),
    ],
)
def test_a_package_that_breaks_on_import_says_how(put: Path, text: str, reason: str) -> None:
    (put / "broken_package.py").write_text(text)
    with pytest.raises(BrokenPackageError, match="broken_package cannot be imported") as raised:
        require("broken_package", "ladder")
    assert reason in str(raised.value)


def test_a_package_that_is_too_old_says_what_is_needed(put: Path) -> None:
    (put / "old_package.py").write_text("__version__ = '1.9.0+local'")
    with pytest.raises(Skip, match=r"old_package 1.9.0\+local is too old: 1.10 is needed"):
        require("old_package", "ladder", (1, 10))
    assert require("old_package", "ladder", (1, 9)).__version__ == "1.9.0+local"


# Measuring


def rung_of(program: Program) -> Rung:
    return Rung(
        name="made",
        summary="One. Two.",
        source="here",
        operation={"cpu": "add"},
        below={"cpu": None},
        make=lambda _place, _arguments: program,
    )


def measured(program: Program) -> Outcome:
    return ladder._measure(rung_of(program), Place("cpu", CLOCK), {"op": "add"}, PLAN)


def test_a_program_that_runs_what_it_says_is_measured_and_closed() -> None:
    closed = []
    program = Program(
        burst=lambda count: count * 1e-6,
        counts=(10, 20, 30),
        executed=lambda count: count,
        facts={"version": "1"},
        close=lambda: closed.append(True),
    )
    outcome = measured(program)
    facts = {key: value for key, value in outcome.facts.items() if key != "cores"}
    assert facts == {"version": "1", "below": None, "operations_counted": True}
    assert [level.count for level in outcome.data.levels] == [10, 20, 30]
    assert closed == [True]


@pytest.mark.usefixtures("nothing_set_aside")
def test_old_objects_are_kept_from_the_collector_while_bursts_are_timed() -> None:
    frozen: list[int] = []

    def burst(count: int) -> float:
        frozen.append(gc.get_freeze_count())
        return count * 1e-6

    measured(Program(burst, counts=(10, 20)))
    assert min(frozen) > 0
    assert gc.get_freeze_count() == 0
    gc.freeze()
    try:
        kept = gc.get_freeze_count()
        measured(Program(burst, counts=(10, 20)))
        # Whoever did that wants it to stay; some of what is frozen may have gone meanwhile.
        assert gc.get_freeze_count() > kept / 2
    finally:
        gc.unfreeze()


def test_a_program_that_lost_operations_fails_and_is_closed() -> None:
    closed = []
    program = Program(
        burst=lambda count: count * 1e-6,
        counts=(10, 20),
        executed=lambda count: 1 if count == 20 else count,
        close=lambda: closed.append(True),
    )
    with pytest.raises(RemovedOperationsError, match=r"of 20 operations 1 ran: .* fused"):
        measured(program)
    assert closed == [True]


def test_the_ladder_is_a_device_whose_rows_are_the_rungs() -> None:
    device = LadderDevice("cpu")
    names = [row.name for row in device.rows()]
    assert names == [name for name in RUNGS if "cpu" in RUNGS.open(name).below]
    assert device.describe().kind == "cpu"
    assert device.state() is not None
    raw = next(row for row in device.rows() if row.name == "raw_call")
    assert raw.measure({"op": "call"}, PLAN).data.levels
    device.close()
