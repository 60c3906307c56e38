// Kernel launches, by each API.
#include <cstdio>

#include "call.hpp"

namespace fake {
namespace {

CUresult check_shape(const Call& call, const unsigned grid[3], const unsigned block[3]) {
    for (int i = 0; i < 3; ++i) {
        if (grid[i] == 0 || block[i] == 0) {
            return call.misuse(CUDA_ERROR_INVALID_VALUE, "an empty grid or block");
        }
    }
    if (std::uint64_t{block[0]} * block[1] * block[2] > 1024 || block[2] > 64 || grid[1] > 65535 ||
        grid[2] > 65535) {
        return call.misuse(CUDA_ERROR_INVALID_VALUE, "a grid or block larger than the device's");
    }
    return CUDA_SUCCESS;
}

// Copies the arguments out at once: a caller may reuse them as soon as the call returns.
CUresult read_arguments(const Call& call, const Function& function, void** parameters, void** extra,
                        Work& work) {
    if (extra != nullptr) return call.misuse(CUDA_ERROR_INVALID_VALUE, "extra is not imitated");
    if (function.parameters.empty()) return CUDA_SUCCESS;
    if (parameters == nullptr) {
        return call.misuse(CUDA_ERROR_INVALID_VALUE, "no arguments for " + function.name);
    }
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
        if (parameters[i] == nullptr) {
            return call.misuse(CUDA_ERROR_INVALID_VALUE, "a null argument for " + function.name);
        }
        const auto* from = static_cast<const unsigned char*>(parameters[i]);
        work.arguments.emplace_back(from, from + function.parameters[i]);
    }
    return CUDA_SUCCESS;
}

// The first launch of a kernel under lazy loading loads it, which may have to wait for the device.
std::int64_t first_launch_cost(const Call& call, Function& function, bool capturing) {
    if (function.loaded) return 0;
    if (!capturing) call.must_not_be_held();
    function.loaded = true;
    return capturing ? 0 : config().first_launch_ns.load();
}

CUresult launch_config(Call& call, const CUlaunchConfig& config_in, bool& dependent,
                       bool& cooperative) {
    for (unsigned i = 0; i < config_in.numAttrs; ++i) {
        const CUlaunchAttribute& attribute = config_in.attrs[i];
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            dependent = attribute.value.programmaticStreamSerializationAllowed != 0;
        } else if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
            cooperative = attribute.value.cooperative != 0;
        } else if (attribute.id != CU_LAUNCH_ATTRIBUTE_IGNORE) {
            return call.misuse(CUDA_ERROR_INVALID_VALUE, "a launch attribute that is not imitated");
        }
    }
    if (dependent && config().cc < 90) return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

// All blocks of a cooperative launch must be resident at once: two of 1024 threads a
// multiprocessor.
bool fits_cooperatively(const unsigned grid[3], const unsigned block[3]) {
    const std::uint64_t blocks = std::uint64_t{grid[0]} * grid[1] * grid[2];
    const std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
    return blocks * threads <= static_cast<std::uint64_t>(config().multiprocessors) * 2048;
}

}  // namespace

CUresult check_work(const Call& call, const Work& work) {
    if (work.kind == WorkKind::graph) {
        for (const Node& node : *work.nodes) {
            const CUresult result = check_work(call, node.work);
            if (result != CUDA_SUCCESS) return result;
        }
        return CUDA_SUCCESS;
    }
    if (work.kind == WorkKind::kernel && !work.function->module->loaded) {
        return call.misuse(CUDA_ERROR_INVALID_HANDLE, "the kernel's module is unloaded");
    }
    for (const auto& [address, bytes] : touched(work)) {
        if (state().allocation(address, bytes) != nullptr) continue;
        char text[96];
        std::snprintf(text, sizeof text, "%zu bytes at 0x%llx are not allocated", bytes,
                      static_cast<unsigned long long>(address));
        return call.misuse(
            work.kind == WorkKind::kernel ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_INVALID_VALUE,
            text);
    }
    return CUDA_SUCCESS;
}

CUresult launch(Call& call, CUfunction function_handle, const unsigned grid[3],
                const unsigned block[3], CUstream stream_handle, void** parameters, void** extra,
                std::int64_t cost_ns, bool dependent) {
    CUresult error = CUDA_SUCCESS;
    const auto function = call.take<Function>(function_handle, "function", error);
    const auto stream = function == nullptr ? nullptr : take_stream(call, stream_handle, error);
    if (stream == nullptr) return error;
    if (function->context.lock() != call.context()) {
        return call.misuse(CUDA_ERROR_INVALID_HANDLE, "the function belongs to another context");
    }
    error = check_shape(call, grid, block);
    if (error != CUDA_SUCCESS) return error;
    Work work;
    work.kind = WorkKind::kernel;
    work.function = function;
    work.kernel = function->kernel;
    work.dependent = dependent;
    error = read_arguments(call, *function, parameters, extra, work);
    if (error != CUDA_SUCCESS) return error;
    if (tracing()) cost_ns += config().traced_call_ns;
    cost_ns += first_launch_cost(call, *function, stream->capture != nullptr);
    cost_ns += config().submit_kib_ns * static_cast<std::int64_t>(work.argument_bytes()) / 1024;
    return submit(call, stream, std::move(work), cost_ns);
}

}  // namespace fake

using namespace fake;

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                        CUstream stream, void** parameters, void** extra) {
    return api("cuLaunchKernel", kInit | kContext, [&](Call& call) {
        const unsigned grid[] = {grid_x, grid_y, grid_z};
        const unsigned block[] = {block_x, block_y, block_z};
        return launch(call, function, grid, block, stream, parameters, extra, config().submit_ns,
                      false);
    });
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned, CUstream stream, void** parameters) {
    return api("cuLaunchCooperativeKernel", kInit | kContext, [&](Call& call) {
        const unsigned grid[] = {grid_x, grid_y, grid_z};
        const unsigned block[] = {block_x, block_y, block_z};
        if (!fits_cooperatively(grid, block)) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
        return launch(call, function, grid, block, stream, parameters, nullptr,
                      config().submit_cooperative_ns, false);
    });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* launch_config_in, CUfunction function,
                          void** parameters, void** extra) {
    return api("cuLaunchKernelEx", kInit | kContext, [&](Call& call) {
        const CUlaunchConfig& in = *launch_config_in;
        const unsigned grid[] = {in.gridDimX, in.gridDimY, in.gridDimZ};
        const unsigned block[] = {in.blockDimX, in.blockDimY, in.blockDimZ};
        bool dependent = false;
        bool cooperative = false;
        const CUresult result = launch_config(call, in, dependent, cooperative);
        if (result != CUDA_SUCCESS) return result;
        if (cooperative && !fits_cooperatively(grid, block)) {
            return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
        }
        const std::int64_t cost = dependent ? config().submit_dependent_ns : config().submit_ex_ns;
        return launch(call, function, grid, block, in.hStream, parameters, extra, cost, dependent);
    });
}

// For the fake runtime, whose launch has a cost of its own, counted from its own entry.
CUresult fake_cuda_runtime_launch(std::int64_t entered_ns, CUfunction function,
                                  const unsigned* grid, const unsigned* block, CUstream stream,
                                  void** parameters) {
    return api("fake_cuda_runtime_launch", kInit | kContext, [&](Call& call) {
        call.entered_at(entered_ns);
        return launch(call, function, grid, block, stream, parameters, nullptr,
                      config().submit_runtime_ns, false);
    });
}

}  // extern "C"
