// Streams and events.
#include <thread>

#include "call.hpp"

#undef cuEventElapsedTime

namespace fake {
namespace {

CUresult create_stream(Call& call, CUstream* out, unsigned flags, int priority) {
    if ((flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0) {
        return call.misuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
    }
    auto stream = std::make_shared<Stream>();
    stream->flags = flags;
    stream->priority = priority;
    state().add(stream, call.context());
    call.context()->streams.push_back(stream);
    start_worker(stream);
    *out = as_handle<CUstream>(stream);
    return CUDA_SUCCESS;
}

// A query during which the work's end becomes visible returns at that very moment, so that polling
// by queries costs exactly sync_query_ns and not up to a query more.
CUresult query(Call& call, const std::shared_ptr<Done>& done) {
    const std::int64_t end_of_query = call.entered_ns() + config().query_ns;
    const CUresult sticky = static_cast<CUresult>(state().faults.sticky);
    if (sticky != CUDA_SUCCESS) return sticky;
    if (done == nullptr) {
        call.ends_at(end_of_query);
        return CUDA_SUCCESS;
    }
    const std::int64_t visible = done->end_ns + config().sync_query_ns;
    if (!done->known || visible > end_of_query) {
        call.ends_at(end_of_query);
        return CUDA_ERROR_NOT_READY;
    }
    call.ends_at(visible < call.entered_ns() ? end_of_query : visible);
    return call.wait(done, 0);
}

std::shared_ptr<Event> take_event(const Call& call, CUevent handle, CUresult& error) {
    return call.take<Event>(handle, "event", error);
}

CUresult record(Call& call, CUevent event_handle, CUstream stream_handle) {
    CUresult error = CUDA_SUCCESS;
    const auto event = take_event(call, event_handle, error);
    const auto stream = event == nullptr ? nullptr : take_stream(call, stream_handle, error);
    if (stream == nullptr) return error;
    if (stream->capture != nullptr) {
        event->capture = stream->capture;
        event->after = stream->after;
        event->done = nullptr;
        call.costs(config().event_record_ns);
        return CUDA_SUCCESS;
    }
    event->capture = nullptr;
    return submit_and_get(call, stream, Work{}, config().event_record_ns, {}, event->done);
}

// An event recorded in a capture draws the waiting stream into it.
CUresult join_capture(Call& call, const std::shared_ptr<Stream>& stream, const Event& event) {
    if (stream->capture != nullptr && stream->capture != event.capture) {
        return call.misuse(CUDA_ERROR_STREAM_CAPTURE_MERGE, "two captures would become one");
    }
    if (stream->capture == nullptr) {
        stream->capture = event.capture;
        stream->capture->streams.push_back(stream);
    }
    for (const std::size_t node : event.after) {
        std::vector<std::size_t>& after = stream->after;
        if (std::find(after.begin(), after.end(), node) == after.end()) after.push_back(node);
    }
    call.costs(config().stream_wait_ns);
    return CUDA_SUCCESS;
}

CUresult wait_event(Call& call, CUstream stream_handle, CUevent event_handle) {
    CUresult error = CUDA_SUCCESS;
    const auto event = take_event(call, event_handle, error);
    const auto stream = event == nullptr ? nullptr : take_stream(call, stream_handle, error);
    if (stream == nullptr) return error;
    if (event->capture != nullptr) return join_capture(call, stream, *event);
    if (stream->capture != nullptr) {
        return call.misuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                           "a capturing stream can't wait for an event from outside");
    }
    std::vector<std::shared_ptr<Done>> waits_for;
    if (event->done != nullptr) waits_for.push_back(event->done);
    return submit(call, stream, Work{}, config().stream_wait_ns, std::move(waits_for));
}

CUresult elapsed(const char* name, float* milliseconds, CUevent from, CUevent to) {
    return api(name, kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto first = take_event(call, from, error);
        const auto second = first == nullptr ? nullptr : take_event(call, to, error);
        if (second == nullptr) return error;
        const bool untimed = ((first->flags | second->flags) & CU_EVENT_DISABLE_TIMING) != 0;
        if (untimed || first->done == nullptr || second->done == nullptr) {
            return call.misuse(CUDA_ERROR_INVALID_HANDLE, "events not recorded, or without timing");
        }
        const std::int64_t now = call.entered_ns();
        if (!has_ended(*first->done, now) || !has_ended(*second->done, now)) {
            return CUDA_ERROR_NOT_READY;
        }
        *milliseconds = static_cast<float>(second->done->end_ns - first->done->end_ns) * 1e-6F;
        return CUDA_SUCCESS;
    });
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    return api("cuStreamCreate", kInit | kContext,
               [&](Call& call) { return create_stream(call, stream, flags, 0); });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    return api("cuStreamCreateWithPriority", kInit | kContext,
               [&](Call& call) { return create_stream(call, stream, flags, priority); });
}

// As documented it returns at once; the worker ends when the stream's work does.
CUresult cuStreamDestroy_v2(CUstream handle) {
    return api("cuStreamDestroy_v2", kInit | kContext | kRelease, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto stream = call.take<Stream>(handle, "stream", error);
        if (stream == nullptr) return error;
        if (stream->capture != nullptr) stream->capture->invalid = true;
        stream->closing = true;
        stream->wake.notify_all();
        state().objects.erase(stream->handle);
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamSynchronize(CUstream handle) {
    return api("cuStreamSynchronize", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto stream = take_stream(call, handle, error);
        if (stream == nullptr) return error;
        if (stream->capture != nullptr) return refuse_capture(call, stream->capture);
        call.costs(config().stream_sync_idle_ns);
        return call.wait(stream->last, sync_cost(*call.context(), false));
    });
}

CUresult cuStreamQuery(CUstream handle) {
    return api("cuStreamQuery", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto stream = take_stream(call, handle, error);
        if (stream == nullptr) return error;
        if (stream->capture != nullptr) return refuse_capture(call, stream->capture);
        return query(call, stream->last);
    });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
    return api("cuStreamWaitEvent", kInit | kContext,
               [&](Call& call) { return wait_event(call, stream, event); });
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
    return api("cuStreamGetPriority", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto stream = take_stream(call, handle, error);
        if (stream != nullptr) *priority = stream->priority;
        return error;
    });
}

