// What every entry point has in common: it is counted, may be made to fail, needs what it needs,
// and takes as long as it costs.
#pragma once

#include <algorithm>
#include <utility>

#include "clock.hpp"
#include "state.hpp"
#include "trace.hpp"

namespace fake {

enum Needs : unsigned {
    kNothing = 0,
    kInit = 1,
    kContext = 2,  // an initialised driver and a live current context
    // Gives something back: an injected or sticking error is returned after the work is done, since
    // the caller can't try again and must not be blamed for a leak.
    kRelease = 4,
};

class Call {
  public:
    Call(const char* name, unsigned needs) : name_(name), needs_(needs), entered_ns_(now_ns()) {}

    // Takes the mutex; CUDA_SUCCESS if the body is to run.
    CUresult enter();
    // Frees the mutex, waits until the call has cost what it costs.
    CUresult leave(CUresult result);

    const char* name() const { return name_; }
    std::int64_t entered_ns() const { return entered_ns_; }
    std::int64_t until_ns() const { return until_ns_; }
    std::unique_lock<std::mutex>& lock() { return lock_; }
    const std::shared_ptr<Context>& context() const { return context_; }
    std::uint64_t correlation() const { return correlation_; }

    // For calls that came through another library, whose own time belongs to the cost.
    void entered_at(std::int64_t t_ns) { entered_ns_ = t_ns; }

    void costs(std::int64_t ns) { ends_at(entered_ns_ + ns); }
    void ends_at(std::int64_t t_ns) { until_ns_ = std::max(until_ns_, t_ns); }

    // Notes a wrong use and returns the error to go with it.
    CUresult misuse(CUresult error, const std::string& what) const;

    // Notes it if a held stream would make this call wait for ever on a real device.
    void must_not_be_held() const;

    // Waits for the end of an operation plus `later_ns`, and for what it does to memory.
    CUresult wait(const std::shared_ptr<Done>& done, std::int64_t later_ns);
    // The same for all streams of a context; idle ones cost nothing.
    CUresult wait_all(Context& context, std::int64_t later_ns);
    // As the real driver's frees do: no operation may still use the memory. Never given up.
    void drain(Context& context);

    // The object behind a handle, or null with `error` set and the misuse noted.
    template <class T, class Handle>
    std::shared_ptr<T> take(Handle handle, const char* kind, CUresult& error) const {
        std::shared_ptr<T> object = state().find<T>(reinterpret_cast<const void*>(handle));
        if (object == nullptr) error = refuse(reinterpret_cast<std::uintptr_t>(handle), kind);
        return object;
    }

  private:
    CUresult refuse(std::uintptr_t handle, const char* kind) const;
    CUresult injected() const;
    CUresult unmet();

    const char* name_;
    unsigned needs_;
    std::int64_t entered_ns_;
    std::int64_t until_ns_ = 0;
    std::uint64_t correlation_ = next_correlation();
    std::unique_lock<std::mutex> lock_;
    std::shared_ptr<Context> context_;
    CUresult late_ = CUDA_SUCCESS;  // an error to return although the body ran
};

template <class Body>
CUresult api(const char* name, unsigned needs, Body&& body) {
    Call call(name, needs);
    CUresult result = call.enter();
    if (result == CUDA_SUCCESS) result = std::forward<Body>(body)(call);
    return call.leave(result);
}

// How long a wait takes to return, by the context's flags; BLOCKING where an event asks for it.
std::int64_t sync_cost(const Context& context, bool blocking);

// The stream behind a handle (0 and the legacy handle: the context's default stream).
std::shared_ptr<Stream> take_stream(const Call& call, CUstream handle, CUresult& error);

// Starts a stream's worker.
void start_worker(const std::shared_ptr<Stream>& stream);

// Hands work to a stream, or to the graph it is captured into; the call costs `cost_ns` from the
// moment the queue has room.
CUresult submit(Call& call, const std::shared_ptr<Stream>& stream, Work work, std::int64_t cost_ns,
                std::vector<std::shared_ptr<Done>> waits_for = {});

// submit, then the operation's completion (null where it was captured).
CUresult submit_and_get(Call& call, const std::shared_ptr<Stream>& stream, Work work,
                        std::int64_t cost_ns, std::vector<std::shared_ptr<Done>> waits_for,
                        std::shared_ptr<Done>& done);

// A call that a capturing stream does not allow: the capture becomes invalid.
CUresult refuse_capture(const Call& call, const std::shared_ptr<Capture>& capture);
// The same for calls such as allocations, which a capture in global mode forbids to everyone.
CUresult refuse_while_capturing(const Call& call);

// True once an operation's completion can be seen by a query.
bool has_ended(const Done& done, std::int64_t at_ns);

// Checks that all an operation touches is allocated and its module loaded.
CUresult check_work(const Call& call, const Work& work);

// The kernel launch behind every launch call.
CUresult launch(Call& call, CUfunction function, const unsigned grid[3], const unsigned block[3],
                CUstream stream, void** parameters, void** extra, std::int64_t cost_ns,
                bool dependent);

}  // namespace fake
