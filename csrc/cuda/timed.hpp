// The innermost loops.
//
//   wrong:  for (…) { t0 = now_ns(); check(launch()); t1 = now_ns(); }   (a clock read of 20 ns on
//           each side of 2 µs, and whatever check does)
//   right:  t0; for (n) status = launch(); t1; check(status);            (one pair of reads for n)
// The loop ends at the first failing call, so every status is looked at; what a failure means is
// worked out after the second stamp.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "clock.hpp"

namespace ftax {

// Two stamps of now_ns().
struct Span {
    std::int64_t begin;
    std::int64_t end;
    double seconds() const { return ftax::seconds(end - begin); }
};

// Three stamps: what comes first, and the wait for it.
struct Stages {
    std::int64_t begin;
    std::int64_t middle;
    std::int64_t end;
    double first() const { return ftax::seconds(middle - begin); }
    double total() const { return ftax::seconds(end - begin); }
};

// Times `count` calls of launch(); launch.check(status) throws.
template <class Launch>
Span timed_burst(const Launch& launch, int count) {
    auto status = launch.success();
    const std::int64_t begin = now_ns();
    for (int i = 0; i < count && status == launch.success(); ++i) status = launch();
    const std::int64_t end = now_ns();
    launch.check(status);
    return {begin, end};
}

// Times one launch() and one wait(), together.
template <class Launch, class Wait>
Span timed_pair(const Launch& launch, const Wait& wait) {
    auto waited = wait.success();
    const std::int64_t begin = now_ns();
    const auto launched = launch();
    if (launched == launch.success()) waited = wait();
    const std::int64_t end = now_ns();
    launch.check(launched);
    wait.check(waited);
    return {begin, end};
}

// Times `count` calls of launch() and, from the same stamp on, one wait(): the calls alone and the
// whole. The stamp between them, one clock read, is part of the whole.
template <class Launch, class Wait>
Stages timed_stages(const Launch& launch, int count, const Wait& wait) {
    auto launched = launch.success();
    auto waited = wait.success();
    const std::int64_t begin = now_ns();
    for (int i = 0; i < count && launched == launch.success(); ++i) launched = launch();
    const std::int64_t middle = now_ns();
    if (launched == launch.success()) waited = wait();
    const std::int64_t end = now_ns();
    launch.check(launched);
    wait.check(waited);
    return {begin, middle, end};
}

// Throws std::invalid_argument unless `value` is at least 1 and at most `most`.
inline void require_count(const char* name, std::int64_t value, std::int64_t most = 100'000'000) {
    if (value < 1 || value > most) {
        throw std::invalid_argument(std::string(name) + " must be 1 to " + std::to_string(most) +
                                    ", not " + std::to_string(value));
    }
}

inline std::vector<double> sample_list(int samples) {
    require_count("samples", samples, 10'000'000);
    std::vector<double> list;
    list.reserve(static_cast<std::size_t>(samples));
    return list;
}

}  // namespace ftax
