// One device made ready to be measured: context, kernels, a stream and words shared with the host.
//
// Everything that loads, compiles or allocates happens here and not in a timed loop: since 11.7 a
// driver may load a kernel at its first launch, and loading waits for the device, which would
// deadlock behind a held stream. So each kernel is launched once before anything is timed.
//
// One measurement at a time in the whole process: loops take a Session::Use for as long as they
// run.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cuda/context.hpp"
#include "cuda/kernels.hpp"
#include "cuda/resources.hpp"

namespace ftax {

// The host-mapped words of a session, by what they are for.
enum Word : std::size_t {
    kReleaseWord,  // the host stores here to end ftax_hold
    kOutcomeWord,  // how ftax_hold ended
    kSignalWord,   // ftax_store tells the host that it runs
    kReadWord,     // ftax_round_trip reads it
    kCopyWord,     // host side of pinned copies
    kWords,
};

// Where work goes. `own` is the session's stream, which does not wait for the legacy default
// stream; that one waits for every ordinary stream of the context and they for it; `per_thread` is
// the calling thread's default stream, an ordinary one.
enum class StreamKind { own, legacy, per_thread };

class RuntimeKernels;

class Session {
  public:
    // `deadline_s` bounds every wait of ours (not the timed driver calls): past it the session is
    // abandoned and CudaTimeout thrown. Throws CudaUnavailable, CudaError.
    Session(int device, const std::string& driver_path, WaitStyle style, double deadline_s);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Gives everything back; a second call does nothing. Throws CudaBusy while another thread
    // measures.
    void close();
    // Never waits for the device again: nothing is freed, close() returns at once. Callable from
    // any thread, also while a loop is stuck in a driver call.
    void abandon() noexcept;
    bool abandoned() const noexcept { return abandoned_; }

    const Driver& driver() const { return driver_; }
    const Context& context() const;
    CUstream stream() const { return parts().stream.get(); }
    CUstream stream(StreamKind kind) const;
    const HostWords& words() const { return parts().words; }
    CUfunction kernel(Kernel which) const;
    // The runtime and its handles of our kernels; `path` is as for open_runtime. Loaded when first
    // asked for, or for another path. Throws CudaUnsupported where no runtime will do here.
    void use_runtime(const std::string& path);
    // Throws std::invalid_argument where use_runtime was not called.
    const RuntimeKernels& runtime() const;
    // ftax_dependent, loaded when first asked for; throws CudaUnsupported below sm_90.
    CUfunction dependent_kernel();
    // Throws CudaUnsupported, naming `what`, where the compute capability is below `major`.
    void require_compute_capability(int major, const std::string& what) const;
    // A value that no word holds yet: words are never reset, so no store of an earlier sample that
    // is still on its way can be taken for this one's.
    std::uint32_t next_value() { return ++value_; }

    std::int64_t deadline_ns() const { return deadline_ns_; }
    // Waits, polling, until the stream is idle.
    void drain() { drain(stream()); }
    void drain(CUstream stream);
    // Abandons the session and throws CudaTimeout: `what` did not happen within the deadline.
    [[noreturn]] void give_up(const std::string& what);

    // A loop's right to measure: the only one in the process, with the context current. Throws
    // CudaBusy, CudaUnavailable in a forked child, CudaTimeout if the session was abandoned.
    class Use {
      public:
        explicit Use(Session& session);
        // Gives the thread's former context back early: before this one ends, which close() does.
        void leave_context() { current_.reset(); }

      private:
        struct Exclusive {
            Exclusive();
            ~Exclusive();
            Exclusive(const Exclusive&) = delete;
            Exclusive& operator=(const Exclusive&) = delete;
        };
        static void check(const Session& session);
        Exclusive exclusive_;
        std::optional<MakeCurrent> current_;
    };

  private:
    // What lives in the context; made while it is current.
    struct Parts {
        explicit Parts(const Context& context);
        ~Parts();
        HostWords words;
        Stream stream;
        Module module;
        std::array<CUfunction, kKernelNames.size()> kernels{};
        std::unique_ptr<Module> dependent;
        CUfunction dependent_kernel = nullptr;
        std::unique_ptr<RuntimeKernels> runtime;
        std::string runtime_path;
    };
    Parts& parts() const;
    void launch_all_once();
    void finish() noexcept;

    const Driver& driver_;
    std::int64_t deadline_ns_;
    std::uint32_t value_ = 0;
    std::atomic<bool> abandoned_{false};
    std::mutex mutex_;  // close() against abandon()
    std::unique_ptr<Context> context_;
    std::unique_ptr<Parts> parts_;
};

}  // namespace ftax
