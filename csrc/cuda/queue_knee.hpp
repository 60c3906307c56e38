// How many launches fit into a stream's queue before the launch call blocks.
//
// Beyond the knee a "launch" waits for the device, and every host time taken there is the device's.
// So the knee bounds the bursts of the other loops. It depends on the size of the arguments (which
// fill the same ring of commands) and on the launch API.
#pragma once

#include <optional>
#include <vector>

#include "cuda/launch.hpp"

namespace ftax {

struct QueueKnee {
    std::optional<int> launches;  // that fitted; none if no call blocked
    std::vector<double> calls_s;  // host time of each launch call, a clock read included
};

// Launches null kernels behind one that spins `spin_s` until a call blocks and the spin is over, or
// `cap` launches are made. The knee is at the first call above 100 times the median call. A host
// that is interrupted for long sees the same: repeat, and take the largest.
QueueKnee queue_knee(Session& session, const LaunchSpec& spec, int cap, double spin_s);

}  // namespace ftax
