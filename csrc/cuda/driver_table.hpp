// The driver functions in use: the one list from which members, look-ups and messages are made.
//
// F(member, symbol, version, parameters)
//   symbol      the exported name, its version suffix spelt out. cuda.h maps plain names to the
//               newest suffix its release knows (cuGraphExecUpdate means _v2 with a 12 header, and
//               cuCtxCreate _v4 with a 13 header), so a name taken from the header would change its
//               meaning with the toolkit we happen to be built with.
//   version     the CUDA release whose driver first exports that symbol: 1000 * major + 10 * minor.
//               At or below kOldestDriver it is required; above, it is optional and a call of it on
//               an older driver throws CudaMissingFunction.
//   parameters  our own, for the same reason.
//
// Look-ups are plain dlsym: cuGetProcAddress came with 11.3, changed its signature in 12.0, and
// would answer for its own driver even where a test library hides symbols to pose as an older one.
#pragma once

#include <cuda.h>

#include <cstddef>

#if CUDA_VERSION < 11080
#error "ftax_micro needs the cuda.h of CUDA 11.8 or later to build (any driver from 11.4 on to run)"
#endif

namespace ftax {

constexpr int kOldestDriver = 11040;

// What cuGraphExecUpdate_v2 fills in (CUgraphExecUpdateResultInfo of 12.0 and later headers).
struct GraphUpdateInfo {
    CUgraphExecUpdateResult result;
    CUgraphNode error_node;
    CUgraphNode error_from_node;
};

// clang-format off
#define FTAX_DRIVER_FUNCTIONS(F)                                                                   \
    F(init, "cuInit", 2000, (unsigned int))                                                        \
    F(driver_get_version, "cuDriverGetVersion", 2020, (int*))                                      \
    F(get_error_name, "cuGetErrorName", 6000, (CUresult, const char**))                            \
    F(get_error_string, "cuGetErrorString", 6000, (CUresult, const char**))                        \
    F(device_get_count, "cuDeviceGetCount", 2000, (int*))                                          \
    F(device_get, "cuDeviceGet", 2000, (CUdevice*, int))                                           \
    F(device_get_name, "cuDeviceGetName", 2000, (char*, int, CUdevice))                            \
    F(device_get_attribute, "cuDeviceGetAttribute", 2000, (int*, CUdevice_attribute, CUdevice))    \
    F(device_get_pci_bus_id, "cuDeviceGetPCIBusId", 4010, (char*, int, CUdevice))                  \
    F(device_get_uuid, "cuDeviceGetUuid_v2", 11040, (CUuuid*, CUdevice))                           \
    F(device_total_mem, "cuDeviceTotalMem_v2", 3020, (std::size_t*, CUdevice))                     \
    F(primary_ctx_retain, "cuDevicePrimaryCtxRetain", 7000, (CUcontext*, CUdevice))                \
    F(primary_ctx_release, "cuDevicePrimaryCtxRelease_v2", 11000, (CUdevice))                      \
    F(primary_ctx_set_flags, "cuDevicePrimaryCtxSetFlags_v2", 11000, (CUdevice, unsigned int))     \
    F(primary_ctx_get_state, "cuDevicePrimaryCtxGetState", 7000, (CUdevice, unsigned int*, int*))  \
    F(ctx_set_current, "cuCtxSetCurrent", 4000, (CUcontext))                                       \
    F(ctx_get_current, "cuCtxGetCurrent", 4000, (CUcontext*))                                      \
    F(ctx_get_flags, "cuCtxGetFlags", 7000, (unsigned int*))                                       \
    F(ctx_set_flags, "cuCtxSetFlags", 12010, (unsigned int))                                       \
    F(module_load_data_ex, "cuModuleLoadDataEx", 2010,                                             \
      (CUmodule*, const void*, unsigned int, CUjit_option*, void**))                               \
    F(module_unload, "cuModuleUnload", 2000, (CUmodule))                                           \
    F(module_get_function, "cuModuleGetFunction", 2000, (CUfunction*, CUmodule, const char*))      \
    F(link_create, "cuLinkCreate_v2", 6050, (unsigned int, CUjit_option*, void**, CUlinkState*))   \
    F(link_add_data, "cuLinkAddData_v2", 6050,                                                     \
      (CUlinkState, CUjitInputType, void*, std::size_t, const char*, unsigned int, CUjit_option*,  \
       void**))                                                                                    \
    F(link_complete, "cuLinkComplete", 5050, (CUlinkState, void**, std::size_t*))                  \
    F(link_destroy, "cuLinkDestroy", 5050, (CUlinkState))                                          \
    F(mem_host_alloc, "cuMemHostAlloc", 2020, (void**, std::size_t, unsigned int))                 \
    F(mem_free_host, "cuMemFreeHost", 2000, (void*))                                               \
    F(mem_host_get_device_pointer, "cuMemHostGetDevicePointer_v2", 3020,                           \
      (CUdeviceptr*, void*, unsigned int))                                                         \
    F(mem_alloc, "cuMemAlloc_v2", 3020, (CUdeviceptr*, std::size_t))                               \
    F(mem_free, "cuMemFree_v2", 3020, (CUdeviceptr))                                               \
    F(memcpy_h2d_async, "cuMemcpyHtoDAsync_v2", 3020,                                              \
      (CUdeviceptr, const void*, std::size_t, CUstream))                                           \
    F(memcpy_d2h_async, "cuMemcpyDtoHAsync_v2", 3020,                                              \
      (void*, CUdeviceptr, std::size_t, CUstream))                                                 \
    F(memset_d32_async, "cuMemsetD32Async", 3020,                                                  \
      (CUdeviceptr, unsigned int, std::size_t, CUstream))                                          \
    F(stream_create, "cuStreamCreate", 2000, (CUstream*, unsigned int))                            \
    F(stream_destroy, "cuStreamDestroy_v2", 4000, (CUstream))                                      \
    F(stream_synchronize, "cuStreamSynchronize", 2000, (CUstream))                                 \
    F(stream_query, "cuStreamQuery", 2000, (CUstream))                                             \
    F(stream_wait_event, "cuStreamWaitEvent", 3020, (CUstream, CUevent, unsigned int))             \
    F(stream_begin_capture, "cuStreamBeginCapture_v2", 10010, (CUstream, CUstreamCaptureMode))     \
    F(stream_end_capture, "cuStreamEndCapture", 10000, (CUstream, CUgraph*))                       \
    F(event_create, "cuEventCreate", 2000, (CUevent*, unsigned int))                               \
    F(event_destroy, "cuEventDestroy_v2", 4000, (CUevent))                                         \
    F(event_record, "cuEventRecord", 2000, (CUevent, CUstream))                                    \
    F(event_query, "cuEventQuery", 2000, (CUevent))                                                \
    F(launch_kernel, "cuLaunchKernel", 4000,                                                       \
      (CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,           \
       unsigned int, unsigned int, CUstream, void**, void**))                                      \
    F(launch_cooperative, "cuLaunchCooperativeKernel", 9000,                                       \
      (CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,           \
       unsigned int, unsigned int, CUstream, void**))                                              \
    F(launch_kernel_ex, "cuLaunchKernelEx", 11060,                                                 \
      (const CUlaunchConfig*, CUfunction, void**, void**))                                         \
    F(graph_instantiate, "cuGraphInstantiateWithFlags", 11040,                                     \
      (CUgraphExec*, CUgraph, unsigned long long))                                                 \
    F(graph_upload, "cuGraphUpload", 11010, (CUgraphExec, CUstream))                               \
    F(graph_launch, "cuGraphLaunch", 10000, (CUgraphExec, CUstream))                               \
    F(graph_exec_update, "cuGraphExecUpdate", 10020,                                               \
      (CUgraphExec, CUgraph, CUgraphNode*, CUgraphExecUpdateResult*))                              \
    F(graph_exec_update_v2, "cuGraphExecUpdate_v2", 12000,                                         \
      (CUgraphExec, CUgraph, GraphUpdateInfo*))                                                    \
    F(graph_get_nodes, "cuGraphGetNodes", 10000, (CUgraph, CUgraphNode*, std::size_t*))            \
    F(graph_exec_destroy, "cuGraphExecDestroy", 10000, (CUgraphExec))                              \
    F(graph_destroy, "cuGraphDestroy", 10000, (CUgraph))
// clang-format on

}  // namespace ftax
