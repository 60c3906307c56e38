#include "cuda/facts.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace ftax {
namespace {

struct NamedAttribute {
    const char* name;
    CUdevice_attribute which;
};

// What a reader of launch times asks about a device. Clock rates are in kHz.
constexpr std::array<NamedAttribute, 20> kAttributes = {{
    {"async_engine_count", CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    {"can_flush_remote_writes", CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES},
    {"can_map_host_memory", CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
    {"clock_rate", CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
    {"compute_preemption_supported", CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED},
    {"concurrent_kernels", CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
    {"cooperative_launch", CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
    {"ecc_enabled", CU_DEVICE_ATTRIBUTE_ECC_ENABLED},
    {"global_memory_bus_width", CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    {"integrated", CU_DEVICE_ATTRIBUTE_INTEGRATED},
    {"kernel_exec_timeout", CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT},
    {"l2_cache_size", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {"max_threads_per_block", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {"max_threads_per_multiprocessor", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {"memory_clock_rate", CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
    {"multiprocessor_count", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {"pageable_memory_access", CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
    {"tcc_driver", CU_DEVICE_ATTRIBUTE_TCC_DRIVER},
    {"unified_addressing", CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
    {"warp_size", CU_DEVICE_ATTRIBUTE_WARP_SIZE},
}};

std::string compute_mode_name(int mode) {
    switch (mode) {
        case CU_COMPUTEMODE_DEFAULT:
            return "default";
        case CU_COMPUTEMODE_PROHIBITED:
            return "prohibited";
        case CU_COMPUTEMODE_EXCLUSIVE_PROCESS:
            return "exclusive_process";
        default:
            return std::to_string(mode);
    }
}

// 8-4-4-4-12 hexadecimal digits.
std::string uuid_text(const CUuuid& uuid) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
        text += kDigits[byte / 16];
        text += kDigits[byte % 16];
    }
    return text;
}

}  // namespace

int device_count(const Driver& driver) {
    int count = 0;
    driver.device_get_count(&count);
    if (count == 0) throw CudaUnavailable("the CUDA driver sees no device");
    return count;
}

CUdevice find_device(const Driver& driver, int index) {
    const int count = device_count(driver);
    if (index < 0 || index >= count) {
        throw CudaUnavailable("there is no CUDA device " + std::to_string(index) + "; there " +
                              (count == 1 ? "is 1" : "are " + std::to_string(count)) +
                              ", counted from 0");
    }
    CUdevice device = 0;
    driver.device_get(&device, index);
    return device;
}

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
    int value = 0;
    driver.device_get_attribute(&value, which, device);
    return value;
}

DeviceFacts device_facts(const Driver& driver, int index) {
    const CUdevice device = find_device(driver, index);
    DeviceFacts facts{};
    facts.index = index;
    std::array<char, 256> text{};
    driver.device_get_name(text.data(), static_cast<int>(text.size()), device);
    facts.name = text.data();
    driver.device_get_pci_bus_id(text.data(), static_cast<int>(text.size()), device);
    facts.pci_bus_id = text.data();
    CUuuid uuid{};
    driver.device_get_uuid(&uuid, device);
    facts.uuid = uuid_text(uuid);
    facts.compute_capability_major =
        attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    facts.compute_capability_minor =
        attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    driver.device_total_mem(&facts.memory_bytes, device);
    facts.compute_mode =
        compute_mode_name(attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE));
    for (const NamedAttribute& named : kAttributes) {
        facts.attributes[named.name] = attribute(driver, device, named.which);
    }
    facts.driver_version = driver.version();
    facts.driver_path = driver.path();
    return facts;
}

}  // namespace ftax
