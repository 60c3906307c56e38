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

constexpr std::int64_t kRounds = 1'500;
constexpr std::size_t kRepeats = 15;
constexpr std::size_t kGlances = 3;
// A core that has just run wide vector instructions (a library's sort, say) clocks lower for some
// 0.7 ms: its own doing, and no neighbour's.
constexpr std::int64_t kSettleNs = 1'000'000;

// Operations that do nothing: they take the slots by which a core issues all operations, of which a
// neighbour on the same core gets every second one, and no execution port. A loop of additions had
// two speeds on a core by itself, 1.5 times apart, by the ports that they happened to be bound to.
// One copy for all who time it, since another one may lie differently in the instruction cache.
#if defined(__x86_64__)
#define FTAX_NOTHING "nopl 0(%%rax,%%rax,1)\n"
#else
#define FTAX_NOTHING "nop\n"
#endif
__attribute__((noinline)) void work(std::int64_t rounds) {
    for (std::int64_t i = 0; i < rounds; ++i) {
        __asm__ volatile(".rept 24\n" FTAX_NOTHING ".endr" ::: "memory");
    }
}
#undef FTAX_NOTHING

// Seconds per round: the median of `Repeats` goes.
template <std::size_t Repeats>
double median_work() {
    std::array<std::int64_t, Repeats> took{};
    for (auto& each : took) {
        const std::int64_t begin = now_ns();
        work(kRounds);
        each = now_ns() - begin;
    }
    std::nth_element(took.begin(), took.begin() + Repeats / 2, took.end());
    return seconds(took[Repeats / 2]) / static_cast<double>(kRounds);
}

double work_on(int core, std::atomic<std::size_t>& missing) {
    const PinGuard pin(core);
    --missing;
    while (missing != 0) std::this_thread::yield();
    const std::int64_t settled = now_ns() + kSettleNs;
    while (now_ns() < settled) work(kRounds);
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
