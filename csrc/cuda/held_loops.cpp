#include "cuda/held_loops.hpp"

#include "cuda/polling.hpp"
#include "cuda/timed.hpp"

namespace ftax {
namespace {

// After the last launch call: time for the device's front end to fetch what was queued, so that the
// release does not overtake it.
constexpr Idle kSettle{50e-6, false};

template <class Launch>
double held_burst(Session& session, const Launch& launch, StreamKind kind, int launches,
                  std::int64_t deadline_ns) {
    const HostWords& words = session.words();
    const CUstream stream = session.stream(kind);
    session.drain(stream);
    const std::uint32_t value = session.next_value();
    Arguments arguments(words.device(kSignalWord), value);
    const auto is_set = [&] { return words.load(kSignalWord) == value; };

    const Hold hold(session, deadline_ns, kind);
    (void)timed_burst(launch, launches);
    launch_once(session, Kernel::store, arguments, kind);
    kSettle.wait();
    const std::int64_t end = now_ns() + session.deadline_ns();

    const std::int64_t released = now_ns();
    hold.release();
    const bool seen = poll_until(is_set, end);
    const std::int64_t stored = now_ns();

    if (!seen) session.give_up("a released stream to finish");
    session.drain(stream);
    hold.require_released();
    return seconds(stored - released);
}

std::vector<double> held_bursts(Session& session, const LaunchSpec& spec, Target target,
                                int launches, int samples, std::int64_t deadline_ns) {
    std::vector<double> times = sample_list(samples);
    with_launch(session, spec, target, session.stream(spec.stream), [&](const auto& launch) {
        for (int i = 0; i < samples; ++i) {
            times.push_back(held_burst(session, launch, spec.stream, launches, deadline_ns));
        }
    });
    return times;
}

}  // namespace

std::int64_t hold_deadline(const Session& session, double deadline_s) {
    if (!(deadline_s > 0 && deadline_s < static_cast<double>(session.deadline_ns()) * 1e-9)) {
        throw std::invalid_argument(
            "the holder's deadline must be positive and below the session's");
    }
    return static_cast<std::int64_t>(deadline_s * 1e9);
}

Hold::Hold(Session& session, std::int64_t deadline_ns, StreamKind stream)
    : words_(session.words()), value_(session.next_value()) {
    words_.store(kOutcomeWord, 0);
    Arguments arguments(words_.device(kReleaseWord), value_,
                        static_cast<std::uint64_t>(deadline_ns), words_.device(kOutcomeWord));
    launch_once(session, Kernel::hold, arguments, stream);
}

void Hold::require_released() const {
    if (words_.load(kOutcomeWord) != kHoldReleased) {
        throw CudaTimeout(
            "the holding kernel's deadline passed before the host released it: the host was "
            "suspended, or the launches behind it filled the queue");
    }
}

std::vector<double> spacing(Session& session, const LaunchSpec& spec, int launches, int samples,
                            double hold_deadline_s) {
    require_count("launches", launches);
    const Session::Use use(session);
    return held_bursts(session, spec, null_target(session, spec), launches, samples,
                       hold_deadline(session, hold_deadline_s));
}

std::vector<double> spin_spacing(Session& session, std::uint64_t cycles, int launches, int samples,
                                 double hold_deadline_s) {
    require_count("launches", launches);
    const Session::Use use(session);
    Arguments arguments(cycles);
    const Target target{session.kernel(Kernel::spin), arguments.pointers()};
    return held_bursts(session, LaunchSpec{}, target, launches, samples,
                       hold_deadline(session, hold_deadline_s));
}

}  // namespace ftax
