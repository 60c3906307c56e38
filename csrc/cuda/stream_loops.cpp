#include "cuda/stream_loops.hpp"

#include "cuda/driver_call.hpp"
#include "cuda/timed.hpp"

namespace ftax {

std::vector<double> submit(Session& session, const LaunchSpec& spec, int burst, int samples,
                           const Idle& idle) {
    require_count("burst", burst);
    std::vector<double> times = sample_list(samples);
    const Session::Use use(session);
    const Target target = null_target(session, spec);
    with_launch(session, spec, target, session.stream(), [&](const auto& launch) {
        for (int i = 0; i < samples; ++i) {
            session.drain();
            idle.wait();
            times.push_back(timed_burst(launch, burst).seconds());
        }
    });
    session.drain();
    return times;
}

std::vector<double> launch_sync(Session& session, const LaunchSpec& spec, int samples,
                                const Idle& idle) {
    std::vector<double> times = sample_list(samples);
    const Session::Use use(session);
    const Driver& driver = session.driver();
    const auto wait = driver_call(driver, driver.stream_synchronize, session.stream());
    const Target target = null_target(session, spec);
    with_launch(session, spec, target, session.stream(), [&](const auto& launch) {
        for (int i = 0; i < samples; ++i) {
            idle.wait();
            times.push_back(timed_pair(launch, wait).seconds());
        }
    });
    return times;
}

LaunchRate launch_rate(Session& session, const LaunchSpec& spec, int launches, int samples) {
    require_count("launches", launches);
    LaunchRate rate{sample_list(samples), sample_list(samples)};
    const Session::Use use(session);
    const Driver& driver = session.driver();
    const auto wait = driver_call(driver, driver.stream_synchronize, session.stream());
    const Target target = null_target(session, spec);
    with_launch(session, spec, target, session.stream(), [&](const auto& launch) {
        for (int i = 0; i < samples; ++i) {
            session.drain();
            const Span submitted = timed_burst(launch, launches);
            const Span waited = timed_burst(wait, 1);
            rate.submit_s.push_back(submitted.seconds());
            rate.total_s.push_back(submitted.seconds_to(waited));
        }
    });
    return rate;
}

}  // namespace ftax
