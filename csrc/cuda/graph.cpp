#include "cuda/graph.hpp"

#include <stdexcept>
#include <string>

namespace ftax {
namespace {

// With these the capture is over, whatever was wrong with it; after any other failure it is still
// on.
bool is_about_the_capture(CUresult status) {
    return status >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
           status <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

// Ends a capture that an error left open: a stream that captures can do nothing else.
class Capture {
  public:
    Capture(const Context& context, CUstream origin) : context_(context), origin_(origin) {
        // Thread-local: other threads of the process may go on using the device as they like.
        context_.driver().stream_begin_capture(origin_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    }
    ~Capture() {
        if (ended_ || !context_.usable()) return;
        CUgraph graph = nullptr;
        // It reports that the capture was broken, which is known.
        context_.driver().stream_end_capture.get()(origin_, &graph);
        if (graph != nullptr) context_.clean_up(context_.driver().graph_destroy, graph);
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    CUgraph end() {
        CUgraph graph = nullptr;
        const CUresult status = context_.driver().stream_end_capture.get()(origin_, &graph);
        ended_ = status == CUDA_SUCCESS || is_about_the_capture(status);
        context_.driver().check(status, context_.driver().stream_end_capture.symbol());
        return graph;
    }

  private:
    const Context& context_;
    CUstream origin_;
    bool ended_ = false;
};

}  // namespace

Graph::~Graph() { context_.clean_up(driver().graph_destroy, handle_); }

std::size_t Graph::node_count() const {
    std::size_t count = 0;
    driver().graph_get_nodes(handle_, nullptr, &count);
    return count;
}

GraphExec::~GraphExec() { context_.clean_up(driver().graph_exec_destroy, handle_); }

void GraphExec::update(const Graph& graph) const {
    if (driver().graph_exec_update_v2.present()) {
        GraphUpdateInfo info{};
        driver().graph_exec_update_v2(handle_, graph.get(), &info);
    } else {
        CUgraphNode node = nullptr;
        CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
        driver().graph_exec_update(handle_, graph.get(), &node, &result);
    }
}

GraphBuilder::GraphBuilder(Session& session, const LaunchSpec& spec, int nodes, int width)
    : session_(session),
      spec_(spec),
      target_(null_target(session, spec)),
      nodes_(static_cast<std::size_t>(nodes)),
      width_(static_cast<std::size_t>(width)) {
    if (spec.api != LaunchApi::kernel) {
        throw std::invalid_argument("graphs are captured from cuLaunchKernel");
    }
    if (width < 1 || nodes < width) {
        throw std::invalid_argument("a graph needs a width of at least 1 and as many nodes; not " +
                                    std::to_string(nodes) + " nodes of width " +
                                    std::to_string(width));
    }
    with_launch(session_, spec_, target_, session_.stream(), [](const auto&) {});
    fork_ = std::make_unique<Event>(session_.context());
    for (int i = 1; i < width; ++i) {
        streams_.push_back(std::make_unique<Stream>(session_.context()));
        joins_.push_back(std::make_unique<Event>(session_.context()));
    }
}

CUstream GraphBuilder::branch(std::size_t index) const {
    return index == 0 ? session_.stream() : streams_[index - 1]->get();
}

void GraphBuilder::fork(std::size_t index) const {
    session_.driver().stream_wait_event(branch(index), fork_->get(), 0U);
}

void GraphBuilder::join(std::size_t index) const {
    const Driver& driver = session_.driver();
    const CUevent end = joins_[index - 1]->get();
    driver.event_record(end, branch(index));
    driver.stream_wait_event(branch(0), end, 0U);
}

void GraphBuilder::record() const {
    const Driver& driver = session_.driver();
    std::size_t forked = 1;  // branches that are part of the capture, and not joined again
    std::size_t joined = 1;
    try {
        if (width_ > 1) driver.event_record(fork_->get(), branch(0));
        for (; forked < width_; ++forked) fork(forked);
        for (std::size_t i = 0; i < width_; ++i) {
            const std::size_t share = nodes_ / width_ + (i < nodes_ % width_ ? 1 : 0);
            const KernelLaunch launch(driver, spec_, target_, branch(i));
            for (std::size_t node = 0; node < share; ++node) launch.check(launch());
        }
        for (; joined < width_; ++joined) join(joined);
    } catch (...) {
        // A capture cannot be ended while a branch is open.
        for (; joined < forked; ++joined) try_to_join(joined);
        throw;
    }
}

void GraphBuilder::try_to_join(std::size_t index) const noexcept {
    try {
        join(index);
    } catch (const std::exception&) {
        // The error that led here is the one to tell.
    }
}

std::unique_ptr<Graph> GraphBuilder::capture() const {
    Capture capture(session_.context(), session_.stream());
    record();
    return std::make_unique<Graph>(session_.context(), capture.end());
}

std::unique_ptr<GraphExec> instantiate(const Session& session, const Graph& graph) {
    CUgraphExec handle = nullptr;
    session.driver().graph_instantiate(&handle, graph.get(), 0ULL);
    return std::make_unique<GraphExec>(session.context(), handle);
}

}  // namespace ftax
