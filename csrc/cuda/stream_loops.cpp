#include "cuda/stream_loops.hpp"

#include "cuda/timed.hpp"

namespace ftax {

std::vector<double> submit(Session& session, const LaunchSpec& spec, int burst, int samples,
                           const Idle& idle) {
    require_count("burst", burst);
    std::vector<double> times = sample_list(samples);
    const Session::Use use(session);
    const CUstream stream = session.stream(spec.stream);
    const Target target = null_target(session, spec);
    with_launch(session, spec, target, stream, [&](const auto& launch) {
        for (int i = 0; i < samples; ++i) {
            session.drain(stream);
            idle.wait();
            times.push_back(timed_burst(launch, burst).seconds());
        }
    });
    session.drain(stream);
    return times;
}

std::vector<double> launch_sync(Session& session, const LaunchSpec& spec, int samples,
                                const Idle& idle) {
    std::vector<double> times = sample_list(samples);
    const Session::Use use(session);
    const CUstream stream = session.stream(spec.stream);
    const Target target = null_target(session, spec);
    with_launch(session, spec, target, stream, [&](const auto& launch) {
        const auto wait = wait_like(launch, session.driver(), stream);
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
    const CUstream stream = session.stream(spec.stream);
    const Target target = null_target(session, spec);
    with_launch(session, spec, target, stream, [&](const auto& launch) {
        const auto wait = wait_like(launch, session.driver(), stream);
        for (int i = 0; i < samples; ++i) {
            session.drain(stream);
            const Stages stages = timed_stages(launch, launches, wait);
            rate.submit_s.push_back(stages.first());
            rate.total_s.push_back(stages.total());
        }
    });
    return rate;
}

}  // namespace ftax
