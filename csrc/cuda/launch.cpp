#include "cuda/launch.hpp"

#include <string>

#include "cuda/facts.hpp"

namespace ftax {
namespace {

constexpr std::size_t kLargest = 4096;
constexpr std::size_t kMost = 19;

Kernel kernel_of_bytes(int argument_bytes) {
    switch (argument_bytes) {
        case 0:
            return Kernel::null;
        case 8:
            return Kernel::null_8;
        case 64:
            return Kernel::null_64;
        case 256:
            return Kernel::null_256;
        case 1024:
            return Kernel::null_1024;
        case 4096:
            return Kernel::null_4096;
        default:
            throw std::invalid_argument("there is no null kernel with " +
                                        std::to_string(argument_bytes) +
                                        " argument bytes; there are 0, 8, 64, 256, 1024 and 4096");
    }
}

// What the driver copies arguments out of; that it is always the same is the best case.
void** arguments_of(const LaunchSpec& spec) {
    static std::array<unsigned char, kLargest> bytes{};
    static std::array<void*, 1> one = {bytes.data()};
    static std::array<void*, kMost> several = [] {
        std::array<void*, kMost> pointers{};
        for (std::size_t i = 0; i < kMost; ++i) pointers[i] = bytes.data() + 8 * i;
        return pointers;
    }();
    if (spec.arguments != 0) return several.data();
    return spec.argument_bytes != 0 ? one.data() : nullptr;
}

}  // namespace

Kernel null_kernel(const LaunchSpec& spec) {
    if (spec.arguments == 0) return kernel_of_bytes(spec.argument_bytes);
    if (spec.argument_bytes != 0) {
        throw std::invalid_argument("a null kernel has arguments or argument bytes, not both");
    }
    if (spec.arguments == 5) return Kernel::null_5p;
    if (spec.arguments == 19) return Kernel::null_19p;
    throw std::invalid_argument("there is no null kernel with " + std::to_string(spec.arguments) +
                                " arguments; there are 0, 5 and 19");
}

Target null_target(Session& session, const LaunchSpec& spec) {
    check_spec(session,
               spec);  // before the dependent kernel is loaded, which an old driver refuses
    const Kernel kernel = null_kernel(spec);
    if (spec.api == LaunchApi::dependent) {
        if (kernel != Kernel::null) {
            throw std::invalid_argument("the dependent null kernel takes no arguments");
        }
        return {session.dependent_kernel(), nullptr};
    }
    return target_of(session, spec, kernel, arguments_of(spec));
}

Target target_of(Session& session, const LaunchSpec& spec, Kernel kernel, void** arguments) {
    if (spec.api != LaunchApi::runtime) return {session.kernel(kernel), arguments};
    const char* const name = kKernelNames[static_cast<std::size_t>(kernel)];
    return {nullptr, arguments, session.runtime().kernel(name)};
}

void check_spec(const Session& session, const LaunchSpec& spec) {
    if (spec.grid == 0 || spec.block == 0) {
        throw std::invalid_argument("grid and block must be at least 1");
    }
    const Driver& driver = session.driver();
    if (spec.api == LaunchApi::cooperative &&
        attribute(driver, session.context().device(), CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) ==
            0) {
        throw CudaUnsupported("this device has no cooperative launch");
    }
    if (spec.api == LaunchApi::kernel_ex) driver.launch_kernel_ex.get();
    if (spec.api == LaunchApi::dependent) {
        session.require_compute_capability(9, "programmatic dependent launch");
        // The attribute is younger than the function that takes it.
        if (driver.version() < 11080) {
            throw CudaUnsupported("programmatic dependent launch needs CUDA 11.8; the driver has " +
                                  version_text(driver.version()));
        }
    }
}

}  // namespace ftax
