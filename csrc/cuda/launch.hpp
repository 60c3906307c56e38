// Launches made ready: every launch API as one callable without arguments.
//
// A timed loop must not choose, build or convert anything between two launches, and the arguments
// must stay where the driver is told they are. So a launch is an object, made before the clock is
// read, whose call operator is the driver call itself:
//   with_launch(session, spec, stream, [&](const auto& launch) {
//       t0 = now_ns(); for (…) status = launch(); t1 = now_ns();
//       launch.check(status); });
// The body is instantiated once for each launch API: no virtual call, no branch in the loop.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <tuple>

#include "cuda/driver_call.hpp"
#include "cuda/runtime_kernels.hpp"
#include "cuda/session.hpp"

namespace ftax {

// `dependent` is cuLaunchKernelEx with programmatic stream serialisation; `runtime` is the CUDA
// runtime's cudaLaunchKernel, for which the session must use a runtime.
enum class LaunchApi { kernel, kernel_ex, cooperative, dependent, runtime };

struct LaunchSpec {
    LaunchApi api = LaunchApi::kernel;
    int argument_bytes = 0;  // 0, 8, 64, 256, 1024 or 4096
    unsigned int grid = 1;   // blocks
    unsigned int block = 1;  // threads in a block
    StreamKind stream = StreamKind::own;
    int arguments = 0;  // 0, 5 or 19, of 8 bytes each; then argument_bytes is 0
};

// Kernel arguments by value and the array of pointers to them that a launch takes.
template <class... Values>
class Arguments {
  public:
    explicit Arguments(Values... values) : values_(values...) {
        std::apply([this](auto&... value) { pointers_ = {static_cast<void*>(&value)...}; },
                   values_);
    }
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;
    void** pointers() { return pointers_.data(); }
    template <std::size_t Index, class Value>
    void set(Value value) {
        std::get<Index>(values_) = value;
    }

  private:
    std::tuple<Values...> values_;
    std::array<void*, sizeof...(Values)> pointers_;
};

// What is launched: a kernel and its arguments, which must outlive the launches.
struct Target {
    CUfunction function;
    void** arguments;
    const void* runtime_kernel = nullptr;  // instead of the function, for LaunchApi::runtime
};

// cuLaunchKernel, and cuLaunchCooperativeKernel, which takes no extra options.
class KernelLaunch {
  public:
    KernelLaunch(const Driver& driver, const LaunchSpec& spec, Target target, CUstream stream)
        : driver_(driver),
          call_(driver.launch_kernel.get()),
          target_(target),
          grid_(spec.grid),
          block_(spec.block),
          stream_(stream) {}
    CUresult operator()() const {
        return call_(target_.function, grid_, 1, 1, block_, 1, 1, 0, stream_, target_.arguments,
                     nullptr);
    }
    static CUresult success() { return CUDA_SUCCESS; }
    void check(CUresult status) const { driver_.check(status, driver_.launch_kernel.symbol()); }

  private:
    const Driver& driver_;
    decltype(Driver::launch_kernel)::Pointer call_;
    Target target_;
    unsigned int grid_;
    unsigned int block_;
    CUstream stream_;
};

class CooperativeLaunch {
  public:
    CooperativeLaunch(const Driver& driver, const LaunchSpec& spec, Target target, CUstream stream)
        : driver_(driver),
          call_(driver.launch_cooperative.get()),
          target_(target),
          grid_(spec.grid),
          block_(spec.block),
          stream_(stream) {}
    CUresult operator()() const {
        return call_(target_.function, grid_, 1, 1, block_, 1, 1, 0, stream_, target_.arguments);
    }
    static CUresult success() { return CUDA_SUCCESS; }
    void check(CUresult status) const {
        driver_.check(status, driver_.launch_cooperative.symbol());
    }

  private:
    const Driver& driver_;
    decltype(Driver::launch_cooperative)::Pointer call_;
    Target target_;
    unsigned int grid_;
    unsigned int block_;
    CUstream stream_;
};

class ExtendedLaunch {
  public:
    ExtendedLaunch(const Driver& driver, const LaunchSpec& spec, Target target, CUstream stream)
        : driver_(driver), call_(driver.launch_kernel_ex.get()), target_(target) {
        config_.gridDimX = spec.grid;
        config_.gridDimY = config_.gridDimZ = 1;
        config_.blockDimX = spec.block;
        config_.blockDimY = config_.blockDimZ = 1;
        config_.hStream = stream;
        if (spec.api == LaunchApi::dependent) {
            attribute_.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            attribute_.value.programmaticStreamSerializationAllowed = 1;
            config_.attrs = &attribute_;
            config_.numAttrs = 1;
        }
    }
    ExtendedLaunch(const ExtendedLaunch&) = delete;
    ExtendedLaunch& operator=(const ExtendedLaunch&) = delete;
    CUresult operator()() const {
        return call_(&config_, target_.function, target_.arguments, nullptr);
    }
    static CUresult success() { return CUDA_SUCCESS; }
    void check(CUresult status) const { driver_.check(status, driver_.launch_kernel_ex.symbol()); }

