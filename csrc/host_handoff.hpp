// Handing an empty task to a worker thread: the host's own "kernel launch".
//
// The problem: a launch is a hand-off through a bounded queue to an engine that runs on its own.
// The same quantities exist between two cores, without a driver, and bound from below what any
// runtime that dispatches through a thread can reach.
//   wrong:  push(); wait(); repeat, divided by two          (submission and wake-up in one number)
//   right:  each part with its own pair of stamps, the queue drained or held as the part demands
// Both threads stamp one clock (now_ns), which the kernel keeps in step across cores.
// Caveats: threads are pinned to distinct cores for the length of a call; the machine's other load
// is part of what is measured.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "waiting.hpp"

namespace ftax {

struct RateSample {
    double submit_s;      // until the last task was handed over
    double total_s;       // until the last task had run
    std::int64_t stalls;  // hand-overs that found the queue full
};

class HandOff {
  public:
    // A worker on `worker_core` behind a ring of `capacity` tasks (a power of two); the caller runs
    // on `host_core` while it measures. Cores below 0: not pinned. `wait` is how the worker waits
    // for work and how the host waits for it.
    HandOff(int host_core, int worker_core, Wait wait, std::uint32_t capacity);
    ~HandOff();
    HandOff(const HandOff&) = delete;
    HandOff& operator=(const HandOff&) = delete;

    // Host time of `count` hand-overs into the drained queue; `count` at most the capacity.
    double submit_burst(std::int64_t count);
    // Hand-over begins -> the task's first instruction; the worker idle for `idle_ns` before. With
    // `idle_ns` 0 another task has just run. Seconds, one per shot.
    std::vector<double> to_start(std::int64_t shots, std::int64_t idle_ns);
    // Worker time from the first of count + 1 queued empty tasks to the last: `count` spacings.
    double spacing_burst(std::int64_t count);
    // Last task done -> the thread that waits for it in `style` runs again.
    std::vector<double> sync(std::int64_t shots, Wait style);
    // One hand-over plus the wait for it.
    std::vector<double> launch_sync(std::int64_t shots, std::int64_t idle_ns);
    // Back-to-back hand-overs of `count` tasks.
    RateSample launch_rate(std::int64_t count);
    // Hand-overs that fit behind a task that runs for `hold_ns`, before one takes longer than 100
    // times the median; -1 where none did.
    std::int64_t queue_knee(std::int64_t hold_ns);

    bool pinned() const { return worker_pinned_.load(); }

  private:
    struct Task {
        void (*run)(HandOff&, std::int64_t);
        std::int64_t argument;
    };

    bool full() const {
        return pushed_count_ - popped_.load(std::memory_order_acquire) >= capacity_;
    }
    void push(Task task);
    void drain();
    void work();

    const int host_core_;
    const Wait wait_;
    const std::uint32_t capacity_;
    std::vector<Task> ring_;
    std::uint32_t pushed_count_ = 0;  // host's own copy of pushed_
    std::int64_t stalls_ = 0;
    WaitWord pushed_;                                           // host -> worker
    alignas(kCacheLine) std::atomic<std::uint32_t> popped_{0};  // slots free again
    WaitWord done_;                                             // worker -> host
    alignas(kCacheLine) std::atomic<std::int64_t> first_stamp_{0};
    std::atomic<std::int64_t> last_stamp_{0};
    std::atomic<bool> released_{false};
    std::atomic<bool> host_waits_{false};
    std::atomic<bool> stop_{false};
    std::atomic<bool> worker_pinned_{false};
    std::thread worker_;
};

}  // namespace ftax
