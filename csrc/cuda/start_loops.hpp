// When a launched kernel begins to run, as the host sees it.
//
// Host and device have no common clock. So the kernel's first act is to store to a word of host
// memory on which the host spins, and everything is stamped by the host's clock:
//   to_start = [launch call begins … host sees the word] - device→host leg
// The leg cannot be measured alone either; half of a round trip, a read of the same word by the
// device, stands for it. Both raw values are returned; the subtraction is the caller's.
// Caveat: on a fast path the word can be set before the launch call returns. When it was set is
// then unknown, only that it was not later: such a sample is censored.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/launch.hpp"
#include "cuda/polling.hpp"

namespace ftax {

struct Starts {
    std::vector<double> seconds;  // launch call begins to host sees the store
    std::vector<bool> censored;   // the word was set already when the call returned
};

// `samples` launches of ftax_store, each on a drained stream after the host's idling. With no
// idling the stream was active until just before. `spec.argument_bytes` must be 0.
Starts to_start(Session& session, const LaunchSpec& spec, int samples, const Idle& idle);

struct RoundTrips {
    std::vector<std::uint64_t> cycles;  // of each read, in SM clock cycles
    std::uint64_t total_cycles;         // of the loop over all reads
    std::uint64_t total_ns;             // the same on the device's nanosecond clock
};

// `count` reads, one after the other, of a host-mapped word by one thread of the device.
RoundTrips round_trip(Session& session, int count);

}  // namespace ftax
