#include "cuda/polling.hpp"

#include <chrono>
#include <thread>

namespace ftax {

void Idle::wait() const {
    if (seconds <= 0) return;
    if (sleeping) {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        return;
    }
    const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
    while (now_ns() < end) {
    }
}

}  // namespace ftax
