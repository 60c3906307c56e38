"""torch.compile: one compile for all of these tests; what goes wrong is imitated."""

from __future__ import annotations

import itertools
import logging
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ftax_micro.errors import RecompiledError, Skip
from ftax_micro.frameworks import compiler_tools
from ftax_micro.frameworks.preparation import PreparationError
from ftax_micro.frameworks.quiet import quiet
from ftax_micro.interleaving import ForwardProbe, measure_interleaved
from ftax_micro.models.request import own_spec
from ftax_micro.models.workload import Workload, build_workload
from ftax_micro.modes import MODES, compiling
from ftax_micro.modes.compiled_executed import executed_compiled
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.equality import check_equal
from ftax_micro.modes.torch_compile_reduce_overhead import _check_recorded
from ftax_micro.records import Plan

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")


class Twice(torch.nn.Module):  # type: ignore[misc]  # torch's types are not followed
    """Two products of matrices, with something to fuse between them."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"y": self.two(torch.tanh(self.one(x)) * 2.0)}


def workload() -> Workload:
    spec = own_spec("twice", lambda: (Twice(), torch.linspace(-1, 1, 32).reshape(4, 8)))
    return build_workload(spec)


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Workload, Prepared, Prepared]]:
    """The workload in eager and compiled, in inference mode as when it is measured."""
    from torch._inductor import config, cpu_vec_isa

    own = workload()
    with (
        pytest.MonkeyPatch.context() as patch,
        # The shortest way to a kernel: without compiling the headers first, and without vectors,
        # each kind of which is compiled on trial.
        config.patch(cpp_cache_precompile_headers=False),
        torch.inference_mode(),
    ):
        cache = tmp_path_factory.mktemp("inductor")
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
        patch.setattr(cpu_vec_isa, "valid_vec_isa_list", list)
        try:
            prepared = MODES.open("torch_compile")().prepare(own)
        except Skip as reason:  # a machine without a compiler
            pytest.skip(str(reason))
        yield own, MODES.open("eager")().prepare(own), prepared
        prepared.close()


def test_it_computes_what_eager_computes_and_tells_what_compiling_took(
    made: tuple[Workload, Prepared, Prepared], capfd: pytest.CaptureFixture[str]
) -> None:
    _, eager, prepared = made
    reference = eager.outputs(eager.forward())
    check_equal(reference, prepared.outputs(prepared.forward()), "fp32")
    assert set(prepared.costs_s) == {"compile", "first_runs"}
    assert prepared.costs_s["compile"] > prepared.costs_s["first_runs"] > 0
    assert prepared.facts == {"graphs": 1, "graph_breaks": 0, "compiled_before": False}
    assert prepared.synchronise is None
    assert capfd.readouterr() == ("", "")


def test_other_inputs_compile_nothing(made: tuple[Workload, Prepared, Prepared]) -> None:
    own, eager, prepared = made
    assert prepared.run is not None
    assert eager.run is not None
    before = compiling._counters()
    other = [own.inputs["x"].flip(0)]
    check_equal(eager.run(other), prepared.run(other), "fp32")
    assert compiling._counters() == before
    assert prepared.compilations() == before.frames > 0


def test_generated_kernels_and_called_operations_are_counted(
    made: tuple[Workload, Prepared, Prepared],
) -> None:
    _, _, prepared = made
    assert prepared.executed is not None
    counted = prepared.executed()
    kernels = sum(count for name, count in counted.items() if name.startswith("inductor::cpp_"))
    operations = {n: count for n, count in counted.items() if n.startswith("aten::")}
    assert kernels == 1
    assert sum(operations.values()) == 2
    assert prepared.executed() == counted


def test_compiling_again_while_it_is_timed_is_told() -> None:
    """A number that the code was compiled for changes after the warm-up."""
    double = torch.compile(lambda x, number: x * number, backend="eager", dynamic=False)
    forwards = itertools.count()

    def forward() -> Any:
        return double(torch.ones(1), 2 if next(forwards) < 5 else 3)

    plan = Plan(min_samples=4, min_time_s=0.0, timeout_s=5.0, quick=True)
    probe = ForwardProbe(forward, compilations=compiling.compilations)
    try:
        double(torch.ones(1), 2)
        with pytest.raises(RecompiledError, match="compiled again while it was timed"):
            measure_interleaved({"double": probe}, plan)
    finally:
        compiling.forget()


def test_what_runs_between_graphs_is_not_guessed() -> None:
    with pytest.raises(Skip, match="has 2 breaks"):
        executed_compiled(lambda: None, breaks=2)
    with pytest.raises(Skip, match="cannot be watched"):
        executed_compiled(lambda: None)


def test_no_compiler_is_a_skip_before_anything_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from torch._inductor import cpp_builder, exc

    def nothing() -> str:
        raise exc.InvalidCxxCompiler

    monkeypatch.setattr(cpp_builder, "get_cpp_compiler", nothing)
    monkeypatch.setattr(torch, "compile", lambda *_a, **_k: pytest.fail("compiled"))
    with pytest.raises(Skip, match=r"needs a C\+\+ compiler, and .* does not work: install g\+\+"):
        MODES.open("torch_compile")().prepare(workload())


def test_python_without_its_headers_is_a_skip(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))
    with pytest.raises(Skip, match=r"Python\.h, which is missing"):
        compiler_tools.check_compiler("cpu")


def test_a_cache_that_cannot_be_written_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(file / "cache"))
    with pytest.raises(PreparationError, match=r"cannot write its cache: .* names a place$"):
        MODES.open("torch_compile")().prepare(workload())
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("os.access", lambda *_a: False)
    with pytest.raises(PreparationError, match=f"no write access to {tmp_path}"):
        compiler_tools.check_compiler("cpu")


def test_a_device_before_triton_s_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.utils import _triton

    monkeypatch.setattr(_triton, "has_triton_package", lambda: True)
    with pytest.raises(Skip, match=r"7\.0 or later, and this device has 6\.1"):
        compiler_tools._check_triton((6, 1))
    monkeypatch.setattr(_triton, "has_triton_package", lambda: False)
    with pytest.raises(Skip, match="Triton, which is not installed"):
        compiler_tools._check_triton((9, 0))


def imitate(monkeypatch: pytest.MonkeyPatch, forward: Any) -> None:
    monkeypatch.setattr(compiler_tools, "_check_cpp_compiler", lambda: None)
    monkeypatch.setattr(torch, "compile", lambda *_a, **_k: forward)


def test_a_compiler_s_page_is_the_line_that_says_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forward(**_inputs: Any) -> None:
        raise RuntimeError(
            "CppCompileError: C++ compile error\n\nCommand:\ng++ /tmp/a.cpp\n\nOutput:\n"
            "In file included from /tmp/a.cpp:1:\n"
            "/tmp/a.cpp:2:10: fatal error: omp.h: No such file or directory\ncompilation terminated"
        )

    imitate(monkeypatch, forward)
    with pytest.raises(PreparationError) as caught:
        MODES.open("torch_compile")().prepare(workload())
    assert str(caught.value) == (
        "torch.compile failed: RuntimeError: CppCompileError: C++ compile error: "
        "/tmp/a.cpp:2:10: fatal error: omp.h: No such file or directory"
    )


def test_one_line_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(**_inputs: Any) -> None:
        raise ValueError("no such backend\n\nSet TORCHDYNAMO_VERBOSE=1 for more")

    imitate(monkeypatch, forward)
    with pytest.raises(PreparationError, match=r"^torch\.compile failed: ValueError: no such back"):
        MODES.open("torch_compile")().prepare(workload())


def test_a_forward_that_compiles_again_and_again_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from torch._dynamo.utils import counters

    def forward(**_inputs: Any) -> None:
        counters["frames"]["total"] += 1

    imitate(monkeypatch, forward)
    with pytest.raises(PreparationError, match="still compiles in run 6"):
        MODES.open("torch_compile")().prepare(workload())


def test_a_forward_without_a_graph_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    imitate(monkeypatch, lambda **_inputs: None)
    with pytest.raises(PreparationError, match="found no graph"):
        MODES.open("torch_compile")().prepare(workload())


def test_reduce_overhead_needs_a_cuda_device() -> None:
    with pytest.raises(Skip, match="on a CUDA device only; without them this is torch_compile"):
        MODES.open("torch_compile_reduce_overhead")().prepare(workload())


def test_graphs_that_were_left_out_are_told_of() -> None:
    said = ["something else", "skipping cudagraphs due to cpu device (x)\nFound from:\n  y"]
    with pytest.raises(PreparationError, match=r"skipping cudagraphs due to cpu device \(x\)$"):
        _check_recorded("cuda:0", 1, said)


def test_torch_s_log_goes_into_ours(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    import warnings

    with caplog.at_level(logging.INFO, "ftax_micro.frameworks"), quiet() as messages:
        logging.getLogger("torch.utils.cpp_extension").warning("no runtime for %s", "you")
        warnings.warn("said by a library", stacklevel=1)
    assert messages == ["no runtime for you"]
    assert "torch.utils.cpp_extension: no runtime for you" in caplog.text
    assert capsys.readouterr() == ("", "")
