// Launches that somebody else's loop makes, one at a time: a loop in Python.
//
// The problem: the loops of stream_loops.hpp stay in C++ from one launch to the next. What a launch
// from Python costs is the way there and back, so the loop must be Python's, and a launch may do no
// more than a launch has to: arguments into their places, the driver's call, a look at the status.
// The right to measure, the context, the first launch and waiting come before and after:
//   launcher.enter();  launcher.wait();
//   t0 = now; for (…) { launcher.values()[i] = …; status = launcher.launch(); } t1 = now;
//   launcher.leave();
// Caveat: between enter() and leave() the thread has the context current, and no other thread of
// the process can measure. Both belong to the thread that launches.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "cuda/launch.hpp"

namespace ftax {

class Launcher {
  public:
    // The null kernel of the spec. Throws std::invalid_argument for launch APIs other than
    // LaunchApi::kernel and arguments there is no kernel for.
    Launcher(std::shared_ptr<Session> session, const LaunchSpec& spec);
    Launcher(const Launcher&) = delete;
    Launcher& operator=(const Launcher&) = delete;

    // Takes the right to measure and makes the context current; the first time, the kernel is
    // launched once, so that it is loaded. Throws as Session::Use, CudaError, CudaTimeout.
    void enter();
    // Waits for the stream and gives both back, also where the wait throws.
    void leave();
    bool entered() const { return use_ != nullptr; }
    // Until the stream is idle. Throws std::logic_error unless entered.
    void wait();

    std::size_t arguments() const { return count_; }
    // Where the next launch takes its arguments from.
    std::int64_t* values() { return values_.data(); }
    // Only between enter() and leave(); the status is for check().
    CUresult launch() const { return launch_(); }
    void check(CUresult status) const { launch_.check(status); }

    // What is launched and where, for other ways to launch the same.
    CUfunction kernel() const { return kernel_; }
    CUstream stream() const { return stream_; }

  private:
    static constexpr std::size_t kMost = 19;
    std::shared_ptr<Session> session_;
    std::size_t count_;
    std::array<std::int64_t, kMost> values_{};
    std::array<void*, kMost> pointers_;
    CUfunction kernel_;
    CUstream stream_;
    KernelLaunch launch_;
    bool loaded_ = false;
    std::unique_ptr<Session::Use> use_;  // after what it protects
};

}  // namespace ftax
