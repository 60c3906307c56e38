// What the harnesses say and how they fail: one line, exit status 1.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace harness {

inline void check(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "failed: %s\n", what.c_str());
    std::exit(1);
}

// A duration that makes sense at all; how long it is depends on the machine and
// the sanitizer.
inline void check_seconds(double value, const std::string& what) {
    check(std::isfinite(value) && value >= 0.0, what + " is " + std::to_string(value));
}

inline void check_shots(const std::vector<double>& values, std::size_t shots,
                        const std::string& what) {
    check(values.size() == shots, what + " has another number of shots");
    for (const double value : values) check_seconds(value, what);
}

template <class Error, class Body>
void check_throws(Body&& body, const std::string& what) {
    try {
        body();
    } catch (const Error&) {
        return;
    }
    check(false, what + " was not refused");
}

}  // namespace harness
