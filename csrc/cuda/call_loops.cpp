#include "cuda/call_loops.hpp"

#include <stdexcept>

#include "cuda/driver_call.hpp"
#include "cuda/timed.hpp"

namespace ftax {
namespace {

constexpr std::size_t kBytes = 4;

// Calls body(call) with the call bound to memory that lives as long.
template <class Body>
void with_call(Session& session, Call which, const Body& body) {
    const Driver& driver = session.driver();
    const Context& context = session.context();
    const CUstream stream = session.stream();
    std::vector<std::uint32_t> unpinned(1);  // first, so that it goes last
    const DeviceMemory memory(context, kBytes);
    const CUdeviceptr device = memory.get();
    const Event event(context);
    void* const pageable = unpinned.data();
    void* const pinned = session.words().host(kCopyWord);
    const auto to_device = [&](const void* from) {
        body(driver_call(driver, driver.memcpy_h2d_async, device, from, kBytes, stream));
    };
    const auto to_host = [&](void* to) {
        body(driver_call(driver, driver.memcpy_d2h_async, to, device, kBytes, stream));
    };
    // A read of memory that was never written is an error to memory checkers.
    driver.memset_d32_async(device, 0U, kBytes / sizeof(std::uint32_t), stream);
    session.drain();
    switch (which) {
        case Call::memcpy_h2d:
            to_device(pinned);
            break;
        case Call::memcpy_d2h:
            to_host(pinned);
            break;
        case Call::memcpy_h2d_pageable:
            to_device(pageable);
            break;
        case Call::memcpy_d2h_pageable:
            to_host(pageable);
            break;
        case Call::memset:
            body(driver_call(driver, driver.memset_d32_async, device, 0U,
                             kBytes / sizeof(std::uint32_t), stream));
            break;
        case Call::event_record:
            body(driver_call(driver, driver.event_record, event.get(), stream));
            break;
        case Call::stream_sync:
            body(driver_call(driver, driver.stream_synchronize, stream));
            break;
        case Call::stream_query:
            body(driver_call(driver, driver.stream_query, stream));
            break;
    }
    session.drain();  // the device must be done with the memory above before it goes
}

}  // namespace

std::vector<double> call_submit(Session& session, Call call, int burst, int samples) {
    require_count("burst", burst);
    std::vector<double> times = sample_list(samples);
    const Session::Use use(session);
    with_call(session, call, [&](const auto& timed) {
        timed.check(timed());
        for (int i = 0; i < samples; ++i) {
            session.drain();
            times.push_back(timed_burst(timed, burst).seconds());
        }
    });
    return times;
}

std::vector<double> call_end_to_end(Session& session, Call call, int samples) {
    std::vector<double> times = sample_list(samples);
    const Session::Use use(session);
    const Driver& driver = session.driver();
    const auto wait = driver_call(driver, driver.stream_synchronize, session.stream());
    with_call(session, call, [&](const auto& timed) {
        timed.check(timed());
        session.drain();
        for (int i = 0; i < samples; ++i) times.push_back(timed_pair(timed, wait).seconds());
    });
    return times;
}

}  // namespace ftax
