"""A small model of each family goes through each mode on the cpu, or is told why it cannot."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tiny_models import SMALLEST

from ftax_micro.errors import Skip
from ftax_micro.models.contract import Family
from ftax_micro.models.request import parse_model
from ftax_micro.models.workload import Workload, build_workload
from ftax_micro.modes import MODES
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.equality import check_equal, check_finite
from ftax_micro.modes.onnx_cache import LOCATION_VARIABLE
from ftax_micro.modes.outputs import on_cpu

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")

RUN = [
    (family, mode)
    for mode in ("eager", "torchscript", "onnxruntime", "torch_compile")
    for family in Family
]
RUN += [(Family.encoder, "better_transformer")]
NO_BERT = "is no BERT, RoBERTa or DistilBERT: its layers are not PyTorch's own$"
NO_GRAPHS = "^CUDA graphs exist on a CUDA device only"
REFUSED: list[tuple[Family, str, str]] = [
    (family, "better_transformer", NO_BERT) for family in Family if family is not Family.encoder
]
REFUSED += [
    (family, mode, NO_GRAPHS)
    for family in Family
    for mode in ("cuda_graph", "onnxruntime_cuda_graph", "torch_compile_reduce_overhead")
]


def small(family: Family) -> Workload:
    name, sizes = SMALLEST[family.value]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what libraries say when they are imported
        request = parse_model(name)
        shape = request.spec.shape.replaced(**sizes)
        return build_workload(request.spec, request.overrides, shape)


@pytest.fixture(scope="module")
def workloads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Family, Workload]]:
    """All of them, with places of their own for what is exported and compiled."""
    from torch._inductor import config

    with (
        pytest.MonkeyPatch.context() as patch,
        # Graphs are traced, lowered and called as ever, but no operation becomes a kernel for the
        # C++ compiler to take seconds over: test_mode_compile.py has one of these.
        config.patch(fallback_by_default=True),
        torch.inference_mode(),
    ):
        patch.setenv(LOCATION_VARIABLE, str(tmp_path_factory.mktemp("exports")))
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield {family: small(family) for family in Family}


def check_same(workload: Workload, prepared: Prepared) -> None:
    """The module's own outputs, for the workload's inputs and for others."""
    inputs = list(workload.inputs.values())
    others = [inputs[0].flip(-1), *inputs[1:]]
    assert prepared.run is not None
    for given, found in (
        (inputs, prepared.outputs(prepared.forward())),
        (others, prepared.run(others)),
    ):
        expected = on_cpu(workload.module(**dict(zip(workload.inputs, given, strict=True))))
        check_finite(expected)
        assert check_equal(expected, found, "fp32").relative_norm < 1e-4


@pytest.mark.parametrize(("family", "mode"), RUN)
def test_each_family_goes_through_each_mode(
    workloads: dict[Family, Workload],
    family: Family,
    mode: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    workload = workloads[family]
    try:
        prepared = MODES.open(mode)().prepare(workload)
    except Skip as reason:  # a package or a compiler that is missing here
        pytest.skip(str(reason))
    try:
        check_same(workload, prepared)
        assert prepared.executed is not None
        assert sum(prepared.executed().values()) >= 3
    finally:
        prepared.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("family", "mode", "reason"), REFUSED)
def test_what_a_mode_cannot_run_here_has_its_reason(
    workloads: dict[Family, Workload], family: Family, mode: str, reason: str
) -> None:
    with pytest.raises(Skip, match=reason):
        MODES.open(mode)().prepare(workloads[family])


def test_no_family_and_no_mode_is_left_out() -> None:
    told = {*RUN, *((family, mode) for family, mode, _ in REFUSED)}
    assert told == {(family, mode) for family in Family for mode in MODES}
