// Where threads run. A hand-off between two cores that share a cache costs a fraction of one across
// sockets, and a scheduler that moves a thread in the middle of a sample mixes the two.
#pragma once

#include <vector>

namespace ftax {

// Cores this process may use, ascending; empty where the system cannot say (macOS).
std::vector<int> allowed_cores();

// Pins the calling thread; false where the system has no such call or refuses.
bool pin_this_thread(int core);

// Pins the calling thread for the guard's life and gives the former mask back. A core below 0 does
// nothing. `pinned()` says whether it took.
class PinGuard {
  public:
    explicit PinGuard(int core);
    ~PinGuard();
    PinGuard(const PinGuard&) = delete;
    PinGuard& operator=(const PinGuard&) = delete;
    bool pinned() const { return pinned_; }

  private:
    std::vector<int> former_;
    bool pinned_ = false;
};

}  // namespace ftax
