#include "cuda/graph_loops.hpp"

#include <stdexcept>
#include <string>

#include "cuda/driver_call.hpp"
#include "cuda/timed.hpp"

namespace ftax {
namespace {

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
    const Made<Graph> graph = builder.capture();
    require_nodes(*graph.thing, nodes);
    const Made<GraphExec> exec = instantiate(session, *graph.thing);
    const CUgraphExec handle = exec.thing->get();
    driver.graph_upload(handle, session.stream());
    const auto launch = driver_call(driver, driver.graph_launch, handle, session.stream());
    const auto wait = driver_call(driver, driver.stream_synchronize, session.stream());
    launch.check(launch());
    for (int i = 0; i < samples; ++i) {
        session.drain();
        const Stages stages = timed_stages(launch, 1, wait);
        replays.launch_s.push_back(stages.first());
        replays.total_s.push_back(stages.total());
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
        const Made<Graph> graph = builder.capture();
        require_nodes(*graph.thing, nodes);
        const Made<GraphExec> exec = instantiate(session, *graph.thing);
        const auto upload =
            driver_call(driver, driver.graph_upload, exec.thing->get(), session.stream());
        const Span uploaded = timed_pair(upload, wait);
        const Made<Graph> second = builder.capture();
        const Span updated = exec.thing->update(*second.thing);

        costs.capture_s.push_back(graph.span.seconds());
        costs.instantiate_s.push_back(exec.span.seconds());
        costs.upload_s.push_back(uploaded.seconds());
        costs.update_s.push_back(updated.seconds());
    }
    return costs;
}

}  // namespace ftax
