#include "cuda/graph.hpp"

#include <stdexcept>
#include <string>

#include "cuda/driver_call.hpp"

namespace ftax {
namespace {

// With these the capture is over, whatever was wrong with it; after any other failure it is still
// on.
bool is_about_the_capture(CUresult status) {
    return status >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
           status <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

}  // namespace

Graph::~Graph() { context_.clean_up(driver().graph_destroy, handle_); }

std::size_t Graph::node_count() const {
    std::size_t count = 0;
    driver().graph_get_nodes(handle_, nullptr, &count);
    return count;
}

GraphExec::~GraphExec() { context_.clean_up(driver().graph_exec_destroy, handle_); }

Span GraphExec::update(const Graph& graph) const {
    if (driver().graph_exec_update_v2.present()) {
        GraphUpdateInfo info{};
        return timed_burst(
            driver_call(driver(), driver().graph_exec_update_v2, handle_, graph.get(), &info), 1);
    }
    CUgraphNode node = nullptr;
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    return timed_burst(
        driver_call(driver(), driver().graph_exec_update, handle_, graph.get(), &node, &result), 1);
}

GraphBuilder::GraphBuilder(Session& session, const LaunchSpec& spec, int nodes, int width)
    : session_(session),
      width_(static_cast<std::size_t>(width)),
      calls_{session.driver().stream_begin_capture.get(), session.driver().stream_end_capture.get(),
             session.driver().event_record.get(), session.driver().stream_wait_event.get()} {
    if (spec.api != LaunchApi::kernel || spec.stream != StreamKind::own) {
        throw std::invalid_argument("graphs are captured from cuLaunchKernel on a stream of ours");
    }
    if (width < 1 || nodes < width) {
        throw std::invalid_argument("a graph needs a width of at least 1 and as many nodes; not " +
                                    std::to_string(nodes) + " nodes of width " +
                                    std::to_string(width));
    }
    const Target target = null_target(session, spec);
    with_launch(session, spec, target, session.stream(), [](const auto&) {});
    fork_ = std::make_unique<Event>(session.context());
    for (std::size_t i = 0; i < width_; ++i) {
        if (i > 0) {
            streams_.push_back(std::make_unique<Stream>(session.context()));
            joins_.push_back(std::make_unique<Event>(session.context()));
        }
        launches_.emplace_back(session.driver(), spec, target, branch(i));
        const auto count = static_cast<std::size_t>(nodes);
        shares_.push_back(count / width_ + (i < count % width_ ? 1 : 0));
    }
}

CUstream GraphBuilder::branch(std::size_t index) const {
    return index == 0 ? session_.stream() : streams_[index - 1]->get();
}

// Ends at the first failing call.
void GraphBuilder::record(Progress& at) const noexcept {
    const Driver& driver = session_.driver();
    const auto done = [&at](CUresult status, const char* symbol) {
        at.status = status;
        at.symbol = symbol;
        return status == CUDA_SUCCESS;
    };
    // Thread-local: other threads of the process may go on using the device as they like.
    at.open = done(calls_.begin(branch(0), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                   driver.stream_begin_capture.symbol());
    if (!at.open) return;
    const CUevent fork = fork_->get();
    if (width_ > 1 && !done(calls_.record(fork, branch(0)), driver.event_record.symbol())) return;
    for (; at.forked < width_; ++at.forked) {
        const CUresult status = calls_.wait(branch(at.forked), fork, 0U);
        if (!done(status, driver.stream_wait_event.symbol())) return;
    }
    for (std::size_t i = 0; i < width_; ++i) {
        for (std::size_t node = 0; node < shares_[i]; ++node) {
            if (!done(launches_[i](), driver.launch_kernel.symbol())) return;
        }
    }
    for (; at.joined < width_; ++at.joined) {
        if (!join(at)) return;
    }
    const CUresult status = calls_.end(branch(0), &at.graph);
    at.open = !done(status, driver.stream_end_capture.symbol()) && !is_about_the_capture(status);
}

bool GraphBuilder::join(Progress& at) const noexcept {
    const CUevent end = joins_[at.joined - 1]->get();
    at.symbol = session_.driver().event_record.symbol();
    at.status = calls_.record(end, branch(at.joined));
    if (at.status != CUDA_SUCCESS) return false;
    at.symbol = session_.driver().stream_wait_event.symbol();
    at.status = calls_.wait(branch(0), end, 0U);
    return at.status == CUDA_SUCCESS;
}

// Ends a capture that an error left open: a stream that captures can do nothing else, and a capture
// cannot be ended while a branch is open. What these calls return says nothing new.
void GraphBuilder::give_up(Progress& at) const noexcept {
    const Context& context = session_.context();
    if (!at.open || !context.usable()) return;
    const Progress failed = at;
    for (; at.joined < at.forked; ++at.joined) (void)join(at);
    (void)calls_.end(branch(0), &at.graph);
    if (at.graph != nullptr) context.clean_up(context.driver().graph_destroy, at.graph);
    at.status = failed.status;
    at.symbol = failed.symbol;
}

Made<Graph> GraphBuilder::capture() const {
    Progress progress;
    const std::int64_t begin = now_ns();
    record(progress);
    const std::int64_t end = now_ns();
    if (progress.status != CUDA_SUCCESS) give_up(progress);
    session_.driver().check(progress.status, progress.symbol);
    return {std::make_unique<Graph>(session_.context(), progress.graph), {begin, end}};
}

Made<GraphExec> instantiate(const Session& session, const Graph& graph) {
    const Driver& driver = session.driver();
    CUgraphExec handle = nullptr;
    const Span span =
        timed_burst(driver_call(driver, driver.graph_instantiate, &handle, graph.get(), 0ULL), 1);
    return {std::make_unique<GraphExec>(session.context(), handle), span};
}

}  // namespace ftax
