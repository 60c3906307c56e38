#include "cuda/runtime_loops.hpp"

#include <stdexcept>

#include "cuda/runtime.hpp"
#include "cuda/settled.hpp"
#include "cuda/timed.hpp"

namespace ftax {
namespace {

constexpr int kSuccess = 0;
constexpr int kInsufficientDriver = 35;  // cudaErrorInsufficientDriver

const Runtime& runtime_of(const Session& session, const std::string& path) {
    return open_runtime(path, session.driver().version());
}

// Makes the runtime take up our context. One that found another driver, or one too old for it,
// cannot, which says nothing against the device.
void require_our_context(const Runtime& runtime, const Context& context) {
    const int status = runtime.free(nullptr);
    if (status == kInsufficientDriver) {
        throw CudaUnsupported("the CUDA runtime " + runtime.path() + " (CUDA " +
                              version_text(runtime.version()) +
                              ") needs a newer driver than it finds");
    }
    runtime.check(status, "cudaFree");
    CUcontext current = nullptr;
    context.driver().ctx_get_current(&current);
    if (current != context.handle()) {
        throw CudaUnsupported("the CUDA runtime " + runtime.path() +
                              " does not take up the driver's primary context");
    }
}

// The library that a kernel handle comes from.
class Library {
  public:
    Library(const Runtime& runtime, const Context& context, const char* ptx)
        : runtime_(runtime), context_(context) {
        require_our_context(runtime, context);
        runtime_.check(
            runtime_.library_load_data(&handle_, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0),
            "cudaLibraryLoadData");
    }
    ~Library() {
        if (!context_.usable()) return;
        try {
            runtime_.check(runtime_.library_unload(handle_), "cudaLibraryUnload");
        } catch (const std::exception& error) {
            report_cleanup_error(error.what());
        }
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    const void* kernel(const char* name) const {
        void* kernel = nullptr;
        runtime_.check(runtime_.library_get_kernel(&kernel, handle_, name), "cudaLibraryGetKernel");
        return kernel;
    }

  private:
    const Runtime& runtime_;
    const Context& context_;
    void* handle_ = nullptr;
};

// cudaLaunchKernel and cudaStreamSynchronize, with the interface of the launches in launch.hpp.
class RuntimeLaunch {
  public:
    RuntimeLaunch(const Runtime& runtime, const LaunchSpec& spec, const void* kernel,
                  void** arguments, CUstream stream)
        : runtime_(runtime),
          call_(runtime.launch_kernel),
          kernel_(kernel),
          grid_{spec.grid, 1, 1},
          block_{spec.block, 1, 1},
          arguments_(arguments),
          stream_(stream) {}
    static int success() { return kSuccess; }
    int operator()() const { return call_(kernel_, grid_, block_, arguments_, 0, stream_); }
    void check(int status) const { runtime_.check(status, "cudaLaunchKernel"); }

  private:
    const Runtime& runtime_;
    decltype(Runtime::launch_kernel) call_;
    const void* kernel_;
    Dim3 grid_;
    Dim3 block_;
    void** arguments_;
    CUstream stream_;
};

class RuntimeWait {
  public:
    RuntimeWait(const Runtime& runtime, CUstream stream)
        : runtime_(runtime), call_(runtime.stream_synchronize), stream_(stream) {}
    static int success() { return kSuccess; }
    int operator()() const { return call_(stream_); }
    void check(int status) const { runtime_.check(status, "cudaStreamSynchronize"); }

  private:
    const Runtime& runtime_;
    decltype(Runtime::stream_synchronize) call_;
    CUstream stream_;
};

// Launches the null kernel once, untimed, waits for it, then calls body(launch, wait).
template <class Body>
void with_runtime_launch(Session& session, const std::string& path, const LaunchSpec& spec,
                         const Body& body) {
    if (spec.api != LaunchApi::kernel) {
        throw std::invalid_argument("the runtime's launch is cudaLaunchKernel: api must be kernel");
    }
    check_spec(session, spec);
    const Target target = null_target(session, spec);  // for its arguments
    const Runtime& runtime = runtime_of(session, path);
    const Library library(runtime, session.context(), floor_ptx);
    const Settled settled(session);
    const void* const kernel = library.kernel(null_kernel_name(spec));
    const RuntimeLaunch launch(runtime, spec, kernel, target.arguments, session.stream());
    const RuntimeWait wait(runtime, session.stream());
    launch.check(launch());
    session.drain();
    body(launch, wait);
    session.drain();
}

}  // namespace

RuntimeFacts runtime_facts(Session& session, const std::string& runtime_path) {
    const Session::Use use(session);
    const Runtime& runtime = runtime_of(session, runtime_path);
    return {runtime.version(), runtime.path()};
}

std::vector<double> runtime_submit(Session& session, const std::string& runtime_path,
                                   const LaunchSpec& spec, int burst, int samples,
                                   const Idle& idle) {
    require_count("burst", burst);
    std::vector<double> times = sample_list(samples);
    const Session::Use use(session);
    with_runtime_launch(session, runtime_path, spec, [&](const auto& launch, const auto&) {
        for (int i = 0; i < samples; ++i) {
            session.drain();
            idle.wait();
            times.push_back(timed_burst(launch, burst).seconds());
        }
    });
    return times;
}

std::vector<double> runtime_launch_sync(Session& session, const std::string& runtime_path,
                                        const LaunchSpec& spec, int samples, const Idle& idle) {
    std::vector<double> times = sample_list(samples);
    const Session::Use use(session);
    with_runtime_launch(session, runtime_path, spec, [&](const auto& launch, const auto& wait) {
        for (int i = 0; i < samples; ++i) {
            idle.wait();
            times.push_back(timed_pair(launch, wait).seconds());
        }
    });
    return times;
}

}  // namespace ftax
