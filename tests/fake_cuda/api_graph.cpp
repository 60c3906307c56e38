// Stream capture and graphs.
#include "call.hpp"

#undef cuGraphExecUpdate
#undef cuStreamGetCaptureInfo

namespace fake {
namespace {

std::uintptr_t this_thread() { return reinterpret_cast<std::uintptr_t>(&context_stack()); }

void end_capture(Capture& capture) {
    for (const auto& weak : capture.streams) {
        const std::shared_ptr<Stream> stream = weak.lock();
        if (stream == nullptr) continue;
        stream->capture = nullptr;
        stream->after.clear();
        stream->capture_origin = false;
    }
}

// Every node a forked stream ended on must lead back to the origin.
bool is_joined(const Capture& capture, const Stream& origin) {
    std::vector<bool> reached(capture.graph->nodes.size(), false);
    std::vector<std::size_t> open = origin.after;
    while (!open.empty()) {
        const std::size_t node = open.back();
        open.pop_back();
        if (reached[node]) continue;
        reached[node] = true;
        const std::vector<std::size_t>& before = capture.graph->nodes[node].after;
        open.insert(open.end(), before.begin(), before.end());
    }
    return std::all_of(reached.begin(), reached.end(), [](bool node) { return node; });
}

CUresult begin(Call& call, CUstream handle, CUstreamCaptureMode mode) {
    CUresult error = CUDA_SUCCESS;
    const auto stream = take_stream(call, handle, error);
    if (stream == nullptr) return error;
    if (stream == call.context()->null_stream) {
        return call.misuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the default stream can't capture");
    }
    if (stream->capture != nullptr) {
        return call.misuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is already capturing");
    }
    auto capture = std::make_shared<Capture>();
    capture->graph = std::make_shared<Graph>();
    capture->mode = mode;
    capture->thread = this_thread();
    capture->streams.push_back(stream);
    stream->capture = capture;
    stream->after.clear();
    stream->capture_origin = true;
    call.costs(config().capture_begin_ns);
    return CUDA_SUCCESS;
}

CUresult end(Call& call, CUstream handle, CUgraph* out) {
    *out = nullptr;
    CUresult error = CUDA_SUCCESS;
    const auto stream = take_stream(call, handle, error);
    if (stream == nullptr) return error;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture == nullptr) return call.misuse(CUDA_ERROR_ILLEGAL_STATE, "nothing is captured");
    if (!stream->capture_origin) {
        return call.misuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture began in another stream");
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != this_thread()) {
        return call.misuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "begun in another thread");
    }
    const bool joined = is_joined(*capture, *stream);
    end_capture(*capture);
    call.costs(config().capture_end_ns);
    if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!joined) {
        return call.misuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a forked stream was not joined");
    }
    state().add(capture->graph, call.context());
    *out = as_handle<CUgraph>(capture->graph);
    return CUDA_SUCCESS;
}

CUstreamCaptureStatus capture_status(const Stream& stream) {
    if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream.capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

std::int64_t per_node(std::int64_t fixed, std::int64_t each, std::size_t nodes) {
    return fixed + each * static_cast<std::int64_t>(nodes);
}

CUresult instantiate(Call& call, CUgraphExec* out, CUgraph handle) {
    CUresult error = CUDA_SUCCESS;
    const auto graph = call.take<Graph>(handle, "graph", error);
    if (graph == nullptr) return error;
    call.must_not_be_held();
    for (const Node& node : graph->nodes) {
        if (node.work.function != nullptr) node.work.function->loaded = true;
    }
    auto exec = std::make_shared<GraphExec>();
    exec->nodes = std::make_shared<const std::vector<Node>>(graph->nodes);
    state().add(exec, call.context());
    call.costs(per_node(config().graph_instantiate_ns, config().graph_instantiate_node_ns,
                        graph->nodes.size()));
    *out = as_handle<CUgraphExec>(exec);
    return CUDA_SUCCESS;
}

std::int64_t upload_cost(const GraphExec& exec) {
    return per_node(config().graph_upload_ns, config().graph_upload_node_ns, exec.nodes->size());
}

// A graph that was not uploaded is uploaded by its first launch.
CUresult launch_graph(Call& call, CUgraphExec handle, CUstream stream_handle) {
    CUresult error = CUDA_SUCCESS;
    const auto exec = call.take<GraphExec>(handle, "executable graph", error);
    const auto stream = exec == nullptr ? nullptr : take_stream(call, stream_handle, error);
    if (stream == nullptr) return error;
    Work work;
    work.kind = WorkKind::graph;
    work.nodes = exec->nodes;
    std::int64_t cost =
        per_node(config().graph_launch_ns, config().graph_launch_node_ns, exec->nodes->size());
    if (!exec->uploaded) cost += upload_cost(*exec);
    std::vector<std::shared_ptr<Done>> waits_for;
    if (exec->last != nullptr && !exec->last->settled) waits_for.push_back(exec->last);
    error = submit_and_get(call, stream, std::move(work), cost, std::move(waits_for), exec->last);
    exec->uploaded = exec->uploaded || error == CUDA_SUCCESS;
    return error;
}

bool same_topology(const std::vector<Node>& a, const std::vector<Node>& b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const Node& x, const Node& y) {
               return x.work.kind == y.work.kind && x.after == y.after;
           });
}

