// The fake driver's clock, and how it waits.
//
// Every cost of the fake is an absolute deadline on CLOCK_MONOTONIC, worked out from the time of
// the call that caused it. Whatever the fake itself spends (locks, waking a thread) lies before the
// deadline and therefore inside the cost, as long as the cost is some 20 microseconds or more.
#pragma once

#include <time.h>

#include <cstdint>

namespace fake {

inline std::int64_t now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// Waking up can take this long: sleep until so much is left, then spin.
constexpr std::int64_t kWakeUpNs = 150'000;

inline void sleep_until(std::int64_t deadline_ns) {
    timespec t{};
    t.tv_sec = static_cast<time_t>(deadline_ns / 1'000'000'000);
    t.tv_nsec = static_cast<long>(deadline_ns % 1'000'000'000);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

// Returns at the deadline, never before.
inline void wait_until(std::int64_t deadline_ns) {
    const std::int64_t left = deadline_ns - now_ns();
    if (left > 2 * kWakeUpNs) sleep_until(deadline_ns - kWakeUpNs);
    while (now_ns() < deadline_ns) {
    }
}

}  // namespace fake
