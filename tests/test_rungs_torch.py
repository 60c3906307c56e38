"""The rungs in torch on the cpu: each measured once; what goes wrong is imitated."""

from __future__ import annotations

import contextlib
import gc
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ftax_micro.collector import collector_off
from ftax_micro.devices.contract import Outcome
from ftax_micro.devices.cpu import measured_clock
from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import PreparationError
from ftax_micro.records import Plan
from ftax_micro.rungs import RUNGS, ladder, torchscript
from ftax_micro.rungs.contract import Place, Rung
from ftax_micro.rungs.custom_add import counted, custom_add
from ftax_micro.rungs.ladder import RemovedOperationsError
from ftax_micro.rungs.packages import BrokenPackageError
from ftax_micro.rungs.torch_program import COUNTS

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")

PLAN = Plan(min_samples=12, min_time_s=0.0, timeout_s=0.1, warmup_time_s=0.0)
PLACE = Place("cpu", measured_clock())
NAMES = [name for name in RUNGS if RUNGS.open(name).package == "torch"]


def measured(name: str, place: Place = PLACE) -> Outcome:
    rung: Rung = RUNGS.open(name)
    (setting,) = rung.settings(place.kind)
    return ladder._measure(rung, place, setting, PLAN)


def children() -> set[str]:
    """The processes that this one has started, where the system tells."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {child for each in tasks for child in each.read_text().split()}


def compiler(
    monkeypatch: pytest.MonkeyPatch, compiled: Callable[..., Any], graphs: int = 1
) -> None:
    """In place of torch.compile: every program becomes `compiled`."""
    from torch._dynamo.utils import counters

    def compiling(_program: Any, **_options: Any) -> Any:
        counters["stats"]["unique_graphs"] += graphs
        return compiled

    monkeypatch.setattr(torch, "compile", compiling)


@pytest.fixture(scope="module", autouse=True)
def inductor_folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What is generated goes where it is cleared away."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


def test_they_are_these() -> None:
    assert [
        *("torchscript", "torch_inference_mode", "torch_no_grad", "torch_grad"),
        *("nn_module", "torch_custom_op", "torch_compile_op"),
    ] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_runs_every_operation_and_leaves_nothing(
    name: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    before = children()
    modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    outcome = measured(name)
    assert outcome.facts["operations_counted"]
    assert outcome.facts["torch"] == torch.__version__
    counts = [level.count for level in outcome.data.levels]
    assert counts == ([8, 16, 24] if name == "torch_compile_op" else COUNTS)
    assert all(min(level.samples_s) > 0 for level in outcome.data.levels)
    assert (torch.is_grad_enabled(), torch.is_inference_mode_enabled()) == modes
    assert children() <= before
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


# Too old, broken, missing, without a device


@pytest.mark.parametrize("name", NAMES)
def test_without_torch_it_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Skip, match=r"^torch is not installed: pip install 'ftax-micro\[models\]'$"):
        measured(name)


@pytest.mark.parametrize("name", NAMES)
def test_with_a_torch_that_is_too_old_it_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(Skip, match=r"^torch 2\.5\.1\+cpu is too old: 2\.6 is needed$"):
        measured(name)


@pytest.mark.parametrize("name", NAMES)
def test_with_a_torch_that_is_broken_it_says_how(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libc10.so: cannot open shared object')")
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BrokenPackageError, match=r"^torch cannot be imported: OSError: libc10\.so"):
        measured(name)


@pytest.mark.parametrize("name", NAMES)
def test_with_a_torch_that_sees_no_gpu_it_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(Skip, match=r"^this torch \(.*\) cannot use a CUDA device here$"):
        measured(name, Place("cuda:0", PLACE.clock))


@pytest.mark.parametrize("name", NAMES)
def test_with_a_torch_that_cannot_use_the_gpu_it_says_how(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stream(_device: str) -> None:
        raise RuntimeError("no kernel image is available for execution on the device\nCompile with")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "Stream", stream)
    with pytest.raises(PreparationError) as caught:
        measured(name, Place("cuda:0", PLACE.clock))
    assert str(caught.value) == (
        "torch on cuda:0 failed: RuntimeError: no kernel image is available for execution on the "
        "device"
    )


@pytest.mark.parametrize("name", NAMES)
def test_on_a_gpu_bursts_run_on_a_stream_of_their_own_once_all_is_done(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    @contextlib.contextmanager
    def on(stream: object) -> Iterator[None]:
        seen.append(stream)
        yield
        seen.append("left")

    full = torch.full
    monkeypatch.setattr(torch, "full", lambda *a, **k: full(*a, **{**k, "device": "cpu"}))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: f"a stream of {device}")
    monkeypatch.setattr(torch.cuda, "stream", on)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda index: seen.append(index))
    if name == "torch_compile_op":  # by the operation itself: dynamo would meet what is imitated
        compiler(monkeypatch, custom_add(torch))
    program = RUNGS.open(name).make(Place("cuda:1", PLACE.clock), 0)
    seen.clear()
    assert program.burst(program.counts[0]) > 0
    assert seen == ["a stream of cuda:1", 1, "left"]


# Graphs of autograd


def test_a_graph_as_long_as_the_program_is_recorded_and_given_back() -> None:
    program = RUNGS.open("torch_grad").make(PLACE, 0)
    deep = 2 * sys.getrecursionlimit()  # deeper than Python could recurse
    assert program.executed(deep) == deep
    assert program.burst(deep) > 0


# TorchScript


@pytest.mark.parametrize("on", [True, False])
def test_what_may_be_fused_is_as_before(on: bool) -> None:
    state = [on]

    class Switches:
        """Those of a build that can fuse on a GPU, and has no switch for the cpu."""

        def _jit_can_fuse_on_gpu(self) -> bool:
            return state[-1]

        def _jit_override_can_fuse_on_gpu(self, on: bool) -> None:
            state.append(on)

    build = SimpleNamespace(_C=Switches())
    with pytest.raises(LookupError), torchscript._no_fusers(build):
        raise LookupError(state[-1])
    assert state == [on, False, on]


def test_nothing_may_be_fused_while_graphs_are_specialised(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: list[bool] = []
    settled = torchscript._settled

    def watched(*given: Any) -> Any:
        allowed.extend([torch._C._jit_can_fuse_on_cpu(), torch._C._jit_can_fuse_on_gpu()])
        return settled(*given)

    monkeypatch.setattr(torchscript, "_settled", watched)
    measured("torchscript")
    assert not any(allowed)
    assert len(allowed) == 2 * len(COUNTS)


def test_a_graph_that_was_folded_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = torch.jit.trace
    # As an optimiser would that knew how to add up constants.
    folded = lambda x, one: torch.add(torch.add(x, one), one)  # noqa: E731
    monkeypatch.setattr(torch.jit, "trace", lambda _, *a, **k: trace(folded, *a, **k))
    with pytest.raises(RemovedOperationsError, match=r"^of 16 operations 2 ran: .* folded"):
        measured("torchscript")


def test_a_graph_that_is_still_watched_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    former = torch._C._jit_texpr_fuser_enabled()
    torch._C._jit_set_texpr_fuser_enabled(False)  # leaves the nodes in that watch
    try:
        with pytest.raises(PreparationError, match="has not specialised a graph after 6 runs"):
            measured("torchscript")
    finally:
        torch._C._jit_set_texpr_fuser_enabled(former)


def test_a_torch_without_torchscript_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.jit, "trace")
    with pytest.raises(Skip, match="has no TorchScript"):
        measured("torchscript")


def test_a_torch_whose_graphs_cannot_be_counted_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.autograd.profiler_legacy", None)
    with pytest.raises(Skip, match="what ran in a graph cannot be counted"):
        measured("torchscript")


# The custom operation


def test_the_operation_is_registered_once() -> None:
    assert custom_add(torch) is custom_add(torch)
    measured("torch_custom_op")  # again, in a process that has it


def test_without_a_place_for_what_dynamo_makes_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(PreparationError, match=r"cannot write its cache: .* names a place$"):
        custom_add.__wrapped__(torch)


def test_the_operation_counts_itself_only_when_asked() -> None:
    add, one = custom_add(torch), torch.ones(1)
    results: list[float] = []
    assert counted(lambda: results.append(float(add(add(one, one), one)))) == 2
    assert results == [3.0]
    with pytest.raises(ZeroDivisionError):
        counted(lambda: 1 / 0)
    assert float(add(one, one)) == 2.0


# The compiled operation


def test_a_compiler_that_removes_operations_fails_the_rung(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(monkeypatch, custom_add(torch))
    with pytest.raises(RemovedOperationsError, match=r"^of 8 operations 1 ran: .* compiler fused"):
        measured("torch_compile_op")


def test_a_compiler_that_is_switched_off_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo import config

    compiler(monkeypatch, custom_add(torch), graphs=0)
    expected = pytest.raises(Skip, match=r"^torch\.compile is switched off: TORCH_COMPILE_DISABLE")
    with config.patch(disable=True), expected:
        measured("torch_compile_op")
    with monkeypatch.context() as patch:
        patch.setenv("TORCHDYNAMO_DISABLE", "1")
        with pytest.raises(Skip, match="is switched off"):
            measured("torch_compile_op")
    with pytest.raises(PreparationError, match=r"^torch\.compile left a program as it was"):
        measured("torch_compile_op")


def test_a_compiler_s_page_becomes_a_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*_inputs: Any) -> None:
        logging.getLogger("torch._inductor").error("a page of it")
        raise RuntimeError("Inductor gave up\n\nOutput:\n/tmp/a.py:2: error: no such thing\nmore")

    compiler(monkeypatch, fails)
    monkeypatch.setattr("ftax_micro.rungs.torch_compile_op.check_compiler", lambda _device: None)
    with pytest.raises(PreparationError) as caught:
        measured("torch_compile_op")
    assert str(caught.value) == (
        "torch.compile failed: RuntimeError: Inductor gave up: /tmp/a.py:2: error: no such thing"
    )
    assert capfd.readouterr() == ("", "")


def test_a_compiler_that_lacks_one_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import cpp_builder, exc

    def nothing(*_inputs: Any) -> Any:
        raise exc.InvalidCxxCompiler

    compiler(monkeypatch, nothing)
    monkeypatch.setattr(cpp_builder, "get_cpp_compiler", nothing)
    with pytest.raises(Skip, match=r"needs a C\+\+ compiler, and .* does not work: install g\+\+"):
        measured("torch_compile_op")


def test_the_collector_rests_while_a_program_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    compiler(monkeypatch, lambda *_inputs: seen.append(gc.isenabled()))
    with pytest.raises(RemovedOperationsError):
        measured("torch_compile_op")
    assert not seen[0]
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_settings_of_the_compiler_are_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._functorch import config as functorch
    from torch._inductor import config as inductor

    seen: list[Any] = []

    def settings() -> list[Any]:
        names = ("compile_threads", "fx_graph_cache", "pattern_matcher", "use_joint_graph_passes")
        return [*(getattr(inductor, name) for name in names), functorch.enable_autograd_cache]

    before = settings()
    compiler(monkeypatch, lambda *_inputs: seen.append(settings()))
    with pytest.raises(RemovedOperationsError):
        measured("torch_compile_op")
    assert seen[0] == [1, False, False, False, False]
    assert settings() == before
