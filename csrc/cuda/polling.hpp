// Waits of the host that cannot hang, and waits that are part of what is measured.
#pragma once

#include <cstdint>

#include "clock.hpp"

namespace ftax {

// Polls until `done()` is true; false once the clock has passed `end_ns` without. The clock is read
// once in many polls, so that a poll costs what the polled thing costs: this is the loop that
// notices a kernel's store, and its period is the resolution of that stamp. The end is the
// caller's, taken before the first stamp of a sample, so that no clock is read between launch and
// first poll.
template <class Done>
bool poll_until(const Done& done, std::int64_t end_ns) {
    constexpr int kPollsPerClockRead = 256;
    for (;;) {
        for (int i = 0; i < kPollsPerClockRead; ++i) {
            if (done()) return true;
        }
        if (now_ns() > end_ns) return done();
    }
}

// What the host does between the end of one sample and the timed launch of the next. A host that
// sleeps finds its caches cold and its core in a deeper idle state; one that spins does not.
struct Idle {
    double seconds = 0;
    bool sleeping = false;

    void wait() const;
};

}  // namespace ftax
