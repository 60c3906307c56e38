// What a CUDA graph of N null kernels costs: to replay, and to make.
#pragma once

#include <vector>

#include "cuda/graph.hpp"

namespace ftax {

struct GraphReplays {
    std::vector<double> launch_s;  // the cuGraphLaunch call
    std::vector<double> total_s;   // until cuStreamSynchronize returned
};

// `samples` replays of an uploaded graph, the stream drained before each.
GraphReplays graph_replay(Session& session, const LaunchSpec& spec, int nodes, int width,
                          int samples);

// Each step of making a graph, by itself. Freeing is not in any of them.
struct GraphCosts {
    std::vector<double> capture_s;      // cuStreamBeginCapture, the launches, cuStreamEndCapture
    std::vector<double> instantiate_s;  // cuGraphInstantiateWithFlags
    std::vector<double> upload_s;       // cuGraphUpload, and waiting for it
    std::vector<double> update_s;       // cuGraphExecUpdate with a second graph of the same shape
};

// Makes `samples` graphs, each from scratch.
GraphCosts graph_create(Session& session, const LaunchSpec& spec, int nodes, int width,
                        int samples);

}  // namespace ftax
