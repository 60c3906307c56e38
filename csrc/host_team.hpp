// Fork-join over all cores: what every parallel operator on the cpu pays before it computes.
//
// The problem: an operator that splits over cores starts when the last core has heard of it and
// ends when the first knows that the last has finished. The region here is empty, the threads
// persist and are pinned, so the time is that of the two signals alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "waiting.hpp"

namespace ftax {

class Team {
  public:
    // One thread per core; the first core is the caller's.
    Team(const std::vector<int>& cores, Wait wait);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Elapsed seconds of `loops` empty regions.
    double parallel_region(std::int64_t loops);

  private:
    void work(int core);

    const int host_core_;
    const Wait wait_;
    WaitWord started_;
    alignas(kCacheLine) std::atomic<std::uint32_t> remaining_{0};
    WaitWord finished_;
    std::atomic<bool> stop_{false};
    std::atomic<std::uint32_t> ready_{0};
    std::vector<std::thread> threads_;
};

}  // namespace ftax
