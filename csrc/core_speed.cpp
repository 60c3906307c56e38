#include "core_speed.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "affinity.hpp"
#include "clock.hpp"

namespace ftax {

namespace {

constexpr std::int64_t kRounds = 5'000;
constexpr std::size_t kRepeats = 15;
constexpr std::size_t kGlances = 3;
// A core that has just run wide vector instructions (a library's sort, say) clocks lower for some
// 0.7 ms: its own doing, and no neighbour's.
constexpr std::int64_t kSettleNs = 1'000'000;

// Six independent chains: as much as a core can start at once. The empty statement keeps a compiler
// from working them out beforehand.
std::uint64_t work(std::uint64_t rounds) {
    std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
        a += i;
        b ^= i;
        c += 3;
        d ^= 5;
        e += 7;
        f ^= 9;
    }
    return a + b + c + d + e + f;
}

// Seconds per round: the median of `Repeats` goes.
template <std::size_t Repeats>
double median_work() {
    std::array<std::int64_t, Repeats> took{};
    volatile std::uint64_t result = 0;
    for (auto& each : took) {
        const std::int64_t begin = now_ns();
        result = work(kRounds);
        each = now_ns() - begin;
    }
    static_cast<void>(result);
    std::nth_element(took.begin(), took.begin() + Repeats / 2, took.end());
    return seconds(took[Repeats / 2]) / static_cast<double>(kRounds);
}

double work_on(int core, std::atomic<std::size_t>& missing) {
    const PinGuard pin(core);
    --missing;
    while (missing != 0) std::this_thread::yield();
    volatile std::uint64_t result = 0;
    const std::int64_t settled = now_ns() + kSettleNs;
    while (now_ns() < settled) result = work(kRounds);
    static_cast<void>(result);
    return median_work<kRepeats>();
}

}  // namespace

double glance() { return median_work<kGlances>(); }

std::vector<double> fixed_work(const std::vector<int>& cores) {
    if (cores.empty()) return {};
    std::vector<double> values(cores.size());
    std::atomic<std::size_t> missing{cores.size()};
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < cores.size(); ++i) {
        threads.emplace_back([&, i] { values[i] = work_on(cores[i], missing); });
    }
    values[0] = work_on(cores[0], missing);
    for (auto& thread : threads) thread.join();
    return values;
}

}  // namespace ftax
