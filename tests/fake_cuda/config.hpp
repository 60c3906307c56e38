// Settings and faults: where they come from (the environment variable FAKE_CUDA at load, then
// fake_cuda_configure) and how they are looked up.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace fake {

// One cell for each key of keys.def. Atomic, since a test may configure while workers run.
struct Config {
#define KEY(name, value) std::atomic<std::int64_t> name{value};
#include "keys.def"
#undef KEY
};

Config& config();

// "Fail (or slow down) the n-th call of a function"; calls are counted from the moment the fault
// was configured. n = 0 means every call; function "*" means all of them.
struct Fault {
    std::string function;
    std::int64_t nth = 0;
    std::int64_t value = 0;  // fail: the CUresult; slow: nanoseconds
    bool sticky = false;     // every later call of every function fails likewise
    std::int64_t seen = 0;
};

// A kernel that never ends: its name ("any" for all) and the launch, from 1 on, that starts it.
struct Hang {
    std::string kernel;
    std::int64_t nth = 1;
    std::int64_t seen = 0;
};

// Guarded by the state's mutex, as everything that is not atomic.
struct Faults {
    std::vector<Fault> fail;
    std::vector<Fault> slow;
    std::vector<Hang> hang;
    int sticky = 0;  // the CUresult every call returns, 0 = none
};

// Applies "key=value,key=value,..."; returns the first complaint, empty if there is none. Keys are
// those of keys.def, and fail=F:n:E[:sticky], slow=F:n:ns, hang=KERNEL[:n], initialized=0.
std::string configure(const std::string& text, Faults& faults);

// Back to the defaults, the build's pose and FAKE_CUDA.
std::string configure_baseline(Faults& faults);

// The effective value, of derived names too (spacing_ns, round_trip_ns, ...); -1 if unknown.
std::int64_t config_value(const std::string& name);

// Derived settings.
std::int64_t round_trip_ns();
std::int64_t poll_period_ns();
bool lazy_loading();
std::int64_t live_flags();

// What this build poses as (version.cpp).
extern const int kBuildVersion;
extern const int kBuildStub;

}  // namespace fake
