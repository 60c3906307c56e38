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
#include <memory>
#include <thread>
#include <vector>

#include "task_ring.hpp"
#include "waiting.hpp"

namespace ftax {

struct RateSample {
    double submit_s;      // until the last task was handed over
    double total_s;       // until the last task had run
    std::int64_t stalls;  // hand-overs that found the queue full
};

struct PairGlance {
    double host_work_s;    // per round of the fixed work (core_speed.hpp)
    double worker_work_s;  // likewise, at the same time
    double hop_s;          // until a cache line written by the host has an answer from the worker
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

    // Host time of `count` hand-overs into an empty queue, `count` at most the capacity, while the
    // worker is busy with a task. One that polls meanwhile takes the doorbell's line away between
    // two of them: 31 to 62 ns by how far apart both cores are, against 6. launch_rate() has that.
    double submit_burst(std::int64_t count);
    // Host time of one hand-over to a worker that has been idle for `idle_ns`, one per shot: with a
    // blocking worker the wake-up is in it, which a burst would spread over an unknown share.
    std::vector<double> submit_shots(std::int64_t shots, std::int64_t idle_ns);
    // Hand-over begins -> the task's first instruction; the worker idle for `idle_ns` before. With
    // `idle_ns` 0 another task has just run. Seconds, one per shot.
    std::vector<double> to_start(std::int64_t shots, std::int64_t idle_ns);
    // Worker time from the first of count + 1 queued empty tasks to the last: `count` spacings.
    double spacing_burst(std::int64_t count);
    // Last task done -> the thread that waits for it in `style`, since `waited_ns`, runs again.
    std::vector<double> sync(std::int64_t shots, Wait style, std::int64_t waited_ns);
    // One hand-over plus the wait for it.
    std::vector<double> launch_sync(std::int64_t shots, std::int64_t idle_ns);
    // Back-to-back hand-overs of `count` tasks.
    RateSample launch_rate(std::int64_t count);
    // Hand-overs that fit behind a task that runs for `hold_ns`, before one takes longer than 100
    // times the median; -1 where none did.
    std::int64_t queue_knee(std::int64_t hold_ns);

    // How fast both cores are at this moment, and how far from each other: a hypervisor that moves
    // a guest's CPUs among physical cores changes either within a second.
    PairGlance glance();

    bool pinned() const { return worker_pinned_.load(); }

  private:
    struct Task {
        void (*run)(HandOff&, std::int64_t);
        std::int64_t argument;
    };

    using Ring = TaskRing<Task>;

    void push(Task task) { stalls_ += ring_->push(task, wait_); }
    void drain() { ring_->drain(wait_); }
    // Keeps the worker in a task, which has left its slot, until release().
    void hold();
    void release() { released_.store(true, std::memory_order_release); }
    // The host's and the worker's side of some answers by cache line; seconds per answer.
    double ask_worker();
    void answer_host();
    // Drains and goes on with the next ring: what lies where is another draw for each burst.
    void change_ring();
    void work();

    const int host_core_;
    const Wait wait_;
    const std::uint32_t capacity_;
    std::vector<std::unique_ptr<Ring>> rings_;
    // The host's own.
    alignas(kCacheLine) std::size_t ring_index_ = 0;
    Ring* ring_;
    std::int64_t stalls_ = 0;
    // The worker's own; it follows the host's by a task.
    alignas(kCacheLine) Ring* worker_ring_;
    // One written by each side in turn, for the way between them alone.
    WaitWord asked_;
    WaitWord answered_;
    alignas(kCacheLine) std::atomic<std::int64_t> first_stamp_{0};
    std::atomic<std::int64_t> last_stamp_{0};
    std::atomic<double> worker_work_s_{0};
    std::atomic<bool> held_{false};
    std::atomic<bool> released_{false};
    std::atomic<bool> host_waits_{false};
    std::atomic<bool> stop_{false};
    std::atomic<bool> worker_pinned_{false};
    std::thread worker_;
};

}  // namespace ftax
