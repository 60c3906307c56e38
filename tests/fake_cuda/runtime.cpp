// The fake runtime: the calls of libcudart the project uses, on top of the fake driver.
//
// Own declarations throughout, as in the project itself: the runtime's header needs more packages.
// Error numbers are those of the driver, which is true of every one that can occur here but
// cudaErrorInsufficientDriver (35).
#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "clock.hpp"

extern "C" {

using cudaError = int;

struct FakeDim3 {
    unsigned x, y, z;
};

CUresult fake_cuda_runtime_retain(CUcontext* context, CUdevice device);
CUresult fake_cuda_runtime_load(CUmodule* module, const void* image);
CUresult fake_cuda_runtime_launch(std::int64_t entered_ns, CUfunction function,
                                  const unsigned* grid, const unsigned* block, CUstream stream,
                                  void** parameters);
std::int64_t fake_cuda_config(const char* name);
}

namespace {

constexpr cudaError kInsufficientDriver = 35;

thread_local cudaError last_error = 0;
thread_local int current_device = 0;

cudaError note(int error) {
    if (error != 0) last_error = error;
    return error;
}

// The current context, or the current device's primary one, which the runtime retains and keeps.
cudaError ensure_context() {
    const int runtime = static_cast<int>(fake_cuda_config("runtime_version")) / 1000;
    if (fake_cuda_config("driver_version") / 1000 < runtime) return kInsufficientDriver;
    int error = cuInit(0);
    CUcontext context = nullptr;
    if (error == 0) error = cuCtxGetCurrent(&context);
    if (error == 0 && context == nullptr) {
        error = fake_cuda_runtime_retain(&context, current_device);
        if (error == 0) error = cuCtxSetCurrent(context);
    }
    return error;
}

template <class Body>
cudaError with_context(Body&& body) {
    const cudaError error = ensure_context();
    return note(error != 0 ? error : static_cast<int>(body()));
}

}  // namespace

extern "C" {

cudaError cudaRuntimeGetVersion(int* version) {
    *version = static_cast<int>(fake_cuda_config("runtime_version"));
    return 0;
}

cudaError cudaDriverGetVersion(int* version) { return note(cuDriverGetVersion(version)); }

cudaError cudaGetLastError() {
    const cudaError error = last_error;
    last_error = 0;
    return error;
}

cudaError cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError error) {
    const char* name = nullptr;
    if (error == kInsufficientDriver) return "cudaErrorInsufficientDriver";
    cuGetErrorName(static_cast<CUresult>(error), &name);
    return name == nullptr ? "unrecognized error code" : name;
}

const char* cudaGetErrorString(cudaError error) {
    const char* text = nullptr;
    if (error == kInsufficientDriver) return "the driver is older than the runtime";
    cuGetErrorString(static_cast<CUresult>(error), &text);
    return text == nullptr ? "unrecognized error code" : text;
}

cudaError cudaGetDeviceCount(int* count) {
    const CUresult error = cuInit(0);
    return note(error != CUDA_SUCCESS ? error : cuDeviceGetCount(count));
}

cudaError cudaGetDevice(int* device) {
    *device = current_device;
    return 0;
}

cudaError cudaSetDevice(int device) {
    current_device = device;
    CUcontext context = nullptr;
    const cudaError error = cuInit(0);
    if (error != 0) return note(error);
    const cudaError retained = fake_cuda_runtime_retain(&context, device);
    return note(retained != 0 ? retained : static_cast<int>(cuCtxSetCurrent(context)));
}

// The idiom to create the context; memory itself comes from the driver in this project.
cudaError cudaFree(void* memory) {
    return with_context([&] {
        return memory == nullptr ? CUDA_SUCCESS
                                 : cuMemFree_v2(reinterpret_cast<std::uintptr_t>(memory));
    });
}

cudaError cudaDeviceSynchronize() {
    return with_context([] { return cuCtxSynchronize(); });
}

cudaError cudaStreamSynchronize(CUstream stream) {
    return with_context([&] { return cuStreamSynchronize(stream); });
}

cudaError cudaLibraryLoadData(void** library, const void* code, void*, void**, unsigned, void*,
                              void**, unsigned) {
    return with_context(
        [&] { return fake_cuda_runtime_load(reinterpret_cast<CUmodule*>(library), code); });
}

cudaError cudaLibraryGetKernel(void** kernel, void* library, const char* name) {
    return with_context([&] {
        return cuModuleGetFunction(reinterpret_cast<CUfunction*>(kernel),
                                   static_cast<CUmodule>(library), name);
    });
}

cudaError cudaLibraryUnload(void* library) {
    return with_context([&] { return cuModuleUnload(static_cast<CUmodule>(library)); });
}

cudaError cudaLaunchKernel(const void* kernel, FakeDim3 grid, FakeDim3 block, void** parameters,
                           std::size_t, CUstream stream) {
    const std::int64_t entered = fake::now_ns();
    const unsigned grid_size[] = {grid.x, grid.y, grid.z};
    const unsigned block_size[] = {block.x, block.y, block.z};
    return with_context([&] {
        auto* function = static_cast<CUfunction>(const_cast<void*>(kernel));
        return fake_cuda_runtime_launch(entered, function, grid_size, block_size, stream,
                                        parameters);
    });
}

}  // extern "C"
