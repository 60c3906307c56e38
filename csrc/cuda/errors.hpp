// What can go wrong on the CUDA side, as one exception class for each thing a caller does about it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace ftax {

// A driver or runtime call returned an error. `function` is the C symbol that was called.
class CudaError : public std::runtime_error {
  public:
    CudaError(int code, std::string name, std::string function, const std::string& text)
        : std::runtime_error(function + " failed: " + name + " (" + std::to_string(code) + ")" +
                             (text.empty() ? "" : ": " + text)),
          code_(code),
          name_(std::move(name)),
          function_(std::move(function)) {}
    int code() const { return code_; }
    const std::string& name() const { return name_; }
    const std::string& function() const { return function_; }

  private:
    int code_;
    std::string name_;
    std::string function_;
};

// No CUDA device can be used here at all: no library, a wrong one, no device, a driver too old.
class CudaUnavailable : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The device works, but cannot do this one thing: a row to skip, not a failure.
class CudaUnsupported : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The library lacks an entry. `version` is the CUDA version that introduced it, such as "11.6".
class CudaMissingFunction : public CudaUnsupported {
  public:
    CudaMissingFunction(std::string function, std::string version, const std::string& library)
        : CudaUnsupported(function + " needs CUDA " + version + "; " + library + " lacks it"),
          function_(std::move(function)),
          version_(std::move(version)) {}
    const std::string& function() const { return function_; }
    const std::string& version() const { return version_; }

  private:
    std::string function_;
    std::string version_;
};

// The device did not answer before the host's deadline. The context is abandoned by then.
class CudaTimeout : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Another thread is measuring: two measurements at once would time each other.
class CudaBusy : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace ftax
