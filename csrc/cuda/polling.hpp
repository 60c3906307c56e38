// Waits of the host that cannot hang, and waits that are part of what is measured.
#pragma once

#include <cstdint>

#include "clock.hpp"

namespace ftax {

// Polls until `done()` is true; false once `limit_ns` has passed without. The clock is read once in
// many polls, so that a poll costs what the polled thing costs: this is the loop that notices a
// kernel's store, and its period is the resolution of that stamp.
template <class Done>
bool poll(const Done& done, std::int64_t limit_ns) {
    constexpr int kPollsPerClockRead = 64;
    const std::int64_t end = now_ns() + limit_ns;
    for (;;) {
        for (int i = 0; i < kPollsPerClockRead; ++i) {
            if (done()) return true;
        }
        if (now_ns() > end) return done();
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
