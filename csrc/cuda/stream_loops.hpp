// Launches into one stream: host time of the call, launch plus wait, and the steady rate.
#pragma once

#include <vector>

#include "cuda/launch.hpp"
#include "cuda/polling.hpp"

namespace ftax {

// Host seconds of `burst` launches of the null kernel, `samples` times; the stream is drained, and
// then the host idles, before each. Launch calls are asynchronous only while the queue has room: a
// burst beyond half the queue knee times the device instead. The slope over the burst size frees
// the result of the clock reads and of what only the first launch after a drain costs.
std::vector<double> submit(Session& session, const LaunchSpec& spec, int burst, int samples,
                           const Idle& idle);

// Seconds of one launch and one cuStreamSynchronize (cudaStreamSynchronize for launches through the
// runtime), `samples` times.
std::vector<double> launch_sync(Session& session, const LaunchSpec& spec, int samples,
                                const Idle& idle);

struct LaunchRate {
    std::vector<double> submit_s;  // until the last launch call returned
    std::vector<double> total_s;   // until the wait for the stream returned
};

// `launches` launches and one wait. Where the two times are close, the queue was full and the
// device (or its front end) set the pace, or the device keeps up with the host; a total well above
// says that the host ran ahead.
LaunchRate launch_rate(Session& session, const LaunchSpec& spec, int launches, int samples);

}  // namespace ftax
