#include "cuda/runtime_kernels.hpp"

#include "cuda/kernels.hpp"

namespace ftax {
namespace {

constexpr int kInsufficientDriver = 35;  // cudaErrorInsufficientDriver

// Makes the runtime take up our context. One that found another driver, or one too old for it,
// cannot, which says nothing against the device.
void require_our_context(const Runtime& runtime, const Context& context) {
    const int status = runtime.free(nullptr);
    if (status == kInsufficientDriver) {
        throw CudaUnsupported("the CUDA runtime " + runtime.path() + " (CUDA " +
                              version_text(runtime.version()) +
                              ") needs a newer driver than it finds");
    }
    runtime.check(status, "cudaFree");
    CUcontext current = nullptr;
    context.driver().ctx_get_current(&current);
    if (current != context.handle()) {
        throw CudaUnsupported("the CUDA runtime " + runtime.path() +
                              " does not take up the driver's primary context");
    }
}

}  // namespace

RuntimeKernels::RuntimeKernels(const Context& context, const std::string& path)
    : runtime_(open_runtime(path, context.driver().version())), context_(context) {
    require_our_context(runtime_, context);
    runtime_.check(
        runtime_.library_load_data(&handle_, floor_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cudaLibraryLoadData");
}

RuntimeKernels::~RuntimeKernels() {
    if (!context_.usable()) return;
    try {
        const MakeCurrent current(context_);
        runtime_.check(runtime_.library_unload(handle_), "cudaLibraryUnload");
    } catch (const std::exception& error) {
        report_cleanup_error(error.what());
    }
}

RuntimeFacts runtime_facts(const Driver& driver, const std::string& runtime_path) {
    const Runtime& runtime = open_runtime(runtime_path, driver.version());
    return {runtime.version(), runtime.path()};
}

const void* RuntimeKernels::kernel(const char* name) const {
    void* kernel = nullptr;
    runtime_.check(runtime_.library_get_kernel(&kernel, handle_, name), "cudaLibraryGetKernel");
    return kernel;
}

}  // namespace ftax
