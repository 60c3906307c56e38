// Streams: one worker thread each, which takes operations in order.
//
// The device's timeline is worked out, not lived through: an operation starts at the latest of what
// it waits for, and its end follows. A worker that is late is therefore not late on the timeline.
// It waits in real time only to change memory when it is due and to watch a word the host stores
// to.
#include <sched.h>
#include <sys/prctl.h>

#include <thread>

#include "call.hpp"

namespace fake {
namespace {

// What the stream's timeline needs to know of what came before.
struct Timeline {
    bool used = false;
    std::int64_t end_ns = 0;
};

std::int64_t start_of(const Operation& op, const Timeline& before) {
    const Config& c = config();
    const bool idle = !before.used || op.called_ns - before.end_ns > c.active_window_ns;
    const std::int64_t latency = op.work.kind == WorkKind::graph ? c.graph_start_ns
                                 : idle                          ? c.start_ns
                                                                 : c.start_active_ns;
    std::int64_t start = op.submitted_ns + latency;
    const bool marker = op.work.kind == WorkKind::marker;
    const std::int64_t gap = marker ? 0 : c.gap_ns.load();
    if (before.used) {
        start =
            std::max(start, before.end_ns + (op.work.dependent ? c.gap_dependent_ns.load() : gap));
    }
    for (const auto& other : op.waits_for) start = std::max(start, other->end_ns + gap);
    return start;
}

// With the mutex held: everything the operation waits for has an end, or it is given up.
bool wait_for_others(std::unique_lock<std::mutex>& lock, const Operation& op) {
    State& s = state();
    for (const auto& other : op.waits_for) {
        s.changed.wait(lock, [&] { return other->known || s.epoch != op.done->epoch; });
        if (s.epoch != op.done->epoch || other->failed) return false;
    }
    return true;
}

void run(std::unique_lock<std::mutex>& lock, const Operation& op, Timeline& timeline) {
    State& s = state();
    Done& done = *op.done;
    const auto alive = [&s, &op] { return s.epoch == op.done->epoch; };
    bool good = wait_for_others(lock, op) && alive();
    if (good && op.work.hangs) {
        s.changed.wait(lock, [&] { return !alive(); });
        good = false;
    }
    std::vector<Effect> effects;
    if (good) {
        const std::int64_t start = start_of(op, timeline);
        lock.unlock();
        const std::int64_t end = plan(op.work, start, effects, alive);
        lock.lock();
        if (op.work.kind == WorkKind::kernel) {
            trace_kernel(op.correlation, op.work.function->name, start, end);
        }
        done.end_ns = end;
        timeline = {true, end};
    }
    done.known = true;
    s.changed.notify_all();
    if (!effects.empty()) {
        lock.unlock();
        settle(effects, alive);
        lock.lock();
    }
    done.failed = !good || !alive();
    done.settled = true;
    s.changed.notify_all();
}

void work_off(const std::shared_ptr<Stream>& stream) {
    prctl(PR_SET_TIMERSLACK, 1UL);
    Timeline timeline;
    std::unique_lock<std::mutex> lock(state().mutex);
    for (;;) {
        stream->wake.wait(lock, [&] { return !stream->queue.empty() || stream->closing; });
        if (stream->queue.empty()) return;
        const Operation op = std::move(stream->queue.front());
        stream->queue.pop_front();
        run(lock, op, timeline);
    }
}

void drop_finished(Stream& stream) {
    const std::int64_t now = now_ns();
    while (!stream.unfinished.empty() && stream.unfinished.front()->known &&
           stream.unfinished.front()->end_ns <= now) {
        stream.unfinished.pop_front();
    }
}

bool has_room(const Stream& stream, std::size_t argument_bytes) {
    const std::int64_t limit = config().knee_bytes;
    if (static_cast<std::int64_t>(stream.unfinished.size()) > config().knee) return false;
    if (limit == 0 || argument_bytes == 0) return true;
    for (const auto& done : stream.unfinished) argument_bytes += done->argument_bytes;
    return static_cast<std::int64_t>(argument_bytes) <= limit;
}

// Blocks as a launch onto a full queue does; returns when there was room.
std::int64_t wait_for_room(Call& call, Stream& stream, std::size_t argument_bytes) {
    State& s = state();
    const std::uint64_t epoch = s.epoch;
    std::int64_t since = call.entered_ns();
    for (;;) {
        drop_finished(stream);
        if (has_room(stream, argument_bytes) || stream.unfinished.empty()) return since;
        const std::shared_ptr<Done> first = stream.unfinished.front();
        if (is_held(*first)) call.must_not_be_held();
        s.changed.wait(call.lock(), [&] { return first->known || s.epoch != epoch; });
        if (s.epoch != epoch) return since;
        since = std::max(since, first->end_ns);
        call.lock().unlock();
        wait_until(first->end_ns);
        call.lock().lock();
    }
}

// The default stream waits for every ordinary stream and they for it.
void add_default_stream_order(const Context& context, const std::shared_ptr<Stream>& stream,
                              std::vector<std::shared_ptr<Done>>& waits_for) {
    const auto add = [&](const Stream& other) {
        if (other.last != nullptr && !other.last->settled) waits_for.push_back(other.last);
    };
    if (stream != context.null_stream) {
        if ((stream->flags & CU_STREAM_NON_BLOCKING) == 0) add(*context.null_stream);
        return;
    }
    for (const auto& weak : context.streams) {
        const std::shared_ptr<Stream> other = weak.lock();
        if (other != nullptr && other != stream && (other->flags & CU_STREAM_NON_BLOCKING) == 0) {
            add(*other);
        }
    }
}

// What the stream and the calling thread's core add.
std::int64_t cost_of_place(const Context& context, const std::shared_ptr<Stream>& stream) {
    const Config& c = config();
    std::int64_t cost = 0;
    if (stream == context.null_stream) cost += c.legacy_ns;
    if (stream->per_thread) cost += c.per_thread_ns;
    if (c.remote_core >= 0 && sched_getcpu() == c.remote_core) cost += c.remote_ns;
    return cost;
}

CUresult capture_node(Call& call, Stream& stream, Work&& work) {
    if (stream.capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (work.kind == WorkKind::marker || work.kind == WorkKind::graph) {
        return refuse_capture(call, stream.capture);
    }
    std::vector<Node>& nodes = stream.capture->graph->nodes;
    nodes.push_back({std::move(work), stream.after});
    stream.after = {nodes.size() - 1};
    call.costs(config().capture_node_ns);
    return CUDA_SUCCESS;
}

bool any_hangs(const Work& work) {
    if (work.kind == WorkKind::graph) {
        bool any = false;
        for (const Node& node : *work.nodes) any = any_hangs(node.work) || any;
        return any;
    }
    bool hangs = false;
    if (work.kind != WorkKind::kernel) return hangs;
    for (Hang& hang : state().faults.hang) {
        if (hang.kernel != "any" && hang.kernel != work.function->name) continue;
        hangs = ++hang.seen >= hang.nth || hangs;
    }
    return hangs;
}

}  // namespace

void start_worker(const std::shared_ptr<Stream>& stream) {
    // Detached: a worker ends with its stream, and a hung one must not keep the process from
    // ending.
    std::thread(work_off, stream).detach();
}

CUresult submit_and_get(Call& call, const std::shared_ptr<Stream>& stream, Work work,
                        std::int64_t cost_ns, std::vector<std::shared_ptr<Done>> waits_for,
                        std::shared_ptr<Done>& done) {
    const CUresult error = check_work(call, work);
    if (error != CUDA_SUCCESS) return error;
    if (stream->capture != nullptr) return capture_node(call, *stream, std::move(work));
    const std::size_t bytes = work.argument_bytes();
    const std::int64_t room = wait_for_room(call, *stream, bytes);
    add_default_stream_order(*call.context(), stream, waits_for);
    call.ends_at(room + cost_ns + cost_of_place(*call.context(), stream));
    done = std::make_shared<Done>();
    done->argument_bytes = bytes;
    done->epoch = state().epoch;
    work.hangs = any_hangs(work);
    done->hangs = work.hangs;
    collect_holds(work, done->holds);
    stream->unfinished.push_back(done);
    stream->last = done;
    stream->queue.push_back({std::move(work), std::move(waits_for), call.entered_ns(),
                             call.until_ns(), done, call.correlation()});
    stream->wake.notify_one();
    return CUDA_SUCCESS;
}

CUresult submit(Call& call, const std::shared_ptr<Stream>& stream, Work work, std::int64_t cost_ns,
                std::vector<std::shared_ptr<Done>> waits_for) {
    std::shared_ptr<Done> done;
    return submit_and_get(call, stream, std::move(work), cost_ns, std::move(waits_for), done);
}

}  // namespace fake
