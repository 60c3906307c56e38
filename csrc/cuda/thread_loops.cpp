#include "cuda/thread_loops.hpp"

#include <atomic>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "affinity.hpp"
#include "cuda/timed.hpp"
#include "waiting.hpp"

namespace ftax {
namespace {

// A barrier to spin at, which a failing thread can break for all.
class Barrier {
  public:
    explicit Barrier(int threads) : threads_(threads) {}
    // Returns when all have arrived; false if the barrier is broken.
    bool arrive() {
        const int round = round_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
        }
        while (round_.load(std::memory_order_acquire) == round) {
            if (broken_.load(std::memory_order_relaxed)) return false;
            relax();
        }
        return true;
    }
    void break_all() { broken_.store(true, std::memory_order_relaxed); }

  private:
    const int threads_;
    std::atomic<int> arrived_{0};
    std::atomic<int> round_{0};
    std::atomic<bool> broken_{false};
};

// One thread's work and what came of it.
struct Submitter {
    explicit Submitter(const Context& context) : stream(context) {}
    Stream stream;
    std::vector<double> seconds;
    bool pinned = false;
    std::exception_ptr error;
};

void run(Session& session, const LaunchSpec& spec, Target target, Submitter& self, Barrier& barrier,
         int burst, int samples, int core) {
    try {
        const MakeCurrent current(session.context());
        const PinGuard pin(core);
        with_launch(session, spec, target, self.stream.get(), [&](const auto& launch) {
            for (int i = 0; i < samples; ++i) {
                session.drain(self.stream.get());
                if (!barrier.arrive()) return;
                self.seconds.push_back(timed_burst(launch, burst).seconds());
            }
        });
        self.pinned = pin.pinned();
        session.drain(self.stream.get());
    } catch (...) {
        self.error = std::current_exception();
        barrier.break_all();
    }
}

// Joins what was started, however the starter leaves.
class Crew {
  public:
    explicit Crew(Barrier& barrier) : barrier_(barrier) {}
    ~Crew() {
        if (!complete_) barrier_.break_all();
        join();
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    template <class Work>
    void start(const Work& work) {
        threads_.emplace_back(work);
    }
    void finish() {
        complete_ = true;
        join();
    }

  private:
    void join() {
        for (std::thread& thread : threads_) {
            if (thread.joinable()) thread.join();
        }
    }
    Barrier& barrier_;
    bool complete_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace

ThreadBursts submit_threads(Session& session, const LaunchSpec& spec, int threads, int burst,
                            int samples, const std::vector<int>& cores) {
    require_count("threads", threads, 1024);
    require_count("burst", burst);
    require_count("samples", samples, 10'000'000);
    const auto count = static_cast<std::size_t>(threads);
    if (!cores.empty() && cores.size() != count) {
        throw std::invalid_argument("give a core for each of the " + std::to_string(threads) +
                                    " threads, or none");
    }
    const Session::Use use(session);
    const Target target = null_target(session, spec);
    std::vector<std::unique_ptr<Submitter>> submitters;
    for (std::size_t i = 0; i < count; ++i) {
        submitters.push_back(std::make_unique<Submitter>(session.context()));
        submitters.back()->seconds.reserve(static_cast<std::size_t>(samples));
    }
    Barrier barrier(threads);
    {
        Crew crew(barrier);
        for (std::size_t i = 0; i < count; ++i) {
            Submitter& self = *submitters[i];
            const int core = cores.empty() ? -1 : cores[i];
            crew.start(
                [&, core] { run(session, spec, target, self, barrier, burst, samples, core); });
        }
        crew.finish();
    }
    ThreadBursts result;
    for (const auto& submitter : submitters) {
        if (submitter->error) std::rethrow_exception(submitter->error);
        result.seconds.push_back(std::move(submitter->seconds));
        result.pinned.push_back(submitter->pinned);
    }
    return result;
}

}  // namespace ftax
