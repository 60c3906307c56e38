"""Names as they are shown."""

from __future__ import annotations

import pytest

from ftax_micro.analysis.names import kernel_name, legible


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("aten::add_", "aten::add_"),
        ("<b>µ×</b> &amp;", "<b>µ×</b> &amp;"),
        ("a\x1b[31m\nb\x00", "a\\x1b[31m\\nb\\x00"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(name: str, shown: str) -> None:
    assert legible(name) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("volta_sgemm_128x32_nn", "volta_sgemm_128x32_nn"),
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
            "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)",
            "vectorized_elementwise_kernel<CUDAFunctor_add>",
        ),
        (
            "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
            "at::TensorIteratorBase&)::{lambda()#3}, char*>(int)",
            "unrolled_elementwise_kernel<direct_copy_kernel_cuda>",
        ),
        (
            "void (anonymous namespace)::softmax_warp_forward<float, 7>(float*)",
            "softmax_warp_forward",
        ),
        ("void cutlass::Kernel<cutlass_80_s1688gemm_nn>(int)", "Kernel<cutlass_80_s1688gemm_nn>"),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int>(int)", "kernel"),
        ("void (unfinished<a, (b", "(unfinished<a, (b"),
        ("", ""),
        ("<lambda>", "<lambda>"),
        ("operator()", "operator"),
        ("void \x1b::k<1>(int)", "k"),
    ],
)
def test_a_kernels_own_name(name: str, shown: str) -> None:
    assert kernel_name(name) == shown