  private:
    const Driver& driver_;
    decltype(Driver::launch_kernel_ex)::Pointer call_;
    Target target_;
    CUlaunchAttribute attribute_{};
    CUlaunchConfig config_{};
};

// cudaLaunchKernel. Its statuses are the runtime's.
class RuntimeLaunch {
  public:
    RuntimeLaunch(const Runtime& runtime, const LaunchSpec& spec, Target target, CUstream stream)
        : runtime_(runtime),
          call_(runtime.launch_kernel),
          target_(target),
          grid_{spec.grid, 1, 1},
          block_{spec.block, 1, 1},
          stream_(stream) {}
    int operator()() const {
        return call_(target_.runtime_kernel, grid_, block_, target_.arguments, 0, stream_);
    }
    static int success() { return 0; }
    void check(int status) const { runtime_.check(status, "cudaLaunchKernel"); }
    const Runtime& library() const { return runtime_; }

  private:
    const Runtime& runtime_;
    decltype(Runtime::launch_kernel) call_;
    Target target_;
    Dim3 grid_;
    Dim3 block_;
    CUstream stream_;
};

// cudaStreamSynchronize.
class RuntimeWait {
  public:
    RuntimeWait(const Runtime& runtime, CUstream stream)
        : runtime_(runtime), call_(runtime.stream_synchronize), stream_(stream) {}
    int operator()() const { return call_(stream_); }
    static int success() { return 0; }
    void check(int status) const { runtime_.check(status, "cudaStreamSynchronize"); }

  private:
    const Runtime& runtime_;
    decltype(Runtime::stream_synchronize) call_;
    CUstream stream_;
};

// The wait for a stream that belongs to a launch: of the same library.
template <class Launch>
auto wait_like(const Launch&, const Driver& driver, CUstream stream) {
    return driver_call(driver, driver.stream_synchronize, stream);
}
inline RuntimeWait wait_like(const RuntimeLaunch& launch, const Driver&, CUstream stream) {
    return {launch.library(), stream};
}

// A kernel as the spec's launch API wants it.
Target target_of(Session& session, const LaunchSpec& spec, Kernel kernel, void** arguments);

// The null kernel of a spec. Throws std::invalid_argument for arguments there is no kernel for.
Kernel null_kernel(const LaunchSpec& spec);

// The same, with arguments of the right number and size. Throws as null_kernel and check_spec.
Target null_target(Session& session, const LaunchSpec& spec);

// Throws CudaUnsupported where this device or driver has no such launch, std::invalid_argument for
// a grid or block of zero.
void check_spec(const Session& session, const LaunchSpec& spec);

// Launches `target` once, untimed, waits for it, then calls body(launch) and returns its result.
// `stream` is the caller's own where several threads launch, else session.stream(spec.stream).
template <class Body>
auto with_launch(Session& session, const LaunchSpec& spec, Target target, CUstream stream,
                 const Body& body) {
    const auto run = [&](const auto& launch) {
        launch.check(launch());  // whatever the driver prepares at a first launch is prepared here
        session.drain(stream);
        return body(launch);
    };
    check_spec(session, spec);
    const Driver& driver = session.driver();
    switch (spec.api) {
        case LaunchApi::kernel:
            return run(KernelLaunch(driver, spec, target, stream));
        case LaunchApi::cooperative:
            return run(CooperativeLaunch(driver, spec, target, stream));
        case LaunchApi::kernel_ex:
        case LaunchApi::dependent:
            return run(ExtendedLaunch(driver, spec, target, stream));
        case LaunchApi::runtime:
            return run(RuntimeLaunch(session.runtime().library(), spec, target, stream));
    }
    throw std::logic_error("no such launch API");
}

// One block of one thread, checked; by cuLaunchKernel.
template <class... Values>
void launch_once(const Session& session, Kernel kernel, Arguments<Values...>& arguments,
                 StreamKind stream = StreamKind::own) {
    const Target target{session.kernel(kernel), arguments.pointers()};
    const KernelLaunch launch(session.driver(), LaunchSpec{}, target, session.stream(stream));
    launch.check(launch());
}

}  // namespace ftax
