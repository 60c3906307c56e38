// The one clock of this project.
//
// The problem: a launch costs about as much as a few dozen clock reads, so what is between two
// reads, and which clock is read, decides the result.
//   wrong:  t0 = rdtsc(); launch(); t1 = system_clock::now();   (two clocks, never comparable)
//   right:  t0 = now_ns(); for (n launches) launch(); t1 = now_ns();   (one clock, one pair of
//   reads)
// Caveats: steady_clock is CLOCK_MONOTONIC on Linux, read through the vDSO where the kernel's clock
// source is the TSC and through a system call (some 200 ns more) where it is not; NTP may slew it
// by up to 500 ppm. It is the clock of Python's time.perf_counter_ns, so stamps of both sides
// compare.
#pragma once

#include <chrono>
#include <cstdint>

namespace ftax {

inline std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct ClockFacts {
    double tick_s;       // the smallest step ever seen between two different readings
    double read_cost_s;  // median time of one read, from back-to-back reads
};

// Measures the clock instead of asking the system, which reports 1 ns everywhere: `rounds` times 64
// reads. Throws std::invalid_argument unless there are 1 to 1,000,000 rounds.
ClockFacts measure_clock(int rounds);

// Divided, not multiplied: the nearest double to so many nanoseconds, and short in a file.
inline double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace ftax
