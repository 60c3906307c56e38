// Launches from several host threads at once, each into a stream of its own: whether they share a
// lock in the driver, or the device's front end, shows in how `submit` grows with the threads.
#pragma once

#include <vector>

#include "cuda/launch.hpp"

namespace ftax {

struct ThreadBursts {
    std::vector<std::vector<double>> seconds;  // [thread][sample], one burst each
    std::vector<bool> pinned;                  // [thread]: ran on its core all the time
};

// Each of `threads` threads times bursts of `burst` launches; all start each burst together, from a
// barrier they spin at. The streams are new ones of ours, whatever spec.stream says. `cores[i]` is
// thread i's core; an empty list leaves them unpinned.
ThreadBursts submit_threads(Session& session, const LaunchSpec& spec, int threads, int burst,
                            int samples, const std::vector<int>& cores);

}  // namespace ftax
