// The CUDA driver library, opened at run time.
//
// The extension must import on machines without a driver and work with every driver since 11.4, so
// nothing is linked: the library is opened when a device is first asked for, and what it lacks is
// found then. Every entry is behind Function, which checks its status and is never a null call:
//   wrong:  cuLaunchKernelEx(...)                 (fails to load on a driver before 11.6)
//   right:  driver.launch_kernel_ex(...)          (throws CudaError, or CudaMissingFunction)
// In timed loops the check of each call is the loop's own comparison; take the pointer before:
//   const auto launch = driver.launch_kernel.get();   t0; status = launch(...); t1;
//   driver.check(status, driver.launch_kernel.symbol());
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "cuda/driver_table.hpp"
#include "cuda/errors.hpp"

namespace ftax {

class Driver;

template <class Signature>
class Function;

// One driver entry.
template <class... Parameters>
class Function<CUresult(Parameters...)> {
  public:
    using Pointer = CUresult (*)(Parameters...);

    Function(const Driver& driver, const char* symbol, int version)
        : driver_(driver), symbol_(symbol), version_(version) {}
    Function(const Function&) = delete;
    Function& operator=(const Function&) = delete;

    // Calls and checks. Throws CudaError, or CudaMissingFunction where the driver lacks the entry.
    template <class... Arguments>
    void operator()(Arguments... arguments) const;

    // The bare entry, for timed loops and polls; never null.
    Pointer get() const;

    bool present() const { return pointer_ != nullptr; }
    bool required() const { return version_ <= kOldestDriver; }
    const char* symbol() const { return symbol_; }
    int version() const { return version_; }
    void set(void* address) { pointer_ = reinterpret_cast<Pointer>(address); }

  private:
    const Driver& driver_;
    const char* symbol_;
    int version_;
    Pointer pointer_ = nullptr;
};

class Driver {
  public:
    // Opens and initialises; throws CudaUnavailable. Use open_driver instead.
    explicit Driver(std::string path);
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    // The one place where a status becomes an exception. `detail` is appended to the message.
    void check(CUresult status, const char* function, const std::string& detail = "") const {
        if (status != CUDA_SUCCESS) fail(status, function, detail);
    }
    // CUDA_ERROR_… name of a status.
    std::string name_of(CUresult status) const;
    // Throws CudaUnavailable in a forked child: CUDA's state does not survive a fork.
    void require_own_process() const;
    bool is_own_process() const noexcept;

    const std::string& path() const { return path_; }
    int version() const { return version_; }
    // Symbol and introducing version of each optional entry this driver lacks.
    std::vector<std::pair<std::string, std::string>> missing() const;

#define FTAX_MEMBER(member, symbol, version, parameters) \
    Function<CUresult parameters> member{*this, symbol, version};
    FTAX_DRIVER_FUNCTIONS(FTAX_MEMBER)
#undef FTAX_MEMBER

  private:
    [[noreturn]] void fail(CUresult status, const char* function, const std::string& detail) const;
    void look_up(void* library);
    void initialise();

    std::string path_;
    int version_ = 0;
    pid_t pid_;
};

// The driver at `path`; with an empty path the one FTAX_MICRO_CUDA_DRIVER names, else libcuda.so.1.
// Opened once for each path and kept for the life of the process: a driver cannot be unloaded.
// Throws CudaUnavailable, whose text says what was opened and why it will not do.
const Driver& open_driver(const std::string& path);

// "11.4" for 11040.
std::string version_text(int version);

template <class... Parameters>
typename Function<CUresult(Parameters...)>::Pointer Function<CUresult(Parameters...)>::get() const {
    if (pointer_ == nullptr) {
        throw CudaMissingFunction(
            symbol_, version_text(version_),
            driver_.path() + " (CUDA " + version_text(driver_.version()) + ")");
    }
    return pointer_;
}

template <class... Parameters>
template <class... Arguments>
void Function<CUresult(Parameters...)>::operator()(Arguments... arguments) const {
    driver_.check(get()(arguments...), symbol_);
}

}  // namespace ftax
