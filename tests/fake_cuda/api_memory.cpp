// Allocations, copies and sets.
#include <cstdlib>

#include "call.hpp"

namespace fake {
namespace {

constexpr std::size_t kAlignment = 512;  // of device memory, as the real driver's
constexpr std::size_t kPage = 4096;      // of pinned host memory

CUresult allocate(Call& call, std::size_t bytes, bool on_device, std::shared_ptr<Allocation>& out) {
    call.must_not_be_held();
    const CUresult refused = refuse_while_capturing(call);
    if (refused != CUDA_SUCCESS) return refused;
    if (bytes == 0) return call.misuse(CUDA_ERROR_INVALID_VALUE, "zero bytes");
    std::size_t used = 0;
    for (const auto& [address, other] : state().memory) {
        if ((address & kDeviceBit) != 0) used += other->bytes;
    }
    const auto all = static_cast<std::size_t>(config().memory);
    if (on_device && (bytes > all || used > all - bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    auto allocation =
        std::make_shared<Allocation>(on_device ? "device allocation" : "host allocation");
    if (posix_memalign(&allocation->memory, on_device ? kAlignment : kPage, bytes) != 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    allocation->bytes = bytes;
    allocation->address =
        reinterpret_cast<std::uintptr_t>(allocation->memory) | (on_device ? kDeviceBit : 0U);
    state().add(allocation, call.context());
    state().memory[allocation->address] = allocation;
    out = allocation;
    return CUDA_SUCCESS;
}

CUresult release(Call& call, std::uint64_t address, const char* kind) {
    State& s = state();
    const auto found = s.memory.find(address);
    if (found == s.memory.end() || ((address & kDeviceBit) != 0) != (kind[0] == 'd')) {
        return call.misuse(CUDA_ERROR_INVALID_VALUE,
                           std::string("not a live ") + kind + " allocation (freed twice?)");
    }
    const std::shared_ptr<Allocation> allocation = found->second;
    call.must_not_be_held();
    s.objects.erase(allocation->handle);  // from now on freed, so that nobody frees it again
    s.memory.erase(found);
    call.drain(*call.context());
    return CUDA_SUCCESS;
}

bool is_pinned(const void* host, std::size_t bytes) {
    return state().allocation(reinterpret_cast<std::uintptr_t>(host), bytes) != nullptr;
}

Work copy_work(std::uint64_t target, std::uint64_t source, std::size_t bytes, bool to_device) {
    Work work;
    work.kind = WorkKind::copy;
    work.target = target;
    work.source = source;
    work.bytes = bytes;
    work.to_device = to_device;
    return work;
}

// What is not pinned is copied at once on its way in, and waited for on its way out.
CUresult copy(Call& call, const std::shared_ptr<Stream>& stream, CUdeviceptr device, void* host,
              std::size_t bytes, bool to_device, bool asynchronous) {
    if (!asynchronous) call.must_not_be_held();
    const auto address = reinterpret_cast<std::uintptr_t>(host);
    const bool pinned = is_pinned(host, bytes);
    const Config& c = config();
    std::int64_t cost = to_device ? c.h2d_submit_ns : c.d2h_submit_ns;
    if (!pinned) cost += to_device ? c.pageable_h2d_ns : c.pageable_d2h_ns;
    Work work = to_device ? copy_work(device, address, bytes, true)
                          : copy_work(address, device, bytes, false);
    if (!pinned && to_device) {
        const auto* from = static_cast<const unsigned char*>(host);
        work.staged.assign(from, from + bytes);
    }
    std::shared_ptr<Done> done;
    const CUresult result = submit_and_get(call, stream, std::move(work), cost, {}, done);
    if (result != CUDA_SUCCESS || (asynchronous && (pinned || to_device))) return result;
    return call.wait(done, sync_cost(*call.context(), false));
}

CUresult copy_async(const char* name, CUdeviceptr device, void* host, std::size_t bytes,
                    bool to_device, CUstream handle) {
    return api(name, kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto stream = take_stream(call, handle, error);
        return stream == nullptr ? error : copy(call, stream, device, host, bytes, to_device, true);
    });
}

CUresult set_async(const char* name, CUdeviceptr device, std::uint32_t value, std::size_t size,
                   std::size_t count, CUstream handle) {
    return api(name, kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto stream = take_stream(call, handle, error);
        if (stream == nullptr) return error;
        Work work;
        work.kind = WorkKind::set;
        work.target = device;
        work.bytes = size * count;
        work.pattern = value;
        work.pattern_bytes = size;
        return submit(call, stream, std::move(work), config().memset_submit_ns);
    });
}

CUresult host_allocate(const char* name, void** host, std::size_t bytes, unsigned flags) {
    return api(name, kInit | kContext, [&](Call& call) {
        if ((flags & ~7U) != 0) return call.misuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
        std::shared_ptr<Allocation> allocation;
        const CUresult result = allocate(call, bytes, false, allocation);
        if (result == CUDA_SUCCESS) *host = allocation->memory;
        return result;
    });
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* device, std::size_t bytes) {
    return api("cuMemAlloc_v2", kInit | kContext, [&](Call& call) {
        std::shared_ptr<Allocation> allocation;
        const CUresult result = allocate(call, bytes, true, allocation);
        if (result == CUDA_SUCCESS) *device = allocation->address;
        return result;
    });
}

CUresult cuMemFree_v2(CUdeviceptr device) {
    return api("cuMemFree_v2", kInit | kContext | kRelease, [&](Call& call) {
        return device == 0 ? CUDA_SUCCESS : release(call, device, "device");
    });
}

CUresult cuMemHostAlloc(void** host, std::size_t bytes, unsigned flags) {
    return host_allocate("cuMemHostAlloc", host, bytes, flags);
}

CUresult cuMemAllocHost_v2(void** host, std::size_t bytes) {
    return host_allocate("cuMemAllocHost_v2", host, bytes, 0);
}

CUresult cuMemFreeHost(void* host) {
    return api("cuMemFreeHost", kInit | kContext | kRelease, [&](Call& call) {
        return release(call, reinterpret_cast<std::uintptr_t>(host), "host");
    });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned flags) {
    return api("cuMemHostGetDevicePointer_v2", kInit | kContext, [&](Call& call) {
        if (flags != 0 || !is_pinned(host, 1)) {
            return call.misuse(CUDA_ERROR_INVALID_VALUE, "not pinned host memory, or flags");
        }
        *device = reinterpret_cast<std::uintptr_t>(host);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
    return api("cuMemGetInfo_v2", kInit | kContext, [&](Call&) {
        std::size_t used = 0;
        for (const auto& [address, other] : state().memory) {
            if ((address & kDeviceBit) != 0) used += other->bytes;
        }
        *total = static_cast<std::size_t>(config().memory);
        *free_bytes = *total - used;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr device, const void* host, std::size_t bytes) {
    return api("cuMemcpyHtoD_v2", kInit | kContext, [&](Call& call) {
        return copy(call, call.context()->null_stream, device, const_cast<void*>(host), bytes, true,
                    false);
    });
}

CUresult cuMemcpyDtoH_v2(void* host, CUdeviceptr device, std::size_t bytes) {
    return api("cuMemcpyDtoH_v2", kInit | kContext, [&](Call& call) {
        return copy(call, call.context()->null_stream, device, host, bytes, false, false);
    });
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr device, const void* host, std::size_t bytes,
                              CUstream stream) {
    return copy_async("cuMemcpyHtoDAsync_v2", device, const_cast<void*>(host), bytes, true, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void* host, CUdeviceptr device, std::size_t bytes, CUstream stream) {
    return copy_async("cuMemcpyDtoHAsync_v2", device, host, bytes, false, stream);
}

CUresult cuMemsetD8Async(CUdeviceptr device, unsigned char value, std::size_t count,
                         CUstream stream) {
    return set_async("cuMemsetD8Async", device, value, 1, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr device, unsigned value, std::size_t count, CUstream stream) {
    return set_async("cuMemsetD32Async", device, value, 4, count, stream);
}

}  // extern "C"
