"""Whose kernels these are, by names as traces have them."""

from __future__ import annotations

import pytest

from ftax_micro.analysis.traces.libraries import library_of


@pytest.mark.parametrize(
    ("kernel", "library"),
    [
        ("volta_sgemm_128x32_nn", "cuBLAS"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn", "cuBLAS"),
        ("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize32x32x64_stage6", "cuBLAS"),
        ("nvjet_sm90_tst_64x32_64x16_2x1_v_bz_TNT", "cuBLAS"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams)", "cuBLAS"),
        ("void splitKreduce_kernel<float, float>(cublasSplitKParams<float>)", "cuBLAS"),
        ("void gemv2T_kernel_val<int, int, float>(cublasGemvParams<float>)", "cuBLAS"),
        ("void gemmSN_TN_kernel<float, 128, 16, 2>(cublasGemmSmallNParams)", "cuBLAS"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn>(int)", "CUTLASS"),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention)", "CUTLASS"),
        ("cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1", "cuDNN"),
        ("void cudnn::ops::nchwToNhwcKernel<float, float>(int)", "cuDNN"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_nhwckrsc_nchw_execute_kernel", "cuDNN"),
        ("void implicit_convolve_sgemm<float, float, 1024, 5>(int)", "cuDNN"),
        ("void fft2d_r2c_32x32<float, false, 0u>(float2*, cudnn::reduced_divisor)", "cuDNN"),
        ("void bn_fw_tr_1C11_singleread<float, 512, true>(int)", "cuDNN"),
        ("void regular_fft<256u, 16u, 16u>(kernel_arguments_t<unsigned int>)", "cuFFT"),
        ("void vector_fft<16u>(int)", "cuFFT"),
        ("void cusparse::csrmm_kernel<int>(int)", "cuSPARSE"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "NCCL"),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16_SE", "rocBLAS"),
        ("miopenSp3AsmConv_v21_1_3", "MIOpen"),
        ("void magma_sgemmEx_kernel<float, float, float>(int)", "MAGMA"),
    ],
)
def test_libraries(kernel: str, library: str) -> None:
    assert library_of(kernel) == library


@pytest.mark.parametrize(
    "kernel",
    [
        "",
        "void at::native::elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
        # Named after the ops that it replaces, and templates after what they are made for.
        "triton_poi_fused_cudnn_batch_norm_relu_3",
        "void at::native::elementwise_kernel<128, cublasOperation_t>(int)",
        "void cub::DeviceScanKernel<cub::AgentScanPolicy<128>, cudnnTag>(int)",
        "void thrust::cuda_cub::core::_kernel_agent<nccl>(int)",
        "void fbgemm_gpu::permute_2D_lengths_kernel<int>(int)",
        "split_embedding_codegen_forward_unweighted_kernel",
        "CudaCodeGen::kernel_1",
        "my_gemm",
    ],
)
def test_what_the_framework_brought_is_native(kernel: str) -> None:
    assert library_of(kernel) is None
