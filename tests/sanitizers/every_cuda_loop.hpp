// Every timed loop of the CUDA half once, with few samples: what the sanitizers
// look at.
#pragma once

#include <memory>
#include <vector>

#include "affinity.hpp"
#include "check.hpp"
#include "cuda/call_loops.hpp"
#include "cuda/first_launch.hpp"
#include "cuda/graph_loops.hpp"
#include "cuda/held_loops.hpp"
#include "cuda/launcher.hpp"
#include "cuda/queue_knee.hpp"
#include "cuda/runtime_kernels.hpp"
#include "cuda/start_loops.hpp"
#include "cuda/stream_loops.hpp"
#include "cuda/thread_loops.hpp"
#include "cuda/wait_loops.hpp"

namespace harness {

constexpr int kFew = 3;
constexpr double kHoldS = 5;  // far above what a sanitized loop needs between hold and release

inline void stream_loops(ftax::Session& session) {
    const ftax::Idle none;
    const ftax::Idle sleeping{1e-4, true};
    const ftax::Idle spinning{1e-4, false};
    for (const ftax::LaunchApi api :
         {ftax::LaunchApi::kernel, ftax::LaunchApi::kernel_ex, ftax::LaunchApi::cooperative,
          ftax::LaunchApi::dependent, ftax::LaunchApi::runtime}) {
        ftax::LaunchSpec spec;
        spec.api = api;
        check_shots(submit(session, spec, 4, kFew, none), kFew, "submit");
        check_shots(launch_sync(session, spec, kFew, spinning), kFew, "launch_sync");
        check_shots(spacing(session, spec, 4, kFew, kHoldS), kFew, "spacing");
        check_shots(to_start(session, spec, kFew, none).seconds, kFew, "to_start");
        check(!queue_knee(session, spec, 16, 1e-3).calls_s.empty(), "queue_knee calls");
    }
    for (const ftax::StreamKind kind : {ftax::StreamKind::legacy, ftax::StreamKind::per_thread}) {
        ftax::LaunchSpec spec;
        spec.stream = kind;
        check_shots(submit(session, spec, 4, kFew, none), kFew, "submit, default stream");
        check_shots(launch_sync(session, spec, kFew, none), kFew, "launch_sync, default stream");
        check_shots(spacing(session, spec, 4, kFew, kHoldS), kFew, "spacing, default stream");
        check_shots(to_start(session, spec, kFew, none).seconds, kFew, "to_start, default stream");
        check_shots(launch_rate(session, spec, 20, kFew).total_s, kFew, "rate, default stream");
    }
    ftax::LaunchSpec large;
    large.argument_bytes = 4096;
    check_shots(submit(session, large, 4, kFew, sleeping), kFew, "submit, 4096 bytes");
    const ftax::LaunchRate rate = launch_rate(session, {}, 50, kFew);
    check_shots(rate.submit_s, kFew, "launch_rate's submit");
    check_shots(rate.total_s, kFew, "launch_rate");
    const ftax::Starts starts = to_start(session, {}, kFew, sleeping);
    check_shots(starts.seconds, kFew, "to_start");
    check(starts.censored.size() == kFew, "to_start counts censored samples");
    check(round_trip(session, 8).cycles.size() == 8, "round_trip reads eight times");
    check_shots(spin_spacing(session, 1000, 4, kFew, kHoldS), kFew, "spin_spacing");
    check(!queue_knee(session, {}, 16, 1e-3).calls_s.empty(), "queue_knee calls");
}

inline void several_arguments(ftax::Session& session) {
    for (const ftax::LaunchApi api : {ftax::LaunchApi::kernel, ftax::LaunchApi::runtime}) {
        for (const int arguments : {5, 19}) {
            ftax::LaunchSpec spec;
            spec.api = api;
            spec.arguments = arguments;
            check_shots(submit(session, spec, 4, kFew, {}), kFew, "submit of several arguments");
        }
    }
}

// What a loop in Python does with a launcher.
inline void launcher_loops(const std::shared_ptr<ftax::Session>& session) {
    for (const int arguments : {0, 5, 19}) {
        ftax::LaunchSpec spec;
        spec.arguments = arguments;
        ftax::Launcher launcher(session, spec);
        for (int round = 0; round < 2; ++round) {
            launcher.enter();
            launcher.wait();
            for (int i = 0; i < kFew; ++i) {
                for (std::size_t k = 0; k < launcher.arguments(); ++k) launcher.values()[k] = i;
                launcher.check(launcher.launch());
            }
            check_throws<ftax::CudaBusy>([&] { launcher.enter(); }, "entering twice");
            launcher.leave();
            launcher.leave();
        }
        check_throws<std::logic_error>([&] { launcher.wait(); }, "waiting without the right to");
    }
}

inline void other_loops(ftax::Session& session) {
    using ftax::Call;
    for (const Call call :
         {Call::memcpy_h2d, Call::memcpy_d2h, Call::memcpy_h2d_pageable, Call::memcpy_d2h_pageable,
          Call::memset, Call::event_record, Call::stream_sync, Call::stream_query}) {
        check_shots(call_submit(session, call, 2, kFew), kFew, "a call's submit");
        check_shots(call_end_to_end(session, call, kFew), kFew, "a call, end to end");
    }
    for (const auto method : {ftax::WaitMethod::stream, ftax::WaitMethod::event_query}) {
        const auto waits = sync_wait(session, method, kFew, 1e-3, -1, -1, kHoldS);
        check_shots(waits.seconds, kFew, "sync");
    }
    const ftax::ThreadBursts bursts = submit_threads(session, {}, 2, 4, kFew, {});
    check(bursts.seconds.size() == 2, "submit_threads has two threads");
    for (const auto& seconds : bursts.seconds) check_shots(seconds, kFew, "submit_threads");
}

inline void graphs_and_modules(ftax::Session& session) {
    for (const int width : {1, 3}) {
        const ftax::GraphReplays replays = graph_replay(session, {}, 6, width, kFew);
        check_shots(replays.launch_s, kFew, "graph_replay's launch");
        check_shots(replays.total_s, kFew, "graph_replay");
        const ftax::GraphCosts costs = graph_create(session, {}, 6, width, kFew);
        check_shots(costs.capture_s, kFew, "graph capture");
        check_shots(costs.instantiate_s, kFew, "graph instantiation");
        check_shots(costs.upload_s, kFew, "graph upload");
        check_shots(costs.update_s, kFew, "graph update");
    }
    for (const ftax::Image image : {ftax::Image::ptx, ftax::Image::cubin}) {
        const ftax::FirstLaunches first = first_launch(session, image, kFew);
        check_shots(first.load_s, kFew, "loading a module");
        check_shots(first.first_total_s, kFew, "first_launch");
    }
}

inline void every_cuda_loop(ftax::Session& session) {
    session.use_runtime("");  // FTAX_MICRO_CUDA_RUNTIME names the fake one
    check(ftax::runtime_facts(session.driver(), "").version > 0, "the runtime has no version");
    (void)ftax::loaded_runtime(session.driver().version());  // what is loaded has another name here
    stream_loops(session);
    several_arguments(session);
    other_loops(session);
    graphs_and_modules(session);
}

}  // namespace harness
