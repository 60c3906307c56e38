#include "host_handoff.hpp"

#include <algorithm>
#include <stdexcept>

#include "affinity.hpp"
#include "clock.hpp"
#include "core_speed.hpp"

namespace ftax {

namespace {

// No task may hold the worker longer, whatever happens to the host.
constexpr std::int64_t kHoldDeadlineNs = 1'000'000'000;
constexpr double kKneeFactor = 100.0;
// Answers by cache line of which one is timed: 2 us on one chip, some 9 across chips.
constexpr std::uint32_t kHops = 16;
// Enough that a median over them says little about any one (one ring's hand-over may cost half as
// much again as another's); few enough to stay in a core's second-level cache, 16 KiB each. A
// prime, so that every size of burst, whatever its place in a round, meets all of them.
constexpr std::size_t kRings = 61;

void spin_until(std::int64_t deadline_ns) {
    while (now_ns() < deadline_ns) relax();
}

// Pauses as the next launch would find it: a spinning runtime spins, a blocking one sleeps.
void pause_for(std::int64_t ns, Wait wait) {
    if (ns <= 0) return;
    if (wait == Wait::block) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
    } else {
        spin_until(now_ns() + ns);
    }
}

}  // namespace

HandOff::HandOff(int host_core, int worker_core, Wait wait, std::uint32_t capacity)
    : host_core_(host_core), wait_(wait), capacity_(capacity) {
    if (capacity == 0 || (capacity & (capacity - 1)) != 0) {
        throw std::invalid_argument("the ring's capacity must be a power of two");
    }
    for (std::size_t i = 0; i < kRings; ++i) rings_.push_back(std::make_unique<Ring>(capacity));
    ring_ = worker_ring_ = rings_.front().get();
    std::atomic<bool> ready{false};
    worker_ = std::thread([this, worker_core, &ready] {
        if (worker_core >= 0) worker_pinned_ = pin_this_thread(worker_core);
        ready = true;
        work();
    });
    while (!ready) std::this_thread::yield();
}

HandOff::~HandOff() {
    released_ = true;
    host_waits_ = true;
    stop_ = true;
    ring_->wake();
    worker_.join();
}

void HandOff::change_ring() {
    ring_index_ = (ring_index_ + 1) % rings_.size();
    Ring* const next = rings_[ring_index_].get();
    drain();
    push({[](HandOff& self, std::int64_t index) {
              self.worker_ring_ = self.rings_[static_cast<std::size_t>(index)].get();
          },
          static_cast<std::int64_t>(ring_index_)});
    drain();
    ring_ = next;
}

void HandOff::work() {
    for (;;) {
        Ring& ring = *worker_ring_;
        if (ring.looked_through()) {
            ring.wait_pushed(wait_);
            if (stop_.load(std::memory_order_relaxed)) return;
        }
        const Task task = ring.take();
        task.run(*this, task.argument);
        ring.finish();
    }
}

void HandOff::hold() {
    held_ = released_ = false;
    push({[](HandOff& self, std::int64_t deadline) {
              self.held_.store(true, std::memory_order_release);
              while (!self.released_.load(std::memory_order_acquire) && now_ns() < deadline)
                  relax();
              // The next thing it does is to look at the doorbell, which the host rings meanwhile:
              // tried out at every turn, that makes a hand-over 20 to 300 ns instead of 6.
              end_speculation();
          },
          now_ns() + kHoldDeadlineNs});
    while (!held_.load(std::memory_order_acquire)) relax();
}

double HandOff::submit_burst(std::int64_t count) {
    if (count > capacity_) throw std::invalid_argument("a burst larger than the ring would block");
    const PinGuard pin(host_core_);
    change_ring();
    hold();
    const Task empty{[](HandOff&, std::int64_t) {}, 0};
    const std::int64_t begin = now_ns();
    for (std::int64_t i = 0; i < count; ++i) push(empty);
    const std::int64_t end = now_ns();
    release();
    drain();
    return seconds(end - begin);
}

std::vector<double> HandOff::submit_shots(std::int64_t shots, std::int64_t idle_ns) {
    const PinGuard pin(host_core_);
    change_ring();
    const Task empty{[](HandOff&, std::int64_t) {}, 0};
    std::vector<double> values(static_cast<std::size_t>(shots));
    for (auto& value : values) {
        drain();
        spin_until(now_ns() + idle_ns);
        const std::int64_t begin = now_ns();
        push(empty);
        const std::int64_t end = now_ns();
        value = seconds(end - begin);
    }
    drain();
    return values;
}

std::vector<double> HandOff::to_start(std::int64_t shots, std::int64_t idle_ns) {
    const PinGuard pin(host_core_);
    change_ring();
    const Task stamp{[](HandOff& self, std::int64_t) { self.first_stamp_ = now_ns(); }, 0};
    std::vector<double> values(static_cast<std::size_t>(shots));
    for (auto& value : values) {
        push(stamp);
        drain();
        pause_for(idle_ns, wait_);
        const std::int64_t begin = now_ns();
        push(stamp);
        drain();
        value = seconds(first_stamp_.load() - begin);
    }
    return values;
}

