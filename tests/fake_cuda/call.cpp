#include "call.hpp"

#include <cstdio>

namespace fake {
namespace {

// Advances the first matching fault's counter; its value where it is due, 0 otherwise.
const Fault* due(std::vector<Fault>& faults, const std::string& function, bool everything) {
    const Fault* hit = nullptr;
    for (Fault& fault : faults) {
        const bool any = everything && fault.function == "*";
        if (!any && fault.function != function) continue;
        ++fault.seen;
        if (fault.nth == 0 || fault.seen == fault.nth) hit = &fault;
    }
    return hit;
}

}  // namespace

CUresult Call::enter() {
    State& s = state();
    // The child's copy of the mutex may be locked for ever: nothing but this is safe.
    if (s.forked) return needs_ == kNothing ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
    lock_ = std::unique_lock<std::mutex>(s.mutex);
    ++s.calls[name_];
    if (config().stub != 0) return CUDA_ERROR_STUB_LIBRARY;
    const bool everything = needs_ != kNothing;
    if (const Fault* slow = due(s.faults.slow, name_, everything)) costs(slow->value);
    CUresult error = CUDA_SUCCESS;
    if (const Fault* fail = due(s.faults.fail, name_, everything)) {
        error = static_cast<CUresult>(fail->value);
        if (fail->sticky) s.give_up(error);
    }
    if (error == CUDA_SUCCESS && (needs_ & kContext) != 0) {
        error = static_cast<CUresult>(s.faults.sticky);
    }
    if (error != CUDA_SUCCESS && (needs_ & kRelease) == 0) return error;
    late_ = error;
    return unmet();
}

CUresult Call::unmet() {
    const State& s = state();
    if (needs_ != kNothing && !s.initialized) {
        return misuse(CUDA_ERROR_NOT_INITIALIZED, "called before cuInit");
    }
    if ((needs_ & kContext) == 0) return CUDA_SUCCESS;
    const std::vector<std::uintptr_t>& stack = context_stack();
    if (stack.empty() || stack.back() == 0) {
        return misuse(CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
    }
    context_ = s.find<Context>(reinterpret_cast<const void*>(stack.back()));
    if (context_ == nullptr) {
        return misuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context is destroyed");
    }
    return CUDA_SUCCESS;
}

CUresult Call::leave(CUresult result) {
    if (lock_.owns_lock()) lock_.unlock();
    if (until_ns_ != 0) wait_until(until_ns_);
    trace_call(correlation_, name_, entered_ns_, std::max(until_ns_, entered_ns_ + 1));
    return late_ != CUDA_SUCCESS ? late_ : result;
}

CUresult Call::misuse(CUresult error, const std::string& what) const {
    state().misuse.push_back(std::string(name_) + ": " + what);
    return error;
}

CUresult Call::refuse(std::uintptr_t handle, const char* kind) const {
    const bool was_one = handle >= 0x5f0000 && handle < state().next_handle;
    char text[160];
    std::snprintf(text, sizeof text, "0x%zx is not a live %s%s", static_cast<std::size_t>(handle),
                  kind, was_one ? " (already destroyed, or a handle of another kind)" : "");
    return misuse(CUDA_ERROR_INVALID_HANDLE, text);
}

void Call::must_not_be_held() const {
    const std::string held = describe_held(state());
    if (!held.empty()) misuse(CUDA_SUCCESS, held + " is held: this waits for ever on a device");
}

CUresult Call::wait(const std::shared_ptr<Done>& done, std::int64_t later_ns) {
    State& s = state();
    if (done == nullptr) return CUDA_SUCCESS;
    const std::uint64_t epoch = s.epoch;
    const auto over = [&] { return s.epoch != epoch; };
    s.changed.wait(lock_, [&] { return done->known || over(); });
    if (done->known && !done->failed) {
        ends_at(done->end_ns + later_ns);
        lock_.unlock();
        wait_until(until_ns_);
        lock_.lock();
        s.changed.wait(lock_, [&] { return done->settled || over(); });
        if (!over() && !done->failed) return CUDA_SUCCESS;
    }
    return s.faults.sticky != 0 ? static_cast<CUresult>(s.faults.sticky)
                                : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult Call::wait_all(Context& context, std::int64_t later_ns) {
    std::vector<std::shared_ptr<Done>> all;
    for (const auto& weak : context.streams) {
        const std::shared_ptr<Stream> stream = weak.lock();
        if (stream != nullptr && stream->last != nullptr) all.push_back(stream->last);
    }
    for (const auto& done : all) {
        const CUresult result = wait(done, later_ns);
        if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
}

void Call::drain(Context& context) {
    std::vector<std::shared_ptr<Done>> all;
    for (const auto& weak : context.streams) {
        const std::shared_ptr<Stream> stream = weak.lock();
        if (stream != nullptr && stream->last != nullptr) all.push_back(stream->last);
    }
    for (const auto& done : all) {
        state().changed.wait(lock_, [&] { return done->settled; });
        if (!done->failed) ends_at(done->end_ns);
    }
}

std::int64_t sync_cost(const Context& context, bool blocking) {
    const unsigned style = context.flags & CU_CTX_SCHED_MASK;
    if (blocking || style == CU_CTX_SCHED_BLOCKING_SYNC) return config().sync_blocking_ns;
    return style == CU_CTX_SCHED_YIELD ? config().sync_yield_ns : config().sync_spin_ns;
}

namespace {

// The calling thread's default stream, made when it is first used.
std::shared_ptr<Stream> thread_stream(const std::shared_ptr<Context>& context) {
    auto& stream = context->thread_streams[reinterpret_cast<std::uintptr_t>(&context_stack())];
    if (stream == nullptr) {
        stream = std::make_shared<Stream>();
        stream->leaks = false;
        stream->per_thread = true;
        state().add(stream, context);
        context->streams.push_back(stream);
        start_worker(stream);
    }
    return stream;
}

}  // namespace

std::shared_ptr<Stream> take_stream(const Call& call, CUstream handle, CUresult& error) {
    if (handle == nullptr || handle == CU_STREAM_LEGACY) return call.context()->null_stream;
    if (handle == CU_STREAM_PER_THREAD) return thread_stream(call.context());
    std::shared_ptr<Stream> stream = call.take<Stream>(handle, "stream", error);
    if (stream != nullptr && stream->context.lock() != call.context()) {
        error = call.misuse(CUDA_ERROR_INVALID_CONTEXT, "the stream belongs to another context");
        return nullptr;
    }
    return stream;
}

bool has_ended(const Done& done, std::int64_t at_ns) {
    return done.settled && done.end_ns <= at_ns;
}

CUresult refuse_capture(const Call& call, const std::shared_ptr<Capture>& capture) {
    capture->invalid = true;
    return call.misuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream is being captured");
}

CUresult refuse_while_capturing(const Call& call) {
    const auto self = reinterpret_cast<std::uintptr_t>(&context_stack());
    for (const auto& [handle, object] : state().objects) {
        const auto* stream = dynamic_cast<const Stream*>(object.get());
        if (stream == nullptr || stream->capture == nullptr) continue;
        const CUstreamCaptureMode mode = stream->capture->mode;
        if (mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
            (mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && stream->capture->thread == self)) {
            return refuse_capture(call, stream->capture);
        }
    }
    return CUDA_SUCCESS;
}

}  // namespace fake
