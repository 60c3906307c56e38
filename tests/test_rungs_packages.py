"""Rungs on packages of the cpu, really measured; ONNX Runtime on CUDA over a stand-in."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cuda_libraries as stand_ins
import pytest
from cuda_libraries import Calls
from fake_cuda import FakeCuda

from ftax_micro import _core
from ftax_micro.devices.contract import Outcome
from ftax_micro.devices.cpu import measured_clock
from ftax_micro.devices.cuda.loops import Loops
from ftax_micro.errors import Skip
from ftax_micro.frameworks import onnx_session
from ftax_micro.records import Plan
from ftax_micro.rungs import RUNGS, ladder, onnxruntime
from ftax_micro.rungs.contract import ARGUMENTS, Place, Program, Rung
from ftax_micro.rungs.ladder import RemovedOperationsError
from ftax_micro.rungs.packages import BrokenPackageError

PLAN = Plan(min_samples=8, min_time_s=0.0, timeout_s=0.1, warmup_time_s=0.0)
CPU = Place("cpu", measured_clock())

Patch = pytest.MonkeyPatch
needs_cuda = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")


def measured(name: str, setting: dict[str, str | int | float]) -> Outcome:
    return ladder._measure(RUNGS.open(name), CPU, setting, PLAN)


def made(name: str, place: Place = CPU) -> Program:
    rung: Rung = RUNGS.open(name)
    return rung.make(place, 0)


# NumPy


def test_every_addition_of_numpy_runs() -> None:
    outcome = measured("numpy_ufunc", {"op": "add"})
    counts = [level.count for level in outcome.data.levels]
    program = made("numpy_ufunc")
    assert program.executed is not None
    assert counts == list(program.counts)
    assert [program.executed(count) for count in counts] == counts
    assert all(min(level.samples_s) > 0 for level in outcome.data.levels)
    assert (outcome.facts["below"], outcome.facts["operations_counted"]) == ("extension", True)


# ONNX Runtime


@pytest.fixture
def few(monkeypatch: Patch) -> None:
    pytest.importorskip("onnxruntime", reason="the models extra is not installed")
    pytest.importorskip("onnx", reason="the models extra is not installed")
    monkeypatch.setattr(onnxruntime, "_COUNTS", (6, 12))


def test_every_node_runs_and_leaves_nothing(
    few: None, tmp_path: Path, monkeypatch: Patch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outcome = measured("onnxruntime", {"op": "add"})
    assert outcome.facts["operations_counted"]
    assert outcome.facts["providers"] == "CPUExecutionProvider"
    assert [level.count for level in outcome.data.levels] == [6, 12]
    assert all(min(level.samples_s) > 0 for level in outcome.data.levels)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_nodes_that_the_optimiser_folds_are_missed(few: None, monkeypatch: Patch) -> None:
    from onnx import helper, load, numpy_helper, save

    whole = onnxruntime.write_chain

    def constant(path: Path, count: int) -> None:
        import numpy

        whole(path, count)
        model = load(path)
        name = model.graph.node[0].input
        ones = numpy.ones(1, numpy.float32)
        # The last node alone still has an input that is not known beforehand.
        model.graph.initializer.append(numpy_helper.from_array(ones, "known"))
        name[0] = name[1] = "known"
        for node in model.graph.node[1:-1]:
            node.input[1] = "known"
        last = model.graph.node[-1].input
        model.graph.node.append(helper.make_node("Add", [last[0], "start"], ["folded"]))
        save(model, path)

    monkeypatch.setattr(onnxruntime, "write_chain", constant)
    with pytest.raises(RemovedOperationsError, match=r"^of 6 operations [12] ran: .* folded"):
        measured("onnxruntime", {"op": "add"})


def test_nodes_that_were_not_asked_for_are_told(few: None, monkeypatch: Patch) -> None:
    from onnx import helper, load, save

    whole = onnxruntime.write_chain

    def longer(path: Path, count: int) -> None:
        whole(path, count)
        model = load(path)
        last = model.graph.node[-1]
        model.graph.node.append(helper.make_node("Sqrt", ["x"], [last.output[0]]))
        last.output[0] = "x"
        save(model, path)

    monkeypatch.setattr(onnxruntime, "write_chain", longer)
    with pytest.raises(onnxruntime.AddedNodesError, match="ONNX Runtime also executes Sqrt"):
        measured("onnxruntime", {"op": "add"})


@pytest.fixture
def on_fake_driver(fake_cuda: FakeCuda, monkeypatch: Patch) -> Iterator[Place]:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    loops = Loops(0)
    with contextlib.closing(loops):
        yield Place("cuda:0", measured_clock(), loops.session)


def onnx_on_cuda(monkeypatch: Patch, available: list[str], taken: list[str]) -> Calls:
    """An ONNX Runtime with the providers `available`, whose sessions run on those `taken`."""
    calls: Calls = []
    binding = types.SimpleNamespace(
        bind_ortvalue_input=stand_ins.noting(calls, "input"),
        bind_ortvalue_output=stand_ins.noting(calls, "output"),
    )

    def session(_model: str, _options: Any, *, providers: Any) -> Any:
        calls.append(("session", providers))
        return types.SimpleNamespace(
            get_providers=lambda: taken,
            io_binding=lambda: binding,
            run_with_iobinding=lambda _binding, options: calls.append(("run", options)),
        )

    options = types.SimpleNamespace(add_session_config_entry=lambda *_: None)
    library = types.SimpleNamespace(
        __version__="1.30.0",
        get_available_providers=lambda: available,
        set_default_logger_severity=lambda _severity: None,
        ExecutionMode=types.SimpleNamespace(ORT_SEQUENTIAL=0),
        SessionOptions=lambda: options,
        RunOptions=lambda: types.SimpleNamespace(add_run_config_entry=lambda *entry: None),
        OrtValue=types.SimpleNamespace(ortvalue_from_numpy=lambda array, *place: (array, place)),
        InferenceSession=session,
    )
    for module in (onnxruntime, onnx_session):
        monkeypatch.setattr(module, "import_onnxruntime", lambda: library)
    monkeypatch.setattr(onnx_session, "_preload_cuda", lambda: None)
    return calls


@needs_cuda
def test_onnxruntime_runs_on_the_sessions_stream(
    few: None, on_fake_driver: Place, fake_cuda: FakeCuda, monkeypatch: Patch
) -> None:
    both = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    calls = onnx_on_cuda(monkeypatch, both, both)
    program = made("onnxruntime", on_fake_driver)
    sessions = [call[1][0] for call in calls if call[0] == "session"]
    assert [name for name, _ in sessions] == ["CUDAExecutionProvider"] * 2
    assert int(sessions[0][1]["user_compute_stream"]) != 0
    assert program.facts["providers"] == "CUDAExecutionProvider, CPUExecutionProvider"
    inputs = [call[2] for call in calls if call[0] == "input"]
    assert [(value.tolist(), place) for value, place in inputs[:2]] == [
        ([0.0], ("cuda", 0)),
        ([1.0], ("cuda", 0)),
    ]
    before = len(calls)
    assert program.burst(12) > 0
    assert [call[0] for call in calls[before:]] == ["run"]
    program.close()
    assert fake_cuda.misuse() == []


@needs_cuda
@pytest.mark.parametrize(
    ("available", "reason"),
    [
        (["CPUExecutionProvider"], r"onnxruntime \(1\.30\.0\) is built without CUDAExecution"),
        (
            ["CUDAExecutionProvider", "CPUExecutionProvider"],
            "did not take CUDAExecutionProvider and would run on CPUExecutionProvider",
        ),
    ],
)
def test_onnxruntime_without_cuda_is_skipped(
    few: None, on_fake_driver: Place, monkeypatch: Patch, available: list[str], reason: str
) -> None:
    onnx_on_cuda(monkeypatch, available, ["CPUExecutionProvider"])
    with pytest.raises(Skip, match=reason):
        made("onnxruntime", on_fake_driver)


def test_an_onnxruntime_that_breaks_on_import_fails(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise OSError('libcudart.so.13: not found')")
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BrokenPackageError, match=r"^onnxruntime cannot be imported: OSError: libc"):
        measured("onnxruntime", {"op": "add"})


def test_without_onnxruntime_its_extra_is_named(monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(Skip, match=r"^onnxruntime is not installed: pip install .*\[models\]'$"):
        made("onnxruntime")


# Numba on the cpu


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_function_compiled_by_numba_is_measured(arguments: int) -> None:
    numba = pytest.importorskip("numba", reason="the ladder extra is not installed")
    outcome = measured("numba", {"op": "call", "arguments": arguments})
    assert outcome.facts["numba"] == numba.__version__
    assert all(min(level.samples_s) > 0 for level in outcome.data.levels)


def test_a_numba_that_compiles_nothing_is_skipped(monkeypatch: Patch) -> None:
    config = types.SimpleNamespace(DISABLE_JIT=1)
    stand_ins.install(monkeypatch, stand_ins.module("numba", __version__="0.68.1", config=config))
    with pytest.raises(Skip, match=r"^NUMBA_DISABLE_JIT is set: Numba compiles nothing$"):
        made("numba")
