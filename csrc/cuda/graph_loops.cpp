#include "cuda/graph_loops.hpp"

#include <stdexcept>
#include <string>

#include "cuda/driver_call.hpp"
#include "cuda/timed.hpp"

namespace ftax {
namespace {

// Times a step that checks its own statuses, since its parts are many.
template <class Step>
double timed_step(const Step& step) {
    const std::int64_t begin = now_ns();
    step();
    return seconds(now_ns() - begin);
}

void require_nodes(const Graph& graph, int nodes) {
    const std::size_t has = graph.node_count();
    if (has != static_cast<std::size_t>(nodes)) {
        throw std::runtime_error("the captured graph has " + std::to_string(has) +
                                 " nodes instead of " + std::to_string(nodes));
    }
}

}  // namespace

GraphReplays graph_replay(Session& session, const LaunchSpec& spec, int nodes, int width,
                          int samples) {
    GraphReplays replays{sample_list(samples), sample_list(samples)};
    const Session::Use use(session);
    const Driver& driver = session.driver();
    const GraphBuilder builder(session, spec, nodes, width);
    const auto graph = builder.capture();
    require_nodes(*graph, nodes);
    const auto exec = instantiate(session, *graph);
    driver.graph_upload(exec->get(), session.stream());
    const auto launch = driver_call(driver, driver.graph_launch, exec->get(), session.stream());
    const auto wait = driver_call(driver, driver.stream_synchronize, session.stream());
    launch.check(launch());
    for (int i = 0; i < samples; ++i) {
        session.drain();
        const Span launched = timed_burst(launch, 1);
        const Span waited = timed_burst(wait, 1);
        replays.launch_s.push_back(launched.seconds());
        replays.total_s.push_back(launched.seconds_to(waited));
    }
    return replays;
}

GraphCosts graph_create(Session& session, const LaunchSpec& spec, int nodes, int width,
                        int samples) {
    GraphCosts costs{sample_list(samples), sample_list(samples), sample_list(samples),
                     sample_list(samples)};
    const Session::Use use(session);
    const Driver& driver = session.driver();
    const GraphBuilder builder(session, spec, nodes, width);
    const auto wait = driver_call(driver, driver.stream_synchronize, session.stream());
    for (int i = 0; i < samples; ++i) {
        std::unique_ptr<Graph> graph;
        std::unique_ptr<GraphExec> exec;
        costs.capture_s.push_back(timed_step([&] { graph = builder.capture(); }));
        require_nodes(*graph, nodes);
        costs.instantiate_s.push_back(timed_step([&] { exec = instantiate(session, *graph); }));
        const auto upload = driver_call(driver, driver.graph_upload, exec->get(), session.stream());
        costs.upload_s.push_back(timed_pair(upload, wait).seconds());
        const auto second = builder.capture();
        costs.update_s.push_back(timed_step([&] { exec->update(*second); }));
    }
    return costs;
}

}  // namespace ftax
