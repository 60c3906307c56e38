// A bounded ring of tasks from one thread to one other: the queue that a hand-over goes through.
//
// The problem: what a hand-over costs is mostly the moving of cache lines between two cores.
//   wrong:  a relaxed doorbell              (the store waits in the store buffer, so that the host
//                                            pays for it some hand-overs later, or never)
//           both sides read both counters   (four moves an operation, in whatever order they meet:
//                                            the same code took 26 or 95 ns from run to run)
//           mask and slots beside a counter (whoever takes a task takes the host's line away, too:
//                                            34 to 390 ns a hand-over by where the cores lay)
//   right:  the doorbell is rung before push() returns, as a driver's is; each side keeps what it
//           last saw of the other's counter and looks again only when that is used up
// Caveat: how far a line has to travel depends on where its address is at home in the chip. A
// figure from one ring is a figure for its addresses; HandOff goes round among several.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "waiting.hpp"

namespace ftax {

template <typename Task>
class TaskRing {
  public:
    // `capacity` is a power of two.
    explicit TaskRing(std::uint32_t capacity) : mask_(capacity - 1), tasks_(capacity) {}

    // Host: hands `task` over; true where the ring was full and the worker had to be waited for.
    // `wait` is how the worker waits for work.
    bool push(Task task, Wait wait) {
        const bool stalls = full();
        while (full()) relax();
        tasks_[pushed_count_ & mask_] = task;
        ++pushed_count_;
        ring_doorbell(wait);
        return stalls;
    }
    // Host: wakes a worker that waits, without a task.
    void wake() { pushed_.advance(); }
    // Host: how many tasks were done when it last looked, and the wait for one more.
    std::uint32_t done() const { return done_.load(); }
    void wait_done(std::uint32_t seen, Wait style) { done_.wait(seen, style); }
    // Host: waits until all that was pushed is done.
    void drain(Wait style) {
        for (std::uint32_t seen = done(); seen != pushed_count_; seen = done()) {
            wait_done(seen, style);
        }
    }

    // Worker: true where nothing is left of what it last saw.
    bool looked_through() const { return pushed_seen_ == taken_; }
    // Worker: waits until something new is pushed, or it is woken.
    void wait_pushed(Wait style) {
        while ((pushed_seen_ = pushed_.load()) == taken_) pushed_.wait(taken_, style);
    }
    // Worker: the next task, its slot free again.
    Task take() {
        const Task task = tasks_[taken_ & mask_];
        ++taken_;
        popped_.store(taken_, std::memory_order_release);
        return task;
    }
    // Worker: reports one task done.
    void finish() { done_.advance(); }

  private:
    bool full() {
        if (pushed_count_ - popped_seen_ <= mask_) return false;
        popped_seen_ = popped_.load(std::memory_order_acquire);
        return pushed_count_ - popped_seen_ > mask_;
    }
    void ring_doorbell(Wait wait) {
        if (wait == Wait::block) {
            pushed_.advance();
        } else {
            pushed_.advance_in_sight();
        }
    }

    // Read by both sides, written by none.
    const std::uint32_t mask_;
    std::vector<Task> tasks_;
    // The host's own.
    alignas(kCacheLine) std::uint32_t pushed_count_ = 0;
    std::uint32_t popped_seen_ = 0;
    // The worker's own.
    alignas(kCacheLine) std::uint32_t taken_ = 0;
    std::uint32_t pushed_seen_ = 0;
    // One written by each side, read by the other.
    WaitWord pushed_;                                           // host -> worker
    alignas(kCacheLine) std::atomic<std::uint32_t> popped_{0};  // worker -> host: slots free again
    WaitWord done_;                                             // worker -> host
};

}  // namespace ftax
