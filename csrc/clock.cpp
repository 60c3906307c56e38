#include "clock.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace ftax {

namespace {

constexpr int kReads = 64;  // in a round: enough that one tick is below 2 % of their sum
constexpr int kMostRounds = 1'000'000;

// A clock that steps in coarse ticks repeats itself between steps, so the step is the smallest
// positive difference between distinct readings; on a fine clock that is the read cost's own
// jitter.
std::int64_t smallest_step(int rounds) {
    std::vector<std::int64_t> seen(static_cast<std::size_t>(rounds));
    for (auto& value : seen) value = now_ns();
    std::vector<std::int64_t> differences;
    for (std::size_t i = 1; i < seen.size(); ++i) {
        if (seen[i] != seen[i - 1]) differences.push_back(seen[i] - seen[i - 1]);
    }
    if (differences.empty()) return std::numeric_limits<std::int64_t>::max();
    std::sort(differences.begin(), differences.end());
    // Readings of a clock with tick t lie on multiples of t, and so do their differences:
    // neighbours in the sorted list that differ tell a tick finer than one read takes.
    std::int64_t step = differences.front();
    for (std::size_t i = 1; i < differences.size(); ++i) {
        const std::int64_t between = differences[i] - differences[i - 1];
        if (between > 0) step = std::min(step, between);
    }
    return step;
}

}  // namespace

ClockFacts measure_clock(int rounds) {
    if (rounds < 1 || rounds > kMostRounds) {
        throw std::invalid_argument("rounds must be 1 to " + std::to_string(kMostRounds) +
                                    ", not " + std::to_string(rounds));
    }
    std::vector<double> costs(static_cast<std::size_t>(rounds));
    for (auto& cost : costs) {
        const std::int64_t begin = now_ns();
        std::int64_t end = begin;
        for (int i = 0; i < kReads; ++i) end = now_ns();
        cost = seconds(end - begin) / kReads;
    }
    std::nth_element(costs.begin(), costs.begin() + rounds / 2, costs.end());
    return {seconds(smallest_step(kReads * rounds)), costs[static_cast<std::size_t>(rounds / 2)]};
}

}  // namespace ftax