CUresult update(Call& call, CUgraphExec exec_handle, CUgraph graph_handle,
                CUgraphExecUpdateResult* result) {
    CUresult error = CUDA_SUCCESS;
    const auto exec = call.take<GraphExec>(exec_handle, "executable graph", error);
    const auto graph = exec == nullptr ? nullptr : call.take<Graph>(graph_handle, "graph", error);
    if (graph == nullptr) return error;
    call.costs(
        per_node(config().graph_update_ns, config().graph_update_node_ns, graph->nodes.size()));
    const bool same = same_topology(*exec->nodes, graph->nodes);
    *result = same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (!same) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    exec->nodes = std::make_shared<const std::vector<Node>>(graph->nodes);
    return CUDA_SUCCESS;
}

template <class T, class Handle>
CUresult destroy(const char* name, Handle handle, const char* kind) {
    return api(name, kInit | kContext | kRelease, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto object = call.take<T>(handle, kind, error);
        if (object != nullptr) state().objects.erase(object->handle);
        return error;
    });
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    return api("cuStreamBeginCapture_v2", kInit | kContext,
               [&](Call& call) { return begin(call, stream, mode); });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    return api("cuStreamEndCapture", kInit | kContext,
               [&](Call& call) { return end(call, stream, graph); });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    return api("cuStreamIsCapturing", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto stream = take_stream(call, handle, error);
        if (stream != nullptr) *status = capture_status(*stream);
        return error;
    });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
    return api("cuGraphGetNodes", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto graph = call.take<Graph>(handle, "graph", error);
        if (graph == nullptr) return error;
        const std::size_t room = nodes == nullptr ? 0 : *count;
        const std::uintptr_t first = (graph->handle << 20U) + 1;  // never another object's handle
        for (std::size_t i = 0; i < room; ++i) {
            nodes[i] = i < graph->nodes.size() ? reinterpret_cast<CUgraphNode>(first + i) : nullptr;
        }
        if (nodes == nullptr || *count > graph->nodes.size()) *count = graph->nodes.size();
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphDestroy(CUgraph graph) { return destroy<Graph>("cuGraphDestroy", graph, "graph"); }

CUresult cuGraphExecDestroy(CUgraphExec exec) {
    return destroy<GraphExec>("cuGraphExecDestroy", exec, "executable graph");
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
    return api("cuGraphInstantiateWithFlags", kInit | kContext,
               [&](Call& call) { return instantiate(call, exec, graph); });
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
    return api("cuGraphUpload", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto exec = call.take<GraphExec>(handle, "executable graph", error);
        const auto stream = exec == nullptr ? nullptr : take_stream(call, stream_handle, error);
        if (stream == nullptr) return error;
        exec->uploaded = true;
        return submit(call, stream, Work{}, upload_cost(*exec));
    });
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    return api("cuGraphLaunch", kInit | kContext,
               [&](Call& call) { return launch_graph(call, exec, stream); });
}

// The signature before 12.0, and the one since.
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                           CUgraphExecUpdateResult* result) {
    return api("cuGraphExecUpdate", kInit | kContext, [&](Call& call) {
        if (error_node != nullptr) *error_node = nullptr;
        return update(call, exec, graph, result);
    });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
    return api("cuGraphExecUpdate_v2", kInit | kContext, [&](Call& call) {
        *info = {};
        return update(call, exec, graph, &info->result);
    });
}

}  // extern "C"
