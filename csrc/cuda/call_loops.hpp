// The driver calls beside launches, each on 4 bytes: copies, sets, events, waiting for nothing.
#pragma once

#include <vector>

#include "cuda/session.hpp"

namespace ftax {

enum class Call {
    memcpy_h2d,           // cuMemcpyHtoDAsync, pinned
    memcpy_d2h,           // cuMemcpyDtoHAsync, pinned
    memcpy_h2d_pageable,  // the same calls with memory of malloc: the driver stages or waits
    memcpy_d2h_pageable,
    memset,        // cuMemsetD32Async
    event_record,  // of an event without timing
    stream_sync,   // cuStreamSynchronize of a stream with nothing in it
    stream_query,  // cuStreamQuery of the same
};

// Host seconds of `burst` calls, `samples` times, the stream drained before each. For calls that do
// not return before the device is done, end to end and this are the same.
std::vector<double> call_submit(Session& session, Call call, int burst, int samples);

// Seconds of one call and one cuStreamSynchronize, `samples` times.
std::vector<double> call_end_to_end(Session& session, Call call, int samples);

}  // namespace ftax
