// Runs every loop of the host half once over: each way to wait, pinned and not,
// objects destroyed while idle and with work queued, two of them side by side,
// and wrong arguments.
#include <stdexcept>
#include <thread>

#include "affinity.hpp"
#include "check.hpp"
#include "clock.hpp"
#include "core_speed.hpp"
#include "host_calls.hpp"
#include "host_handoff.hpp"
#include "host_team.hpp"

namespace {

using ftax::HandOff;
using ftax::Wait;
using harness::check;
using harness::check_seconds;
using harness::check_shots;
using harness::check_throws;

constexpr std::uint32_t kCapacity = 64;
constexpr std::int64_t kShots = 20;
constexpr Wait kStyles[] = {Wait::spin, Wait::yield, Wait::block};

void clock_and_calls() {
    const ftax::ClockFacts facts = ftax::measure_clock(20);
    check(facts.tick_s > 0.0 && facts.read_cost_s > 0.0, "the clock neither ticks nor costs");
    check(ftax::measure_clock(1).tick_s > 0.0, "the clock does not tick in one round");
    check_throws<std::invalid_argument>([] { ftax::measure_clock(0); }, "a clock never read");
    check_throws<std::invalid_argument>([] { ftax::measure_clock(-1); }, "a negative count");
    check_seconds(ftax::call_direct(10'000), "call_direct");
    check_seconds(ftax::call_direct(0), "call_direct of nothing");
    ftax::empty_function_5(1, 2, 3, 4, 5);
    ftax::empty_function_19(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19);
    for (const int arguments : {0, 5, 19}) {
        check(ftax::empty_function_address(arguments) != 0, "an empty function without address");
    }
    check_throws<std::invalid_argument>([] { ftax::empty_function_address(4); }, "4 arguments");
    for (const double value : ftax::fixed_work({-1, 0, 1, 1 << 20})) {
        check_seconds(value, "fixed_work");
    }
    check(ftax::fixed_work({}).empty(), "work on no core");
}

void affinity() {
    const std::vector<int> before = ftax::allowed_cores();
    check(!ftax::pin_this_thread(-1) && !ftax::pin_this_thread(1 << 20), "a core that is none");
    {
        const ftax::PinGuard none(-1);
        check(!none.pinned(), "a core below 0 pins");
    }
    if (before.empty()) return;
    {
        const ftax::PinGuard guard(before.front());
        check(guard.pinned() == (ftax::allowed_cores().size() == 1), "pinned() says otherwise");
    }
    check(ftax::allowed_cores() == before, "the former mask did not come back");
}

void every_part(int host_core, int worker_core, Wait wait) {
    HandOff worker(host_core, worker_core, wait, kCapacity);
    check_seconds(worker.submit_burst(kCapacity / 2), "submit");
    check_seconds(worker.submit_burst(0), "submit of nothing");
    check_shots(worker.submit_shots(kShots, 20'000), kShots, "submit, shot by shot");
    check_seconds(worker.spacing_burst(kCapacity / 2), "spacing");
    check_shots(worker.to_start(kShots, 0), kShots, "to_start");
    check_shots(worker.to_start(kShots, 100'000), kShots, "to_start after idling");
    check_shots(worker.launch_sync(kShots, 0), kShots, "launch_sync");
    check_shots(worker.launch_sync(kShots, 100'000), kShots, "launch_sync after idling");
    for (const Wait style : kStyles)
        check_shots(worker.sync(kShots, style, 20'000), kShots, "sync");
    // More than the ring holds, so that it runs full.
    const ftax::RateSample rate = worker.launch_rate(20 * kCapacity);
    check_seconds(rate.submit_s, "launch_rate's submit");
    check(rate.total_s >= rate.submit_s && rate.stalls >= 0, "launch_rate ends before it began");
    const std::int64_t knee = worker.queue_knee(20'000'000);
    check(knee == -1 || (knee > 0 && knee <= kCapacity), "the ring holds more than its size");
    for (int i = 0; i < 2; ++i) {
        const ftax::PairGlance seen = worker.glance();
        check_seconds(seen.host_work_s, "the host's work");
        check_seconds(seen.worker_work_s, "the worker's work");
        check_seconds(seen.hop_s, "the way between them");
    }
}

void handoff() {
    const std::vector<int> cores = ftax::allowed_cores();
    for (const Wait wait : kStyles) {
        every_part(-1, -1, wait);
        if (cores.size() > 1) every_part(cores[0], cores[1], wait);
        for (int i = 0; i < 20; ++i) HandOff unused(-1, -1, wait, 1);
    }
    check_throws<std::invalid_argument>([] { HandOff odd(-1, -1, Wait::spin, 3); }, "capacity 3");
    check_throws<std::invalid_argument>([] { HandOff none(-1, -1, Wait::spin, 0); }, "capacity 0");
    HandOff worker(-1, -1, Wait::yield, kCapacity);
    check_throws<std::invalid_argument>([&] { worker.submit_burst(kCapacity + 1); }, "submit");
    check_throws<std::invalid_argument>([&] { worker.spacing_burst(kCapacity); }, "spacing");
}

// Each has a worker of its own: nothing may be shared between them.
void two_at_once() {
    const auto measure = [] {
        HandOff worker(-1, -1, Wait::block, kCapacity);
        for (int i = 0; i < 50; ++i) check_seconds(worker.submit_burst(kCapacity), "submit");
        check_shots(worker.launch_sync(kShots, 0), kShots, "launch_sync");
    };
    std::thread other(measure);
    measure();
    other.join();
}

void team() {
    const std::vector<int> cores = ftax::allowed_cores();
    for (const Wait wait : {Wait::yield, Wait::block}) {
        ftax::Team three({-1, -1, -1}, wait);
        check_seconds(three.parallel_region(200), "parallel_region");
        check_seconds(three.parallel_region(0), "parallel_region of nothing");
    }
    if (cores.size() > 1) {
        ftax::Team pair({cores[0], cores[1]}, Wait::spin);
        check_seconds(pair.parallel_region(2'000), "parallel_region, spinning");
    }
    for (int i = 0; i < 20; ++i) ftax::Team unused({-1, -1}, Wait::block);
    check_throws<std::invalid_argument>([] { ftax::Team one({0}, Wait::spin); }, "a team of one");
    check_throws<std::invalid_argument>([] { ftax::Team none({}, Wait::spin); }, "a team of none");
}

}  // namespace

int main() {
    clock_and_calls();
    affinity();
    handoff();
    two_at_once();
    team();
    std::puts("host_loops: all loops ran");
    return 0;
}
