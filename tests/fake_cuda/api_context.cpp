// Primary contexts and which of them is current in a thread.
#include "call.hpp"

namespace fake {
namespace {

constexpr unsigned kKnownFlags = CU_CTX_FLAGS_MASK;

Device* find_device(CUdevice device) {
    State& s = state();
    if (device < 0 || device >= static_cast<int>(s.visible.size())) return nullptr;
    return &s.devices[device];
}

void create_context(Device& device, CUdevice ordinal) {
    auto context = std::make_shared<Context>();
    state().add(context, nullptr);
    context->device = ordinal;
    context->leaks = false;  // counted by its retains
    context->flags = device.flags;
    context->null_stream = std::make_shared<Stream>();
    context->null_stream->leaks = false;
    state().add(context->null_stream, context);
    context->streams.push_back(context->null_stream);
    start_worker(context->null_stream);
    device.context = context;
}

// Everything in the context goes with it, which a tidy program has given back before.
void destroy_context(Call& call, Device& device) {
    State& s = state();
    const std::shared_ptr<Context> context = device.context;
    call.drain(*context);
    std::size_t live = 0;
    for (auto it = s.objects.begin(); it != s.objects.end();) {
        const std::shared_ptr<Object> object = it->second;
        const bool goes = object == context || object->context.lock() == context;
        if (goes && object->leaks) ++live;
        if (auto* stream = goes ? dynamic_cast<Stream*>(object.get()) : nullptr) {
            stream->closing = true;
            stream->wake.notify_all();
        }
        if (auto* memory = goes ? dynamic_cast<Allocation*>(object.get()) : nullptr) {
            s.memory.erase(memory->address);
        }
        it = goes ? s.objects.erase(it) : std::next(it);
    }
    if (live > 0 && s.faults.sticky == 0) {
        call.misuse(CUDA_SUCCESS, std::to_string(live) + " live objects went with the context");
    }
    context->alive = false;
    s.faults.sticky = 0;
    device.context = nullptr;
}

CUcontext top() {
    const std::vector<std::uintptr_t>& stack = context_stack();
    return stack.empty() ? nullptr : reinterpret_cast<CUcontext>(stack.back());
}

CUresult bad_device(const Call& call) {
    return call.misuse(CUDA_ERROR_INVALID_DEVICE, "no such device");
}

CUresult retain(Call& call, CUcontext* out, CUdevice ordinal, bool by_runtime) {
    Device* device = find_device(ordinal);
    if (device == nullptr) return bad_device(call);
    const Config& c = config();
    if (c.compute_mode == CU_COMPUTEMODE_PROHIBITED ||
        (c.compute_mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS && c.busy != 0)) {
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    if (device->context == nullptr) create_context(*device, ordinal);
    ++device->retains;
    if (by_runtime) ++device->runtime_retains;
    *out = as_handle<CUcontext>(device->context);
    return CUDA_SUCCESS;
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    return api("cuDevicePrimaryCtxRetain", kInit,
               [&](Call& call) { return retain(call, context, device, false); });
}

// For the fake runtime, whose retain is no leak.
CUresult fake_cuda_runtime_retain(CUcontext* context, CUdevice device) {
    return api("cuDevicePrimaryCtxRetain", kInit,
               [&](Call& call) { return retain(call, context, device, true); });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
    return api("cuDevicePrimaryCtxRelease_v2", kInit | kRelease, [&](Call& call) {
        Device* device = find_device(ordinal);
        if (device == nullptr) return bad_device(call);
        if (device->retains - device->runtime_retains <= 0) {
            return call.misuse(CUDA_ERROR_INVALID_CONTEXT, "released more often than retained");
        }
        if (--device->retains == 0) destroy_context(call, *device);
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
    return api("cuDevicePrimaryCtxSetFlags_v2", kInit, [&](Call& call) {
        Device* device = find_device(ordinal);
        if (device == nullptr) return bad_device(call);
        if ((flags & ~kKnownFlags) != 0) {
            return call.misuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
        }
        if (device->context != nullptr && live_flags() == 0) {
            return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
        }
        device->flags = flags;
        if (device->context != nullptr && live_flags() == 1) device->context->flags = flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
    return api("cuDevicePrimaryCtxGetState", kInit, [&](Call& call) {
        const Device* device = find_device(ordinal);
        if (device == nullptr) return bad_device(call);
        *active = device->context != nullptr ? 1 : 0;
        *flags = device->context != nullptr ? device->context->flags : device->flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetCurrent(CUcontext context) {
    return api("cuCtxSetCurrent", kInit, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        if (context != nullptr && call.take<Context>(context, "context", error) == nullptr) {
            return error;
        }
        std::vector<std::uintptr_t>& stack = context_stack();
        if (!stack.empty()) stack.pop_back();
        if (context != nullptr) stack.push_back(reinterpret_cast<std::uintptr_t>(context));
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    return api("cuCtxGetCurrent", kInit, [&](Call&) {
        *context = top();
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    return api("cuCtxPushCurrent_v2", kInit, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        if (call.take<Context>(context, "context", error) == nullptr) return error;
        context_stack().push_back(reinterpret_cast<std::uintptr_t>(context));
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    return api("cuCtxPopCurrent_v2", kInit | kRelease, [&](Call& call) {
        if (context_stack().empty()) {
            return call.misuse(CUDA_ERROR_INVALID_CONTEXT, "no context to pop");
        }
        if (context != nullptr) *context = top();
        context_stack().pop_back();
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetDevice(CUdevice* device) {
    return api("cuCtxGetDevice", kInit | kContext, [&](Call& call) {
        *device = call.context()->device;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetFlags(unsigned* flags) {
    return api("cuCtxGetFlags", kInit | kContext, [&](Call& call) {
        *flags = call.context()->flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetFlags(unsigned flags) {
    return api("cuCtxSetFlags", kInit | kContext, [&](Call& call) {
        if ((flags & ~kKnownFlags) != 0) {
            return call.misuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
        }
        if (live_flags() != 2) call.context()->flags = flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return api("cuCtxGetStreamPriorityRange", kInit | kContext, [&](Call&) {
        if (least != nullptr) *least = 0;
        if (greatest != nullptr) *greatest = -5;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSynchronize() {
    return api("cuCtxSynchronize", kInit | kContext, [&](Call& call) {
        const CUresult refused = refuse_while_capturing(call);
        if (refused != CUDA_SUCCESS) return refused;
        call.costs(config().ctx_sync_idle_ns);
        return call.wait_all(*call.context(), sync_cost(*call.context(), false));
    });
}

}  // extern "C"
