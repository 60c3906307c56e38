// The fake driver's objects, and the one place that holds them all.
//
// One mutex guards everything here. It is held only to look up and to note down; waiting and
// spinning happen outside it.
#pragma once

#include <cuda.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config.hpp"
#include "work.hpp"

namespace fake {

struct Context;
struct Stream;

// Whatever has a handle and must be given back. Handles are numbers that are never used twice, so a
// stale one is always recognised.
struct Object {
    explicit Object(const char* kind_) : kind(kind_) {}
    virtual ~Object() = default;
    const char* kind;
    std::uintptr_t handle = 0;
    std::weak_ptr<Context> context;
    bool leaks = true;  // counted as a leak while it lives
};

struct Context : Object {
    Context() : Object("context") {}
    int device = 0;
    unsigned flags = 0;
    bool alive = true;
    std::shared_ptr<Stream> null_stream;
    std::map<std::uintptr_t, std::shared_ptr<Stream>> thread_streams;  // by thread
    std::vector<std::weak_ptr<Stream>> streams;
};

struct Module : Object {
    explicit Module(const char* kind_) : Object(kind_) {}
    bool loaded = true;
    std::map<std::string, Parameters> entries;
    std::map<std::string, std::shared_ptr<Function>> functions;
};

struct Function : Object {
    Function() : Object("function") { leaks = false; }
    std::string name;
    Kernel kernel = Kernel::null;
    Parameters parameters;
    bool loaded = false;
    std::shared_ptr<Module> module;
};

struct Linker : Object {
    Linker() : Object("link") {}
    std::string ptx;
    std::vector<char> cubin;
    // The caller's, alive as long as the linker: its logs are written there.
    unsigned options = 0;
    const CUjit_option* names = nullptr;
    void** values = nullptr;
};

struct Allocation : Object {
    explicit Allocation(const char* kind_) : Object(kind_) {}
    ~Allocation() override;
    void* memory = nullptr;
    std::uint64_t address = 0;
    std::size_t bytes = 0;
};

struct Graph : Object {
    Graph() : Object("graph") {}
    std::vector<Node> nodes;
};

struct GraphExec : Object {
    GraphExec() : Object("executable graph") {}
    std::shared_ptr<const std::vector<Node>> nodes;
    bool uploaded = false;
    std::shared_ptr<Done> last;
};

struct Capture {
    std::shared_ptr<Graph> graph;
    std::vector<std::weak_ptr<Stream>> streams;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::uintptr_t thread = 0;
    bool invalid = false;
};

struct Event : Object {
    Event() : Object("event") {}
    unsigned flags = 0;
    std::shared_ptr<Done> done;
    std::shared_ptr<Capture> capture;  // recorded while capturing: after these nodes
    std::vector<std::size_t> after;
};

struct Operation {
    Work work;
    std::vector<std::shared_ptr<Done>> waits_for;
    std::int64_t called_ns = 0;
    std::int64_t submitted_ns = 0;
    std::shared_ptr<Done> done;
    std::uint64_t correlation = 0;
};

struct Stream : Object {
    Stream() : Object("stream") {}
    unsigned flags = 0;
    int priority = 0;
    std::deque<Operation> queue;
    std::condition_variable wake;
    bool closing = false;
    std::deque<std::shared_ptr<Done>> unfinished;
    std::shared_ptr<Done> last;
    std::shared_ptr<Capture> capture;
    std::vector<std::size_t> after;  // last captured nodes
    bool capture_origin = false;
    bool per_thread = false;  // a default stream
};

struct Device {
    int retains = 0;
    int runtime_retains =
        0;  // the fake runtime's, which it keeps until the end as the real one does
    unsigned flags = 0;
    std::shared_ptr<Context> context;
};

struct State {
    std::mutex mutex;
    std::condition_variable changed;  // some operation became known or settled, or the epoch ended
    std::atomic<std::uint64_t> epoch{0};  // operations of an earlier epoch are given up
    std::atomic<bool> forked{false};
    bool initialized = false;
    std::vector<int> visible;  // physical ordinals, by CUDA_VISIBLE_DEVICES
    std::map<int, Device> devices;
    std::map<std::uintptr_t, std::shared_ptr<Object>> objects;
    std::map<std::uint64_t, std::shared_ptr<Allocation>> memory;
    std::uintptr_t next_handle = 0x5f0000;
    std::map<std::string, std::int64_t> calls;
    std::vector<std::string> misuse;
    Faults faults;

    template <class T>
    void add(const std::shared_ptr<T>& object, const std::shared_ptr<Context>& context) {
        object->handle = next_handle;
        object->context = context;
        next_handle += 16;
        objects[object->handle] = object;
    }

    template <class T>
    std::shared_ptr<T> find(const void* handle) const {
        const auto found = objects.find(reinterpret_cast<std::uintptr_t>(handle));
        return found == objects.end() ? nullptr : std::dynamic_pointer_cast<T>(found->second);
    }

    // The live allocation that holds the whole range, or none.
    std::shared_ptr<Allocation> allocation(std::uint64_t address, std::size_t bytes) const;

    // One line for each live object and each context still retained.
    std::vector<std::string> leaks() const;

    // Fills `visible` by the settings and the environment of now.
    void look_for_devices();

    // Ends every operation in flight; `error` then sticks to the context if it is not success.
    void give_up(CUresult error);
};

State& state();

// The contexts of the calling thread, top last.
std::vector<std::uintptr_t>& context_stack();

template <class T>
T as_handle(const std::shared_ptr<Object>& object) {
    return reinterpret_cast<T>(object->handle);
}

// A stream that a kernel keeps busy until the host stores to some word: none, or its description.
std::string describe_held(const State& s);

}  // namespace fake
