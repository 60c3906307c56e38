#include "cuda/start_loops.hpp"

#include "cuda/timed.hpp"

namespace ftax {

Starts to_start(Session& session, const LaunchSpec& spec, int samples, const Idle& idle) {
    if (spec.argument_bytes != 0) {
        throw std::invalid_argument("to_start launches ftax_store: argument_bytes must be 0");
    }
    Starts starts{sample_list(samples), {}};
    const Session::Use use(session);
    check_spec(session, spec);
    const HostWords& words = session.words();
    Arguments arguments(words.device(kSignalWord), session.next_value());
    const CUstream stream = session.stream(spec.stream);
    const Target target = target_of(session, spec, Kernel::store, arguments.pointers());
    with_launch(session, spec, target, stream, [&](const auto& launch) {
        for (int i = 0; i < samples; ++i) {
            session.drain(stream);
            idle.wait();
            const std::uint32_t value = session.next_value();
            arguments.template set<1>(value);
            const auto is_set = [&] { return words.load(kSignalWord) == value; };
            const std::int64_t end = now_ns() + session.deadline_ns();

            const std::int64_t called = now_ns();
            const auto status = launch();
            const bool censored = is_set();
            const bool seen = censored || (status == launch.success() && poll_until(is_set, end));
            const std::int64_t stored = now_ns();

            launch.check(status);
            if (!seen) session.give_up("a kernel to store its word");
            starts.seconds.push_back(seconds(stored - called));
            starts.censored.push_back(censored);
        }
    });
    session.drain(stream);
    return starts;
}

RoundTrips round_trip(Session& session, int count) {
    require_count("count", count, 10'000'000);
    const auto reads = static_cast<std::size_t>(count);
    std::vector<std::uint64_t> results(reads + 2);
    const std::size_t bytes = results.size() * sizeof(std::uint64_t);
    const Session::Use use(session);
    const Driver& driver = session.driver();
    // Results stay on the device until the end: a store to host memory after each read would share
    // the bus with the next.
    const DeviceMemory memory(session.context(), bytes);
    const CUdeviceptr totals = memory.get() + reads * sizeof(std::uint64_t);
    driver.memset_d32_async(memory.get(), 0U, bytes / sizeof(std::uint32_t), session.stream());
    Arguments arguments(session.words().device(kReadWord), static_cast<std::uint32_t>(count),
                        memory.get(), totals);
    launch_once(session, Kernel::round_trip, arguments);
    session.drain();
    driver.memcpy_d2h_async(static_cast<void*>(results.data()), memory.get(), bytes,
                            session.stream());
    session.drain();
    RoundTrips trips{{}, results[reads], results[reads + 1]};
    results.resize(reads);
    trips.cycles = std::move(results);
    return trips;
}

}  // namespace ftax
