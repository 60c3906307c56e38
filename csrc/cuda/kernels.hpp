// The kernels in csrc/kernels/*.cu by name, and the PTX they travel as.
#pragma once

#include <array>
#include <cstddef>

namespace ftax {

extern const char floor_ptx[];      // made from csrc/kernels/floor.ptx by the build
extern const char dependent_ptx[];  // made from csrc/kernels/dependent.ptx

enum class Kernel : std::size_t {
    null,
    null_8,
    null_64,
    null_256,
    null_1024,
    null_4096,
    null_5p,
    null_19p,
    store,
    hold,
    spin,
    spin_ns,
    round_trip,
};

constexpr std::array<const char*, 13> kKernelNames = {
    "ftax_null",      "ftax_null_8",  "ftax_null_64",   "ftax_null_256", "ftax_null_1024",
    "ftax_null_4096", "ftax_null_5p", "ftax_null_19p",  "ftax_store",    "ftax_hold",
    "ftax_spin",      "ftax_spin_ns", "ftax_round_trip"};
constexpr const char* kDependentName = "ftax_dependent";

// What ftax_hold writes to its outcome word.
constexpr unsigned int kHoldReleased = 1;
constexpr unsigned int kHoldDeadline = 2;

}  // namespace ftax