double HandOff::spacing_burst(std::int64_t count) {
    if (count + 3 > capacity_)
        throw std::invalid_argument("a burst larger than the ring would block");
    const PinGuard pin(host_core_);
    change_ring();
    hold();
    push({[](HandOff& self, std::int64_t) { self.first_stamp_ = now_ns(); }, 0});
    const Task empty{[](HandOff&, std::int64_t) {}, 0};
    for (std::int64_t i = 1; i < count; ++i) push(empty);
    push({[](HandOff& self, std::int64_t) { self.last_stamp_ = now_ns(); }, 0});
    release();
    drain();
    return seconds(last_stamp_.load() - first_stamp_.load());
}

std::vector<double> HandOff::sync(std::int64_t shots, Wait style, std::int64_t waited_ns) {
    const PinGuard pin(host_core_);
    change_ring();
    const Task finish{[](HandOff& self, std::int64_t waited) {
                          while (!self.host_waits_.load(std::memory_order_acquire)) relax();
                          spin_until(now_ns() + waited);
                          self.last_stamp_ = now_ns();
                      },
                      waited_ns};
    std::vector<double> values(static_cast<std::size_t>(shots));
    for (auto& value : values) {
        drain();
        host_waits_ = false;
        const std::uint32_t before = ring_->done();
        push(finish);
        host_waits_.store(true, std::memory_order_release);
        ring_->wait_done(before, style);
        const std::int64_t end = now_ns();
        value = seconds(end - last_stamp_.load());
    }
    return values;
}

std::vector<double> HandOff::launch_sync(std::int64_t shots, std::int64_t idle_ns) {
    const PinGuard pin(host_core_);
    change_ring();
    const Task empty{[](HandOff&, std::int64_t) {}, 0};
    std::vector<double> values(static_cast<std::size_t>(shots));
    for (auto& value : values) {
        drain();
        pause_for(idle_ns, wait_);
        const std::int64_t begin = now_ns();
        push(empty);
        drain();
        const std::int64_t end = now_ns();
        value = seconds(end - begin);
    }
    return values;
}

RateSample HandOff::launch_rate(std::int64_t count) {
    const PinGuard pin(host_core_);
    change_ring();
    stalls_ = 0;
    const Task empty{[](HandOff&, std::int64_t) {}, 0};
    const std::int64_t begin = now_ns();
    for (std::int64_t i = 0; i < count; ++i) push(empty);
    const std::int64_t submitted = now_ns();
    drain();
    const std::int64_t end = now_ns();
    return {seconds(submitted - begin), seconds(end - begin), stalls_};
}

std::int64_t HandOff::queue_knee(std::int64_t hold_ns) {
    const PinGuard pin(host_core_);
    change_ring();
    const Task empty{[](HandOff&, std::int64_t) {}, 0};
    std::vector<std::int64_t> took(4 * static_cast<std::size_t>(capacity_));
    push({[](HandOff& self, std::int64_t hold) {
              self.released_ = true;
              spin_until(now_ns() + hold);
          },
          hold_ns});
    while (!released_.exchange(false)) relax();  // the holder has left its slot
    std::size_t pushed = 0;
    for (; pushed < took.size(); ++pushed) {
        const std::int64_t begin = now_ns();
        push(empty);
        took[pushed] = now_ns() - begin;
        if (took[pushed] > hold_ns / 4) break;  // the queue has blocked us: no need to go on
    }
    drain();
    const std::size_t timed = std::min(pushed + 1, took.size());
    std::vector<std::int64_t> sorted(took.begin(),
                                     took.begin() + static_cast<std::ptrdiff_t>(timed));
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(timed / 2),
                     sorted.end());
    const double limit =
        kKneeFactor * static_cast<double>(std::max<std::int64_t>(sorted[timed / 2], 1));
    for (std::size_t i = 0; i < timed; ++i) {
        if (static_cast<double>(took[i]) > limit && took[i] > hold_ns / 4) {
            return static_cast<std::int64_t>(i);
        }
    }
    return -1;
}

double HandOff::ask_worker() {
    const std::uint32_t first = answered_.load();
    const std::int64_t begin = now_ns();
    for (std::uint32_t i = 0; i < kHops; ++i) {
        asked_.advance_in_sight();
        answered_.wait(first + i, Wait::spin);
    }
    return seconds(now_ns() - begin) / kHops;
}

void HandOff::answer_host() {
    const std::uint32_t first = answered_.load();
    for (std::uint32_t i = 0; i < kHops; ++i) {
        asked_.wait(first + i, Wait::spin);
        answered_.advance_in_sight();
    }
}

PairGlance HandOff::glance() {
    const PinGuard pin(host_core_);
    drain();
    held_ = false;
    push({[](HandOff& self, std::int64_t) {
              self.held_.store(true, std::memory_order_release);
              self.worker_work_s_ = ftax::glance();
              self.answer_host();
              self.answer_host();
          },
          0});
    while (!held_.load(std::memory_order_acquire)) relax();  // the worker begins
    const double host_s = ftax::glance();
    // The first answer waits for the slower of both, and leaves the lines where the others find
    // them.
    ask_worker();
    const double hop_s = ask_worker();
    drain();
    return {host_s, worker_work_s_.load(), hop_s};
}

}  // namespace ftax
