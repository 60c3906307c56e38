#include "cuda/context.hpp"

#include <unistd.h>

#include "cuda/facts.hpp"

namespace ftax {
namespace {

constexpr unsigned int kUnchanged = ~0U;

// What the innermost MakeCurrent of this thread made current.
thread_local CUcontext made_current = nullptr;

unsigned int flags_of(WaitStyle style) {
    switch (style) {
        case WaitStyle::automatic:
            return CU_CTX_SCHED_AUTO;
        case WaitStyle::spin:
            return CU_CTX_SCHED_SPIN;
        case WaitStyle::yield:
            return CU_CTX_SCHED_YIELD;
        case WaitStyle::blocking:
            return CU_CTX_SCHED_BLOCKING_SYNC;
        case WaitStyle::unchanged:
            break;
    }
    return kUnchanged;
}

WaitStyle style_of(unsigned int flags) {
    switch (flags & CU_CTX_SCHED_MASK) {
        case CU_CTX_SCHED_SPIN:
            return WaitStyle::spin;
        case CU_CTX_SCHED_YIELD:
            return WaitStyle::yield;
        case CU_CTX_SCHED_BLOCKING_SYNC:
            return WaitStyle::blocking;
        default:
            return WaitStyle::automatic;
    }
}

unsigned int with_style(unsigned int flags, WaitStyle style) {
    return (flags & ~static_cast<unsigned int>(CU_CTX_SCHED_MASK)) | flags_of(style);
}

// "Too late, the context is live" is an answer, not an error.
bool is_refusal(CUresult status) { return status == CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE; }

// Why the primary context was not to be had.
void check_retained(const Driver& driver, CUdevice device, CUresult status) {
    if (status == CUDA_SUCCESS) return;
    int mode = CU_COMPUTEMODE_DEFAULT;
    driver.device_get_attribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device);
    if (mode == CU_COMPUTEMODE_PROHIBITED) {
        throw CudaUnavailable("the device is in prohibited compute mode (nvidia-smi -c 0 ends it)");
    }
    if (mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS && status == CUDA_ERROR_DEVICE_UNAVAILABLE) {
        throw CudaUnavailable(
            "the device is in exclusive-process compute mode and another process holds it");
    }
    driver.check(status, driver.primary_ctx_retain.symbol());
}

}  // namespace

const char* name_of(WaitStyle style) {
    switch (style) {
        case WaitStyle::automatic:
            return "automatic";
        case WaitStyle::spin:
            return "spin";
        case WaitStyle::yield:
            return "yield";
        case WaitStyle::blocking:
            return "blocking";
        case WaitStyle::unchanged:
            break;
    }
    return "unchanged";
}

Context::Retained::Retained(Context& context) : owner(context) {
    const Driver& driver = owner.driver_;
    check_retained(driver, owner.device_, driver.primary_ctx_retain.get()(&handle, owner.device_));
}

Context::Retained::~Retained() {
    if (!owner.usable()) return;
    const Driver& driver = owner.driver_;
    const CUresult status = driver.primary_ctx_release.get()(owner.device_);
    if (status != CUDA_SUCCESS) {
        report_cleanup_error(std::string(driver.primary_ctx_release.symbol()) +
                             " failed: " + driver.name_of(status));
    }
    if (owner.former_flags_ == kUnchanged) return;
    const CUresult set = driver.primary_ctx_set_flags.get()(owner.device_, owner.former_flags_);
    if (set != CUDA_SUCCESS && !is_refusal(set)) {
        report_cleanup_error(std::string(driver.primary_ctx_set_flags.symbol()) +
                             " failed: " + driver.name_of(set));
    }
}

Context::Context(const Driver& driver, int index, WaitStyle style)
    : driver_(driver),
      index_(index),
      device_(find_device(driver, index)),
      former_flags_(ask_for_style(style)),
      retained_(*this),
      wait_style_(insist_on_style(style)) {}

// Before the context exists. Returns the flags to give back, kUnchanged if none were changed.
unsigned int Context::ask_for_style(WaitStyle style) const {
    if (style == WaitStyle::unchanged) return kUnchanged;
    unsigned int flags = 0;
    int active = 0;
    driver_.primary_ctx_get_state(device_, &flags, &active);
    const unsigned int wanted = with_style(flags, style);
    if (wanted == flags) return kUnchanged;
    const CUresult status = driver_.primary_ctx_set_flags.get()(device_, wanted);
    if (is_refusal(status)) return kUnchanged;
    driver_.check(status, driver_.primary_ctx_set_flags.symbol());
    return flags;
}

// In the live context. Returns the style in force.
WaitStyle Context::insist_on_style(WaitStyle style) const {
    const MakeCurrent current(*this);
    unsigned int flags = 0;
    driver_.ctx_get_flags(&flags);
    if (style == WaitStyle::unchanged || style_of(flags) == style ||
        !driver_.ctx_set_flags.present()) {
        return style_of(flags);
    }
    const CUresult status = driver_.ctx_set_flags.get()(with_style(flags, style));
    if (!is_refusal(status)) driver_.check(status, driver_.ctx_set_flags.symbol());
    driver_.ctx_get_flags(&flags);
    return style_of(flags);
}

bool Context::usable() const noexcept { return !abandoned_ && driver_.is_own_process(); }

CUcontext Context::switch_for_clean_up() const {
    CUcontext former = nullptr;
    const auto report = [&](CUresult status, const char* function) {
        if (status == CUDA_SUCCESS) return;
        report_cleanup_error(std::string(function) + " failed: " + driver_.name_of(status));
    };
    report(driver_.ctx_get_current.get()(&former), driver_.ctx_get_current.symbol());
    report(driver_.ctx_set_current.get()(handle()), driver_.ctx_set_current.symbol());
    return former;
}

MakeCurrent::MakeCurrent(const Context& context) : context_(context), outer_(made_current) {
    const Driver& driver = context.driver();
    driver.ctx_get_current(&former_);
    if (former_ != context.handle()) driver.ctx_set_current(context.handle());
    made_current = context.handle();
}

MakeCurrent::~MakeCurrent() {
    made_current = outer_;
    // Also of an abandoned context: which context is current is the thread's own affair and waits
    // for no device, and a caller that was left in a context that hangs would hang with it.
    if (former_ == context_.handle() || !context_.driver().is_own_process()) return;
    give_back_current(context_.driver(), former_);
}

bool MakeCurrent::holds(const Context& context) { return made_current == context.handle(); }

void give_back_current(const Driver& driver, CUcontext former) noexcept {
    const CUresult status = driver.ctx_set_current.get()(former);
    if (status == CUDA_SUCCESS) return;
    report_cleanup_error(std::string(driver.ctx_set_current.symbol()) +
                         " failed: " + driver.name_of(status));
    driver.ctx_set_current.get()(nullptr);
}

}  // namespace ftax