CUresult cuEventCreate(CUevent* out, unsigned flags) {
    return api("cuEventCreate", kInit | kContext, [&](Call& call) {
        if ((flags & ~7U) != 0) return call.misuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
        auto event = std::make_shared<Event>();
        event->flags = flags;
        state().add(event, call.context());
        *out = as_handle<CUevent>(event);
        return CUDA_SUCCESS;
    });
}

CUresult cuEventDestroy_v2(CUevent handle) {
    return api("cuEventDestroy_v2", kInit | kContext | kRelease, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto event = take_event(call, handle, error);
        if (event != nullptr) state().objects.erase(event->handle);
        return error;
    });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    return api("cuEventRecord", kInit | kContext,
               [&](Call& call) { return record(call, event, stream); });
}

CUresult cuEventQuery(CUevent handle) {
    return api("cuEventQuery", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto event = take_event(call, handle, error);
        if (event == nullptr) return error;
        if (event->capture != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
        return query(call, event->done);
    });
}

CUresult cuEventSynchronize(CUevent handle) {
    return api("cuEventSynchronize", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto event = take_event(call, handle, error);
        if (event == nullptr) return error;
        if (event->capture != nullptr) return refuse_capture(call, event->capture);
        call.costs(config().event_sync_idle_ns);
        const bool blocking = (event->flags & CU_EVENT_BLOCKING_SYNC) != 0;
        return call.wait(event->done, sync_cost(*call.context(), blocking));
    });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
    return elapsed("cuEventElapsedTime", milliseconds, from, to);
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from, CUevent to) {
    return elapsed("cuEventElapsedTime_v2", milliseconds, from, to);
}

}  // extern "C"
