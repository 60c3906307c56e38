// The kernels, copies and graphs as they look from outside: how long they take, what they store.
#include "work.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

#include "clock.hpp"
#include "config.hpp"

namespace fake {
namespace {

using Alive = std::function<bool()>;

constexpr std::uint32_t kReleased = 1;
constexpr std::uint32_t kDeadline = 2;

std::int64_t global_timer(std::int64_t t) {
    const std::int64_t step = std::max<std::int64_t>(1, config().globaltimer_ns);
    return t / step * step;
}

void store(std::uint64_t address, std::uint32_t value) {
    __atomic_store_n(host_address<std::uint32_t>(address), value, __ATOMIC_RELEASE);
}

void store(std::uint64_t address, std::uint64_t value) {
    __atomic_store_n(host_address<std::uint64_t>(address), value, __ATOMIC_RELEASE);
}

std::uint32_t load(const std::uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

// Waits in slices, so that an abandoned operation is left soon.
void wait_alive(std::int64_t deadline_ns, const Alive& alive) {
    constexpr std::int64_t kSlice = 2'000'000;
    while (alive() && deadline_ns - now_ns() > kSlice) sleep_until(now_ns() + kSlice / 2);
    if (alive()) wait_until(deadline_ns);
}

// A polled read asked for at t reaches the host's memory one leg later and is back after the other.
// The host's store counts from the moment it is really read, so no answer comes before its cause.
std::int64_t plan_hold(const Work& work, std::int64_t start, std::vector<Effect>& effects,
                       const Alive& alive) {
    const auto* word = host_address<std::uint32_t>(work.argument<std::uint64_t>(0));
    const auto value = work.argument<std::uint32_t>(1);
    const auto limit = work.argument<std::uint64_t>(2);
    const auto outcome = work.argument<std::uint64_t>(3);
    settle(effects, alive);
    std::int64_t asked = start;
    std::int64_t back = start;
    std::uint32_t result = 0;
    while (result == 0 && alive()) {
        wait_alive(asked + config().d2h_ns, alive);
        const bool equal = load(word) == value;
        const std::int64_t read = std::max(now_ns(), asked + config().d2h_ns);
        back = read + config().h2d_ns;
        const auto passed = static_cast<std::uint64_t>(global_timer(back) - global_timer(start));
        if (equal) {
            result = kReleased;
        } else if (passed > limit) {
            result = kDeadline;
        }
        asked = std::max(back, asked + poll_period_ns());
    }
    effects.push_back({back + config().d2h_ns, [outcome, result] { store(outcome, result); }});
    return back;
}

std::int64_t plan_round_trip(const Work& work, std::int64_t start, std::vector<Effect>& effects) {
    const auto word = work.argument<std::uint64_t>(0);
    const auto count = work.argument<std::uint32_t>(1);
    const auto cycles = work.argument<std::uint64_t>(2);
    const auto total = work.argument<std::uint64_t>(3);
    const std::int64_t one = round_trip_ns();
    const std::int64_t end = start + one * count;
    const auto one_cycles = static_cast<std::uint64_t>(one * config().clock_mhz / 1000);
    const auto timer = static_cast<std::uint64_t>(global_timer(end) - global_timer(start));
    effects.push_back({end + config().d2h_ns, [=] {
                           load(host_address<std::uint32_t>(word));
                           for (std::uint64_t i = 0; i < count; ++i)
                               store(cycles + 8 * i, one_cycles);
                           store(total, one_cycles * count);
                           store(total + 8, timer);
                       }});
    return end;
}

std::int64_t plan_kernel(const Work& work, std::int64_t start, std::vector<Effect>& effects,
                         const Alive& alive) {
    const std::int64_t body = config().body_ns;
    switch (work.kernel) {
        case Kernel::null:
        case Kernel::dependent:
            return start + body;
        case Kernel::store: {
            const auto word = work.argument<std::uint64_t>(0);
            const auto value = work.argument<std::uint32_t>(1);
            effects.push_back({start + config().d2h_ns, [=] { store(word, value); }});
            return start + body;
        }
        case Kernel::hold:
            return plan_hold(work, start, effects, alive);
        case Kernel::spin: {
            const auto cycles = static_cast<std::int64_t>(work.argument<std::uint64_t>(0));
            return start + body + cycles * 1000 / std::max<std::int64_t>(1, config().clock_mhz);
        }
        case Kernel::spin_ns: {
            const auto ns = static_cast<std::int64_t>(work.argument<std::uint64_t>(0));
            const std::int64_t step = std::max<std::int64_t>(1, config().globaltimer_ns);
            return start + body + (ns + step - 1) / step * step;
        }
        case Kernel::round_trip:
            return plan_round_trip(work, start, effects) + body;
    }
    return start;
}

std::int64_t plan_copy(const Work& work, std::int64_t start, std::vector<Effect>& effects) {
    const std::int64_t end = start + (work.to_device ? config().h2d_copy_ns : config().d2h_copy_ns);
    effects.push_back({end, [copy = work] {
                           const void* from = copy.staged.empty()
                                                  ? host_address<const void>(copy.source)
                                                  : copy.staged.data();
                           std::memcpy(host_address<void>(copy.target), from, copy.bytes);
                       }});
    return end;
}

std::int64_t plan_set(const Work& work, std::int64_t start, std::vector<Effect>& effects) {
    const std::int64_t end = start + config().memset_ns;
    effects.push_back({end, [set = work] {
                           auto* target = host_address<unsigned char>(set.target);
                           for (std::size_t i = 0; i < set.bytes; i += set.pattern_bytes) {
                               std::memcpy(target + i, &set.pattern, set.pattern_bytes);
                           }
                       }});
    return end;
}

// Branches run side by side; nodes are taken in the order of their starts.
std::int64_t plan_graph(const std::vector<Node>& nodes, std::int64_t start,
                        std::vector<Effect>& effects, const Alive& alive) {
    using Ready = std::pair<std::int64_t, std::size_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    std::vector<std::int64_t> starts(nodes.size(), start);
    std::vector<std::size_t> missing(nodes.size());
    std::vector<std::vector<std::size_t>> followers(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        missing[i] = nodes[i].after.size();
        for (const std::size_t before : nodes[i].after) followers[before].push_back(i);
        if (missing[i] == 0) ready.emplace(start, i);
    }
    std::int64_t last = start;
    while (!ready.empty()) {
        const auto [begin, index] = ready.top();
        ready.pop();
        const std::int64_t end = plan(nodes[index].work, begin, effects, alive);
        last = std::max(last, end);
        for (const std::size_t next : followers[index]) {
            starts[next] = std::max(starts[next], end + config().graph_gap_ns);
            if (--missing[next] == 0) ready.emplace(starts[next], next);
        }
    }
    return last;
}

}  // namespace

bool find_kernel(const std::string& name, Kernel& kernel, Parameters& parameters) {
    static const std::map<std::string, std::pair<Kernel, Parameters>> known = {
        {"ftax_null", {Kernel::null, {}}},
        {"ftax_null_8", {Kernel::null, {8}}},
        {"ftax_null_64", {Kernel::null, {64}}},
        {"ftax_null_256", {Kernel::null, {256}}},
        {"ftax_null_1024", {Kernel::null, {1024}}},
        {"ftax_null_4096", {Kernel::null, {4096}}},
        {"ftax_null_5p", {Kernel::null, Parameters(5, 8)}},
        {"ftax_null_19p", {Kernel::null, Parameters(19, 8)}},
        {"ftax_store", {Kernel::store, {8, 4}}},
        {"ftax_hold", {Kernel::hold, {8, 4, 8, 8}}},
        {"ftax_spin", {Kernel::spin, {8}}},
        {"ftax_spin_ns", {Kernel::spin_ns, {8}}},
        {"ftax_round_trip", {Kernel::round_trip, {8, 4, 8, 8}}},
        {"ftax_dependent", {Kernel::dependent, {}}},
    };
    const auto found = known.find(name);
    if (found == known.end()) return false;
    std::tie(kernel, parameters) = found->second;
    return true;
}

std::vector<std::pair<std::uint64_t, std::size_t>> touched(const Work& work) {
    if (work.kind == WorkKind::set) return {{work.target, work.bytes}};
    if (work.kind == WorkKind::copy) {
        // The host side of a copy may be ordinary memory, which the fake knows nothing of.
        return {{work.to_device ? work.target : work.source, work.bytes}};
    }
    if (work.kind != WorkKind::kernel) return {};
    const auto address = [&](std::size_t i) { return work.argument<std::uint64_t>(i); };
    switch (work.kernel) {
        case Kernel::store:
            return {{address(0), 4}};
        case Kernel::hold:
            return {{address(0), 4}, {address(3), 4}};
        case Kernel::round_trip:
            return {{address(0), 4},
                    {address(2), std::size_t{8} * work.argument<std::uint32_t>(1)},
                    {address(3), 16}};
        default:
            return {};
    }
}

void collect_holds(const Work& work, std::vector<Held>& holds) {
    if (work.kind == WorkKind::graph) {
        for (const Node& node : *work.nodes) collect_holds(node.work, holds);
    } else if (work.kind == WorkKind::kernel && work.kernel == Kernel::hold) {
        holds.push_back({host_address<const std::uint32_t>(work.argument<std::uint64_t>(0)),
                         work.argument<std::uint32_t>(1)});
    }
}

bool is_held(const Done& done) {
    if (done.known) return false;
    const auto waits = [](const Held& held) { return load(held.word) != held.value; };
    return done.hangs || std::any_of(done.holds.begin(), done.holds.end(), waits);
}

std::int64_t plan(const Work& work, std::int64_t start_ns, std::vector<Effect>& effects,
                  const Alive& alive) {
    switch (work.kind) {
        case WorkKind::marker:
            return start_ns;
        case WorkKind::kernel:
            return plan_kernel(work, start_ns, effects, alive);
        case WorkKind::copy:
            return plan_copy(work, start_ns, effects);
        case WorkKind::set:
            return plan_set(work, start_ns, effects);
        case WorkKind::graph:
            return plan_graph(*work.nodes, start_ns, effects, alive);
    }
    return start_ns;
}

void settle(std::vector<Effect>& effects, const Alive& alive) {
    std::stable_sort(effects.begin(), effects.end(),
                     [](const Effect& a, const Effect& b) { return a.at_ns < b.at_ns; });
    for (const Effect& effect : effects) {
        wait_alive(effect.at_ns, alive);
        if (!alive()) break;
        effect.apply();
    }
    effects.clear();
}

}  // namespace fake
