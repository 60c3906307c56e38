#include "affinity.hpp"

#include "system.hpp"

#if FTAX_LINUX
#include <pthread.h>
#include <sched.h>
#endif

namespace ftax {

#if FTAX_LINUX

namespace {

// Machines with more than CPU_SETSIZE (1,024) cores exist, so the mask is sized at run time.
constexpr int kMostCores = 1 << 14;

class CoreMask {
  public:
    CoreMask() : set_(CPU_ALLOC(kMostCores)) { CPU_ZERO_S(bytes(), set_); }
    ~CoreMask() { CPU_FREE(set_); }
    CoreMask(const CoreMask&) = delete;
    CoreMask& operator=(const CoreMask&) = delete;
    void add(int core) { CPU_SET_S(static_cast<std::size_t>(core), bytes(), set_); }
    bool has(int core) const {
        return CPU_ISSET_S(static_cast<std::size_t>(core), bytes(), set_) != 0;
    }
    bool read() { return pthread_getaffinity_np(pthread_self(), bytes(), set_) == 0; }
    bool apply() const { return pthread_setaffinity_np(pthread_self(), bytes(), set_) == 0; }

  private:
    static std::size_t bytes() { return CPU_ALLOC_SIZE(kMostCores); }
    cpu_set_t* set_;
};

bool apply(const std::vector<int>& cores) {
    CoreMask mask;
    for (const int core : cores) mask.add(core);
    return mask.apply();
}

}  // namespace

std::vector<int> allowed_cores() {
    CoreMask mask;
    std::vector<int> cores;
    if (!mask.read()) return cores;
    for (int core = 0; core < kMostCores; ++core) {
        if (mask.has(core)) cores.push_back(core);
    }
    return cores;
}

bool pin_this_thread(int core) { return core >= 0 && core < kMostCores && apply({core}); }

PinGuard::PinGuard(int core) {
    if (core < 0) return;
    former_ = allowed_cores();
    pinned_ = pin_this_thread(core);
}

PinGuard::~PinGuard() {
    if (pinned_ && !former_.empty()) apply(former_);
}

#else

std::vector<int> allowed_cores() { return {}; }
bool pin_this_thread(int) { return false; }
PinGuard::PinGuard(int) {}
PinGuard::~PinGuard() = default;

#endif

}  // namespace ftax
