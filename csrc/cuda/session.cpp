#include "cuda/session.hpp"

#include <cstdio>
#include <stdexcept>

#include "cuda/facts.hpp"
#include "cuda/launch.hpp"
#include "cuda/polling.hpp"
#include "cuda/runtime_kernels.hpp"

namespace ftax {
namespace {

// Process-wide: two sessions of one device, or two devices behind one host thread each, would still
// disturb each other's host times.
std::atomic<bool> measuring{false};

}  // namespace

Session::Use::Exclusive::Exclusive() {
    if (measuring.exchange(true)) {
        throw CudaBusy("another thread of this process is measuring; measure one after the other");
    }
}

Session::Use::Exclusive::~Exclusive() { measuring = false; }

void Session::Use::check(const Session& session) {
    session.driver().require_own_process();
    if (session.abandoned()) {
        throw CudaTimeout("the device did not answer before; this session was abandoned");
    }
}

Session::Use::Use(Session& session) {
    check(session);
    current_.emplace(session.context());
}

Session::Parts::Parts(const Context& context)
    : words(context, kWords), stream(context), module(context, floor_ptx) {
    for (std::size_t i = 0; i < kernels.size(); ++i) kernels[i] = module.function(kKernelNames[i]);
}

Session::Parts::~Parts() = default;  // here, where what `runtime` points to is complete

Session::Session(int device, const std::string& driver_path, WaitStyle style, double deadline_s)
    : driver_(open_driver(driver_path)), deadline_ns_(static_cast<std::int64_t>(deadline_s * 1e9)) {
    if (!(deadline_s > 0 && deadline_s < 1e6)) {
        throw std::invalid_argument("the deadline must be positive, in seconds");
    }
    context_ = std::make_unique<Context>(driver_, device, style);
    try {
        const MakeCurrent current(*context_);  // ends before finish(), which frees the context
        parts_ = std::make_unique<Parts>(*context_);
        launch_all_once();
    } catch (...) {
        // Kernels may be under way; what they use is freed after they end.
        if (parts_ != nullptr) finish();
        throw;
    }
}

Session::~Session() {
    if (parts_ != nullptr) finish();
}

void Session::close() {
    if (parts_ == nullptr) return;
    if (!abandoned_ && driver_.is_own_process()) {
        Use use(*this);
        use.leave_context();
        finish();
    } else {
        finish();
    }
}

// Waits for the stream, then frees all. A device that does not finish is left alone.
void Session::finish() noexcept {
    if (context_->usable()) {
        try {
            const MakeCurrent current(*context_);
            drain();
        } catch (const std::exception& error) {
            report_cleanup_error(error.what());
        }
    }
    parts_.reset();
    std::unique_ptr<Context> context;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        context = std::move(context_);
    }
}

void Session::abandon() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    abandoned_ = true;
    if (context_ != nullptr) context_->abandon();
}

Session::Parts& Session::parts() const {
    if (parts_ == nullptr) throw std::logic_error("the session is closed");
    return *parts_;
}

const Context& Session::context() const {
    if (context_ == nullptr) throw std::logic_error("the session is closed");
    return *context_;
}

CUfunction Session::kernel(Kernel which) const {
    return parts().kernels[static_cast<std::size_t>(which)];
}

void Session::require_compute_capability(int major, const std::string& what) const {
    const CUdevice device = context().device();
    const int has = attribute(driver_, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    if (has < major) {
        throw CudaUnsupported(what + " needs compute capability " + std::to_string(major) +
                              ".0; this device has " + std::to_string(has) + "." +
                              std::to_string(attribute(
                                  driver_, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)));
    }
}

CUfunction Session::dependent_kernel() {
    Parts& has = parts();
    if (has.dependent == nullptr) {
        require_compute_capability(9, "programmatic dependent launch");
        auto module = std::make_unique<Module>(context(), dependent_ptx);
        has.dependent_kernel = module->function(kDependentName);
        has.dependent = std::move(module);
    }
    return has.dependent_kernel;
}

CUstream Session::stream(StreamKind kind) const {
    switch (kind) {
        case StreamKind::own:
            return stream();
        case StreamKind::legacy:
            return CU_STREAM_LEGACY;  // by its handle: 0 means what the caller was compiled for
        case StreamKind::per_thread:
            return CU_STREAM_PER_THREAD;
    }
    throw std::logic_error("no such stream");
}

void Session::use_runtime(const std::string& path) {
    const Use use(*this);
    Parts& has = parts();
    if (has.runtime != nullptr && has.runtime_path == path) return;
    auto runtime = std::make_unique<RuntimeKernels>(*context_, path);
    drain();  // before what the former one loaded goes
    has.runtime = std::move(runtime);
    has.runtime_path = path;
}

const RuntimeKernels& Session::runtime() const {
    const Parts& has = parts();
    if (has.runtime == nullptr) {
        throw std::invalid_argument("launches through the runtime need use_runtime first");
    }
    return *has.runtime;
}

// With arguments that make each kernel return at once. The null kernels and the spinning ones are
// launched once by the loops that time them, with their own launch function.
void Session::launch_all_once() {
    Arguments store(words().device(kSignalWord), std::uint32_t{0});
    launch_once(*this, Kernel::store, store);
    Arguments hold(words().device(kReleaseWord), std::uint32_t{0}, std::uint64_t{0},
                   words().device(kOutcomeWord));
    launch_once(*this, Kernel::hold, hold);
    Arguments spin_ns(std::uint64_t{0});
    launch_once(*this, Kernel::spin_ns, spin_ns);
    drain();
}

void Session::drain(CUstream stream) {
    const auto query = driver_.stream_query.get();
    CUresult status = CUDA_ERROR_NOT_READY;
    const bool done = poll_until(
        [&] {
            status = query(stream);
            return status != CUDA_ERROR_NOT_READY;
        },
        now_ns() + deadline_ns_);
    if (!done) give_up("the stream to become idle");
    driver_.check(status, driver_.stream_query.symbol());
}

void Session::give_up(const std::string& what) {
    abandon();
    std::array<char, 32> limit{};
    std::snprintf(limit.data(), limit.size(), "%g", static_cast<double>(deadline_ns_) * 1e-9);
    throw CudaTimeout("waited " + std::string(limit.data()) + " s in vain for " + what +
                      "; the device does not answer");
}

}  // namespace ftax
