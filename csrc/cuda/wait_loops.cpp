#include "cuda/wait_loops.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "affinity.hpp"
#include "cuda/held_loops.hpp"
#include "cuda/polling.hpp"
#include "cuda/timed.hpp"
#include "waiting.hpp"

namespace ftax {
namespace {

// Thread B. It spins once it was asked, so that its own wake-up is no part of what A sees; between
// requests it yields its core to whoever else works for the sample.
class Releaser {
  public:
    Releaser(int core, std::int64_t lead_ns)
        : lead_ns_(lead_ns), thread_([this, core] { run(core); }) {}
    ~Releaser() {
        stop_ = true;
        thread_.join();
    }
    Releaser(const Releaser&) = delete;
    Releaser& operator=(const Releaser&) = delete;

    // Asks for one release of `hold`, one lead from now. `hold` must live until released().
    void release_soon(const Hold& hold) {
        done_.store(false, std::memory_order_relaxed);
        at_ns_ = now_ns() + lead_ns_;
        hold_.store(&hold, std::memory_order_release);
    }
    // Takes the request back, or waits until it is carried out: `hold` may go afterwards.
    void settle() {
        if (hold_.exchange(nullptr, std::memory_order_acq_rel) != nullptr) return;
        while (!done_.load(std::memory_order_acquire)) relax();
    }
    std::int64_t released_ns() const { return released_ns_; }  // after settle()
    bool pinned() const { return pinned_; }

  private:
    void run(int core) {
        const PinGuard pin(core);
        pinned_ = pin.pinned();
        while (!stop_.load(std::memory_order_relaxed)) {
            if (hold_.load(std::memory_order_acquire) == nullptr) {
                std::this_thread::yield();
                continue;
            }
            if (now_ns() < at_ns_) continue;
            const Hold* const hold = hold_.exchange(nullptr, std::memory_order_acq_rel);
            if (hold == nullptr) continue;
            released_ns_ = now_ns();
            hold->release();
            done_.store(true, std::memory_order_release);
        }
    }

    const std::int64_t lead_ns_;
    std::atomic<const Hold*> hold_{nullptr};
    std::atomic<std::int64_t> at_ns_{0};
    std::int64_t released_ns_ = 0;
    std::atomic<bool> done_{true};
    std::atomic<bool> stop_{false};
    std::atomic<bool> pinned_{false};
    std::thread thread_;  // last: it uses all the others
};

// Thread A's wait in a style, and what must be queued behind the kernel for it. Each returns its
// second stamp.
class StreamWait {
  public:
    explicit StreamWait(Session& session)
        : driver_(session.driver()),
          stream_(session.stream()),
          synchronize_(driver_.stream_synchronize.get()) {}
    void prepare() const {}
    std::int64_t operator()() const {
        const CUresult status = synchronize_(stream_);
        const std::int64_t returned = now_ns();
        driver_.check(status, driver_.stream_synchronize.symbol());
        return returned;
    }

  private:
    const Driver& driver_;
    CUstream stream_;
    decltype(Driver::stream_synchronize)::Pointer synchronize_;
};

class EventQueryWait {
  public:
    explicit EventQueryWait(Session& session)
        : session_(session),
          event_(session.context()),
          query_(session.driver().event_query.get()) {}
    void prepare() const { session_.driver().event_record(event_.get(), session_.stream()); }
    std::int64_t operator()() const {
        CUresult status = CUDA_ERROR_NOT_READY;
        const bool ready = poll_until(
            [&] {
                status = query_(event_.get());
                return status != CUDA_ERROR_NOT_READY;
            },
            now_ns() + session_.deadline_ns());
        const std::int64_t returned = now_ns();
        if (!ready) session_.give_up("an event behind a released kernel");
        session_.driver().check(status, session_.driver().event_query.symbol());
        return returned;
    }

  private:
    Session& session_;
    Event event_;
    decltype(Driver::event_query)::Pointer query_;
};

template <class Wait>
double one_wait(Session& session, Releaser& releaser, const Wait& wait, std::int64_t deadline_ns) {
    session.drain();
    const Hold hold(session, deadline_ns);
    // The releaser must be done with the hold before it goes, also when what follows throws.
    struct Settled {
        Releaser& releaser;
        ~Settled() { releaser.settle(); }
    };
    std::int64_t returned = 0;
    {
        const Settled settled{releaser};
        wait.prepare();
        releaser.release_soon(hold);
        returned = wait();
    }
    hold.release();  // had the holder ended by its deadline, the request was taken back
    session.drain();
    hold.require_released();
    return seconds(returned - releaser.released_ns());
}

template <class Wait>
Waits waits(Session& session, int samples, double lead_s, int waiter_core, int releaser_core,
            std::int64_t deadline_ns) {
    Waits result{sample_list(samples), false, false};
    const PinGuard pin(waiter_core);
    Releaser releaser(releaser_core, static_cast<std::int64_t>(lead_s * 1e9));
    const Wait wait(session);
    for (int i = 0; i < samples; ++i) {
        result.seconds.push_back(one_wait(session, releaser, wait, deadline_ns));
    }
    result.waiter_pinned = pin.pinned();
    result.releaser_pinned = releaser.pinned();
    return result;
}

}  // namespace

Waits sync_wait(Session& session, WaitMethod method, int samples, double lead_s, int waiter_core,
                int releaser_core, double hold_deadline_s) {
    const std::int64_t deadline_ns = hold_deadline(session, hold_deadline_s);
    if (!(lead_s >= 0 && lead_s < hold_deadline_s)) {
        throw std::invalid_argument(
            "the lead must not be negative and below the holder's deadline");
    }
    const Session::Use use(session);
    const auto run = method == WaitMethod::stream ? waits<StreamWait> : waits<EventQueryWait>;
    return run(session, samples, lead_s, waiter_core, releaser_core, deadline_ns);
}

}  // namespace ftax
