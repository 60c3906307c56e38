// What the driver says about itself and its devices; needs no context.
#pragma once

#include <map>
#include <string>

#include "cuda/driver.hpp"

namespace ftax {

struct DeviceFacts {
    int index;
    std::string name;
    std::string uuid;        // GPU-… or MIG-…, as nvidia-smi prints it, without the prefix
    std::string pci_bus_id;  // domain:bus:device.function
    int compute_capability_major;
    int compute_capability_minor;
    std::size_t memory_bytes;
    std::string compute_mode;               // default, prohibited or exclusive_process
    std::map<std::string, int> attributes;  // by the driver's names, in lower case
    int driver_version;                     // 1000 * major + 10 * minor of the CUDA version
    std::string driver_path;
};

// Throws CudaUnavailable where there is none.
int device_count(const Driver& driver);
// Throws CudaUnavailable, naming how many there are, where the index is out of range.
CUdevice find_device(const Driver& driver, int index);
DeviceFacts device_facts(const Driver& driver, int index);
int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which);

}  // namespace ftax
