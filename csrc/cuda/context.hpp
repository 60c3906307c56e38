// A device's primary context, and what every resource in it needs to clean up after itself.
//
// The primary context is the one that the runtime API and every framework of the process use, so
// what is measured in it is what they would see. A device that hangs makes every call that frees
// something wait for ever; once a wait of ours has passed its deadline the context is abandoned:
// nothing is freed any more, and the process can be left at once.
#pragma once

#include <atomic>
#include <exception>
#include <string>

#include "cuda/cleanup.hpp"
#include "cuda/driver.hpp"

namespace ftax {

// How cuStreamSynchronize waits. `unchanged` leaves what the context has.
enum class WaitStyle { unchanged, automatic, spin, yield, blocking };

class Context {
  public:
    // Retains the primary context of device `index`, asking for a wait style. In a context that is
    // live already (another library of the process uses the device) the style may not be
    // changeable: wait_style() tells which one is in force. Throws CudaUnavailable or CudaError.
    Context(const Driver& driver, int index, WaitStyle style);
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    const Driver& driver() const { return driver_; }
    int index() const { return index_; }
    CUdevice device() const { return device_; }
    CUcontext handle() const { return retained_.handle; }
    WaitStyle wait_style() const { return wait_style_; }

    // From now on nothing is freed; called where a wait passed its deadline.
    void abandon() noexcept { abandoned_ = true; }
    bool abandoned() const noexcept { return abandoned_; }
    // Whether destructors may call the driver.
    bool usable() const noexcept;

    // Calls a freeing function for a destructor: with the context current, reporting what fails.
    template <class... Parameters, class... Arguments>
    void clean_up(const Function<CUresult(Parameters...)>& function,
                  Arguments... arguments) const noexcept;

  private:
    struct Retained {
        explicit Retained(Context& owner);
        ~Retained();
        Retained(const Retained&) = delete;
        Retained& operator=(const Retained&) = delete;
        Context& owner;
        CUcontext handle = nullptr;
    };

    // Makes this context current, reporting what fails on the way; returns the former one.
    CUcontext switch_for_clean_up() const;
    unsigned int ask_for_style(WaitStyle style) const;
    WaitStyle insist_on_style(WaitStyle style) const;

    const Driver& driver_;
    int index_;
    std::atomic<bool> abandoned_{false};
    CUdevice device_;
    unsigned int former_flags_;  // given back when the context is released
    Retained retained_;
    WaitStyle wait_style_;
};

// Makes a context current on this thread for the guard's life, then gives the former one back.
class MakeCurrent {
  public:
    explicit MakeCurrent(const Context& context);
    ~MakeCurrent();
    MakeCurrent(const MakeCurrent&) = delete;
    MakeCurrent& operator=(const MakeCurrent&) = delete;
    // Whether a guard of this thread has made `context` current.
    static bool holds(const Context& context);

  private:
    const Context& context_;
    CUcontext former_ = nullptr;
    CUcontext outer_;  // of the guard around this one, if any
};

// Makes `former` current again. Where that fails, none is: a thread must not be left in a context
// that is about to be freed. Reports, never throws.
void give_back_current(const Driver& driver, CUcontext former) noexcept;

template <class... Parameters, class... Arguments>
void Context::clean_up(const Function<CUresult(Parameters...)>& function,
                       Arguments... arguments) const noexcept {
    if (!usable()) return;
    const bool inside = MakeCurrent::holds(*this);  // then there is nothing to switch
    CUcontext former = nullptr;
    try {
        if (!inside) former = switch_for_clean_up();
        driver_.check(function.get()(arguments...), function.symbol());
    } catch (const std::exception& error) {
        report_cleanup_error(error.what());
    }
    if (!inside) give_back_current(driver_, former);
}

const char* name_of(WaitStyle style);

}  // namespace ftax
