// Graphs of null kernels, built by capturing launches.
//
// Capture needs no node functions, whose signatures changed between releases, and it is how
// frameworks make their graphs. Shape: a straight line, or a fork-join in which `width` branches
// share the nodes evenly; a fork-join has no extra nodes, its events only become edges.
#pragma once

#include <memory>
#include <vector>

#include "cuda/launch.hpp"

namespace ftax {

class Graph : public Resource {
  public:
    Graph(const Context& context, CUgraph handle) : Resource(context), handle_(handle) {}
    ~Graph();
    CUgraph get() const { return handle_; }
    std::size_t node_count() const;

  private:
    CUgraph handle_;
};

class GraphExec : public Resource {
  public:
    GraphExec(const Context& context, CUgraphExec handle) : Resource(context), handle_(handle) {}
    ~GraphExec();
    CUgraphExec get() const { return handle_; }
    // With the signature this driver has. Throws CudaError if the graphs differ in shape.
    void update(const Graph& graph) const;

  private:
    CUgraphExec handle_;
};

// Captures graphs of one shape; its streams and events are made once.
class GraphBuilder {
  public:
    // Throws std::invalid_argument unless 1 <= width <= nodes, and for a launch API other than
    // LaunchApi::kernel. The kernel is launched once, so that it is loaded.
    GraphBuilder(Session& session, const LaunchSpec& spec, int nodes, int width);
    // A new graph each time.
    std::unique_ptr<Graph> capture() const;

  private:
    CUstream branch(std::size_t index) const;
    void record() const;
    void fork(std::size_t index) const;
    void join(std::size_t index) const;
    void try_to_join(std::size_t index) const noexcept;

    Session& session_;
    LaunchSpec spec_;
    Target target_;
    std::size_t nodes_;
    std::size_t width_;
    std::vector<std::unique_ptr<Stream>> streams_;  // of the branches after the first
    std::vector<std::unique_ptr<Event>> joins_;     // one for each of those
    std::unique_ptr<Event> fork_;
};

std::unique_ptr<GraphExec> instantiate(const Session& session, const Graph& graph);

}  // namespace ftax
