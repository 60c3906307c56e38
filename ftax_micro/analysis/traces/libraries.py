"""Whose kernel it is: that of a vendor's library, or one that the framework brought itself.

An op is library-mediated where the framework asks a library that chooses and launches the kernels
by itself (TaxBreak, arXiv 2603.12465, splits its software time by it): the host time of such an op
has the library's part in it, and its kernels cannot be fused by a compiler of the framework.

A trace has no field for it: names tell, and they follow no standard. Each pattern below is of names
seen in traces or in the library's own symbols. What no pattern knows counts as native: a library
that is missing here is a native kernel too many, never an error. Who is looked at first matters:
cuDNN and cuBLAS share generators (``xmma``, ``cutlass``), so the more special name goes first.
"""

from __future__ import annotations

import functools
import re

# Brought by the framework or compiled for it, whatever else stands in the name: templates carry the
# names of their arguments, and Triton kernels those of all ops that were fused.
_NATIVE = re.compile(r"^(?:void )?(?:at::|c10::|caffe2::|torch::|cub::|thrust::|triton_)")

_LIBRARIES = (
    # ncclDevKernel_AllReduce_Sum_f32_RING_LL; RCCL has kept the names.
    ("NCCL", r"^(?:void )?(?:nccl|rccl)|nccl(?:Dev)?Kernel"),
    # cudnn::ops::…, ampere_scudnn_…, sm80_xmma_fprop_implicit_gemm_…_cudnn; and kernels without
    # the name, of convolutions, batch normalisation and recurrent layers.
    ("cuDNN", r"cudnn|_xmma_(?:fprop|dgrad|wgrad)|(?:implicit|precomputed|explicit)_convolve"),
    ("cuDNN", r"winograd|fft2d_(?:r2c|c2r)_|conv2d_grouped_direct|bn_(?:fw|bw)_|RNN_block"),
    (
        "cuFFT",
        r"cufft|(?:regular|vector|composite|multi_bluestein)_fft\w*<|(?:sp|dp)(?:Radix|Vector)",
    ),
    ("cuSPARSE", r"cusparse"),
    ("cuSOLVER", r"cusolver"),
    ("cuRAND", r"curand|generate_seed_pseudo|gen_sequenced"),
    # cublasLt::splitKreduce_kernel, gemv2T_kernel_val<…cublasGemvParams…>, nvjet_sm90_…,
    # ampere_sgemm_128x64_nn, volta_fp16_s884gemm_…, sm80_xmma_gemm_….
    ("cuBLAS", r"cublas|splitKreduce|^nvjet_|_xmma_gemm|gemmk1_kernel|gemv(?:2[NT]|NSP|x)|gemmSN_"),
    ("cuBLAS", r"^(?:maxwell|pascal|volta|turing|ampere|hopper|blackwell)_\w*gemm"),
    # Those that cuBLAS brings are called the same as those of others.
    ("CUTLASS", r"cutlass"),
    ("MAGMA", r"^(?:void )?magma_"),
    # AMD: Tensile's kernels are those of rocBLAS and hipBLASLt.
    ("MIOpen", r"miopen|^(?:void )?naive_conv_|igemm_(?:fwd|bwd|wrw)_"),
    ("rocBLAS", r"^Cijk_|rocblas|hipblas"),
)
# One search for all: what is found tells by its group which one it was.
_NAMES = tuple(name for name, _ in _LIBRARIES)
_ANY = re.compile("|".join(f"({pattern})" for _, pattern in _LIBRARIES), re.IGNORECASE)


@functools.lru_cache(maxsize=4096)
def library_of(kernel: str) -> str | None:
    """The library that a kernel of this name belongs to; None: native, or not known."""
    if _NATIVE.match(kernel):
        return None
    # The first pattern counts, wherever in the name it is found.
    found = {match.lastindex for match in _ANY.finditer(kernel)} - {None}
    return _NAMES[min(int(each) for each in found if each) - 1] if found else None
