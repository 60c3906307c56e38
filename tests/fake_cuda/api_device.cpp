// Initialisation, devices, versions and error texts.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "call.hpp"

#undef cuDeviceGetUuid

namespace fake {
namespace {

// A CUdevice is an index into what is visible.
bool is_device(CUdevice device) {
    return device >= 0 && device < static_cast<int>(state().visible.size());
}

// Settings the project reads; every other known attribute is 0.
int attribute(CUdevice_attribute which, int ordinal) {
    const Config& c = config();
    switch (which) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            return static_cast<int>(c.cc / 10);
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            return static_cast<int>(c.cc % 10);
        case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
            return static_cast<int>(c.compute_mode);
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            return static_cast<int>(c.multiprocessors);
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
            return static_cast<int>(c.clock_mhz * 1000);
        case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
            return static_cast<int>(c.ecc);
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
            return 0x3b + ordinal;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
            return 1024;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
            return 64;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
            return 2147483647;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
            return 65535;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            return 32;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
            return 2048;
        case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
            return 2;
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
        case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
        case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
            return 1;
        default:
            return 0;
    }
}

int physical(CUdevice device) { return state().visible[static_cast<std::size_t>(device)]; }

template <class Body>
CUresult device_api(const char* name, CUdevice device, const void* out, Body&& body) {
    return api(name, kInit, [&](Call& call) {
        if (!is_device(device)) return call.misuse(CUDA_ERROR_INVALID_DEVICE, "no such device");
        if (out == nullptr) return call.misuse(CUDA_ERROR_INVALID_VALUE, "null pointer");
        body();
        return CUDA_SUCCESS;
    });
}

void fill_uuid(CUuuid* uuid, CUdevice device) {
    for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(0x10 + i);
    uuid->bytes[15] = static_cast<char>(physical(device));
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult cuInit(unsigned flags) {
    return api("cuInit", kNothing, [&](Call& call) {
        State& s = state();
        if (s.forked) return CUDA_ERROR_NOT_INITIALIZED;
        if (flags != 0) return call.misuse(CUDA_ERROR_INVALID_VALUE, "flags must be 0");
        if (s.initialized) return CUDA_SUCCESS;
        s.look_for_devices();
        if (s.visible.empty()) return CUDA_ERROR_NO_DEVICE;
        s.initialized = true;
        return CUDA_SUCCESS;
    });
}

CUresult cuDriverGetVersion(int* version) {
    return api("cuDriverGetVersion", kNothing, [&](Call&) {
        *version = static_cast<int>(config().driver_version);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetCount(int* count) {
    return api("cuDeviceGetCount", kInit, [&](Call&) {
        *count = static_cast<int>(state().visible.size());
        return CUDA_SUCCESS;
    });
}

// An ordinal too large is an honest question, not a misuse.
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    return api("cuDeviceGet", kInit, [&](Call&) {
        if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
        *device = ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    return device_api("cuDeviceGetName", device, name, [&] {
        std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", physical(device));
    });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    return device_api("cuDeviceGetUuid", device, uuid, [&] { fill_uuid(uuid, device); });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    return device_api("cuDeviceGetUuid_v2", device, uuid, [&] { fill_uuid(uuid, device); });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
    return device_api("cuDeviceGetAttribute", device, value,
                      [&] { *value = attribute(which, physical(device)); });
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
    return device_api("cuDeviceTotalMem_v2", device, bytes,
                      [&] { *bytes = static_cast<std::size_t>(config().memory); });
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
    return device_api("cuDeviceGetPCIBusId", device, text, [&] {
        std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0",
                      static_cast<unsigned>(0x3b + physical(device)));
    });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
    return api("cuDeviceGetByPCIBusId", kInit, [&](Call&) {
        unsigned domain = 0;
        unsigned bus = 0;
        if (std::sscanf(text, "%x:%x:", &domain, &bus) != 2) return CUDA_ERROR_INVALID_VALUE;
        for (int i = 0; is_device(i); ++i) {
            *device = i;
            if (static_cast<int>(bus) == 0x3b + physical(i)) return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_DEVICE;
    });
}

}  // extern "C"
