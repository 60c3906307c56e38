"""Names of an Nsight Systems export are those of PyTorch's own traces."""

from __future__ import annotations

import pytest

from ftax_micro.analysis.traces.events import NONE, SpanKind
from ftax_micro.analysis.traces.nsight_names import (
    call_name,
    copy_name,
    range_name,
    set_name,
    without_op,
)


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
        ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync_ptsz"),
        ("cudaGraphLaunch_v10000", "cudaGraphLaunch"),
        ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2"),
        ("cuLaunchKernelEx", "cuLaunchKernelEx"),
    ],
)
def test_the_version_of_an_interface_is_no_part_of_a_call(recorded: str, name: str) -> None:
    assert call_name(recorded) == name


@pytest.mark.parametrize(
    ("kinds", "name"),
    [
        ((1, 0, 2), "Memcpy HtoD (Pageable -> Device)"),
        ((8, 2, 2), "Memcpy DtoD (Device -> Device)"),
        ((10, 2, 77), "Memcpy PtoP (Device -> Unknown)"),
        ((2, NONE, NONE), "Memcpy DtoH"),
        ((12, NONE, NONE), "Memcpy DtoH (Unified)"),
        ((NONE, NONE, NONE), "Memcpy Unknown"),
    ],
)
def test_a_copy_is_named_by_direction_and_memory(kinds: tuple[int, int, int], name: str) -> None:
    assert copy_name(*kinds) == name


def test_a_set_is_named_by_its_memory() -> None:
    assert [set_name(each) for each in (2, 4, NONE)] == [
        "Memset (Device)",
        "Memset (Managed)",
        "Memset",
    ]


@pytest.mark.parametrize(
    ("text", "domain", "name", "kind"),
    [
        ("aten::mm, seq = 3", None, "aten::mm", SpanKind.OP),
        ("aten::empty, op_id = 12", None, "aten::empty", SpanKind.OP),
        ("AddmmBackward0, seq = 4, op_id = 5", None, "AddmmBackward0", SpanKind.OP),
        ("std::sort", None, "std::sort", SpanKind.ANNOTATION),  # without what emit_nvtx adds
        ("ProfilerStep#3, op_id = 5", None, "ProfilerStep#3", SpanKind.STEP),
        ("forward, sizes = [[1]]", None, "forward", SpanKind.ANNOTATION),
        ("forward", None, "forward", SpanKind.ANNOTATION),
        ("forward, lr = 3", None, "forward, lr = 3", SpanKind.ANNOTATION),
        ("ProfilerStep#3", "mine", "mine:ProfilerStep#3", SpanKind.ANNOTATION),
    ],
)
def test_a_range_is_an_op_if_emit_nvtx_made_it(
    text: str, domain: str | None, name: str, kind: SpanKind
) -> None:
    assert range_name(*without_op(text), domain) == (name, kind)
