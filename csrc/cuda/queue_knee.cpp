#include "cuda/queue_knee.hpp"

#include <algorithm>

#include "cuda/polling.hpp"
#include "cuda/timed.hpp"

namespace ftax {
namespace {

// From the definition of the row: a blocked call waits for milliseconds, an ordinary one takes
// microseconds, and page faults or interrupts lie between.
constexpr double kBlocked = 100;

std::optional<int> first_blocked(const std::vector<double>& calls) {
    if (calls.empty()) return std::nullopt;
    std::vector<double> sorted = calls;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    const double limit = kBlocked * *middle;
    const auto found =
        std::find_if(calls.begin(), calls.end(), [limit](double call) { return call > limit; });
    if (found == calls.end()) return std::nullopt;
    return static_cast<int>(found - calls.begin());
}

}  // namespace

QueueKnee queue_knee(Session& session, const LaunchSpec& spec, int cap, double spin_s) {
    require_count("cap", cap, 1'000'000);
    if (!(spin_s > 0 && spin_s * 2e9 < static_cast<double>(session.deadline_ns()))) {
        throw std::invalid_argument("the spin must be positive and below half the deadline");
    }
    const auto spin_ns = static_cast<std::int64_t>(spin_s * 1e9);
    QueueKnee knee;
    knee.calls_s.reserve(static_cast<std::size_t>(cap));
    const Session::Use use(session);
    const CUstream stream = session.stream(spec.stream);
    with_launch(session, spec, null_target(session, spec), stream, [&](const auto& launch) {
        Arguments arguments(static_cast<std::uint64_t>(spin_ns));
        launch_once(session, Kernel::spin_ns, arguments, spec.stream);
        const std::int64_t begin = now_ns();
        std::int64_t before = begin;
        while (static_cast<int>(knee.calls_s.size()) < cap && before - begin < spin_ns) {
            const auto status = launch();
            const std::int64_t after = now_ns();
            launch.check(status);
            knee.calls_s.push_back(seconds(after - before));
            before = now_ns();
        }
    });
    session.drain(stream);
    knee.launches = first_blocked(knee.calls_s);
    return knee;
}

}  // namespace ftax
