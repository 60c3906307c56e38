// Graphs of null kernels, built by capturing launches.
//
// Capture needs no node functions, whose signatures changed between releases, and it is how
// frameworks make their graphs. Shape: a straight line, or a fork-join in which `width` branches
// share the nodes evenly; a fork-join has no extra nodes, its events only become edges.
//
// Making a graph is many calls that are timed together. Between the two clock reads lie those calls
// and the look at each status; owning what came of them, or clearing up after a failure, comes
// after.
#pragma once

#include <memory>
#include <vector>

#include "cuda/launch.hpp"
#include "cuda/timed.hpp"

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
    // With the signature this driver has; the stamps around the call. Throws CudaError if the
    // graphs differ in shape.
    Span update(const Graph& graph) const;

  private:
    CUgraphExec handle_;
};

// Something that was made, and the stamps around the driver calls that made it.
template <class Thing>
struct Made {
    std::unique_ptr<Thing> thing;
    Span span;
};

// Captures graphs of one shape; its streams and events are made once.
class GraphBuilder {
  public:
    // Throws std::invalid_argument unless 1 <= width <= nodes, and for a launch API or stream other
    // than LaunchApi::kernel and our own. The kernel is launched once, so that it is loaded.
    GraphBuilder(Session& session, const LaunchSpec& spec, int nodes, int width);
    // A new graph each time.
    Made<Graph> capture() const;

  private:
    // How far a capture came.
    struct Progress {
        CUresult status = CUDA_SUCCESS;
        const char* symbol = nullptr;  // of the call with that status
        bool open = false;             // between begin and end
        std::size_t forked = 1;        // branches that are part of the capture
        std::size_t joined = 1;        // and those joined again
        CUgraph graph = nullptr;
    };
    // The entries a capture calls, looked up before the clock is read.
    struct Calls {
        decltype(Driver::stream_begin_capture)::Pointer begin;
        decltype(Driver::stream_end_capture)::Pointer end;
        decltype(Driver::event_record)::Pointer record;
        decltype(Driver::stream_wait_event)::Pointer wait;
    };
    CUstream branch(std::size_t index) const;
    void record(Progress& progress) const noexcept;
    bool join(Progress& progress) const noexcept;
    void give_up(Progress& progress) const noexcept;

    Session& session_;
    std::size_t width_;
    Calls calls_;
    std::vector<std::unique_ptr<Stream>> streams_;  // of the branches after the first
    std::vector<std::unique_ptr<Event>> joins_;     // one for each of those
    std::unique_ptr<Event> fork_;
    std::vector<KernelLaunch> launches_;  // one for each branch
    std::vector<std::size_t> shares_;     // nodes of each branch
};

Made<GraphExec> instantiate(const Session& session, const Graph& graph);

}  // namespace ftax
