#include "host_team.hpp"

#include <stdexcept>

#include "affinity.hpp"
#include "clock.hpp"

namespace ftax {

Team::Team(const std::vector<int>& cores, Wait wait)
    : host_core_(cores.empty() ? -1 : cores.front()), wait_(wait) {
    if (cores.size() < 2) throw std::invalid_argument("a parallel region needs two cores");
    for (std::size_t i = 1; i < cores.size(); ++i) {
        threads_.emplace_back([this, core = cores[i]] { work(core); });
    }
    while (ready_ != threads_.size()) std::this_thread::yield();
}

Team::~Team() {
    stop_ = true;
    started_.advance();
    for (auto& thread : threads_) thread.join();
}

void Team::work(int core) {
    if (core >= 0) pin_this_thread(core);
    std::uint32_t seen = started_.load();
    ++ready_;
    for (;;) {
        started_.wait(seen, wait_);
        if (stop_.load(std::memory_order_relaxed)) return;
        ++seen;
        if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) finished_.advance();
    }
}

double Team::parallel_region(std::int64_t loops) {
    const PinGuard pin(host_core_);
    const auto size = static_cast<std::uint32_t>(threads_.size());
    const std::int64_t begin = now_ns();
    for (std::int64_t i = 0; i < loops; ++i) {
        const std::uint32_t before = finished_.load();
        remaining_.store(size, std::memory_order_relaxed);
        started_.advance();
        finished_.wait(before, wait_);
    }
    const std::int64_t end = now_ns();
    return seconds(end - begin);
}

}  // namespace ftax
