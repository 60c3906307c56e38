#include "cuda/driver.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace ftax {
namespace {

constexpr const char* kVariable = "FTAX_MICRO_CUDA_DRIVER";
constexpr const char* kDefaultLibrary = "libcuda.so.1";

// What a path that was not given by argument resolves to.
std::string default_path() {
    const char* const named = std::getenv(kVariable);
    return named != nullptr && *named != '\0' ? named : kDefaultLibrary;
}

std::string reason_not_opened(const std::string& path) {
    const char* const error = dlerror();
    std::string reason = "cannot open the CUDA driver " + path;
    if (path == kDefaultLibrary) reason += " (no NVIDIA driver is installed here)";
    return error != nullptr ? reason + ": " + error : reason;
}

// Why a driver whose cuInit (or first call) failed cannot be used.
std::string reason_not_initialised(const std::string& path, CUresult status,
                                   const std::string& name) {
    switch (status) {
        case CUDA_ERROR_STUB_LIBRARY:
            return path +
                   " is the CUDA toolkit's stub of the driver, for linking only; "
                   "the real one comes with the NVIDIA driver";
        case CUDA_ERROR_NO_DEVICE: {
            const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
            return std::string("the CUDA driver sees no device") +
                   (visible != nullptr
                        ? " (CUDA_VISIBLE_DEVICES is \"" + std::string(visible) + "\")"
                        : "");
        }
        default:
            return "the CUDA driver " + path + " does not initialise: " + name + " (" +
                   std::to_string(static_cast<int>(status)) + ")";
    }
}

}  // namespace

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Driver::Driver(std::string path) : path_(std::move(path)), pid_(getpid()) {
    // RTLD_LOCAL: our copy must not lend its symbols to other libraries of the process.
    void* const library = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw CudaUnavailable(reason_not_opened(path_));
    look_up(library);
    initialise();
}

void Driver::look_up(void* library) {
    // Without these two it is not a driver of any age.
    for (const char* symbol : {"cuInit", "cuDriverGetVersion"}) {
        if (dlsym(library, symbol) == nullptr) {
            throw CudaUnavailable(path_ + " is not a CUDA driver: it has no " + symbol);
        }
    }
#define FTAX_LOOK_UP(member, symbol, version, parameters) member.set(dlsym(library, symbol));
    FTAX_DRIVER_FUNCTIONS(FTAX_LOOK_UP)
#undef FTAX_LOOK_UP
}

void Driver::initialise() {
    // Asked before cuInit, so that an old driver is told apart from one that does not start.
    CUresult status = driver_get_version.get()(&version_);
    if (status == CUDA_SUCCESS && version_ < kOldestDriver) {
        throw CudaUnavailable("the CUDA driver is too old: needs " + version_text(kOldestDriver) +
                              ", has " + version_text(version_));
    }
    if (status == CUDA_SUCCESS) status = init.get()(0);
    if (status != CUDA_SUCCESS) {
        throw CudaUnavailable(reason_not_initialised(path_, status, name_of(status)));
    }
#define FTAX_REQUIRE(member, symbol, version, parameters)                                     \
    if (member.required() && !member.present()) {                                             \
        throw CudaUnavailable(path_ + " is not a complete CUDA driver: it has no " +          \
                              std::string(symbol) + ", which CUDA " + version_text(version) + \
                              " introduced");                                                 \
    }
    FTAX_DRIVER_FUNCTIONS(FTAX_REQUIRE)
#undef FTAX_REQUIRE
}

std::vector<std::pair<std::string, std::string>> Driver::missing() const {
    std::vector<std::pair<std::string, std::string>> lacking;
#define FTAX_LIST(member, symbol, version, parameters) \
    if (!member.present()) lacking.emplace_back(symbol, version_text(version));
    FTAX_DRIVER_FUNCTIONS(FTAX_LIST)
#undef FTAX_LIST
    return lacking;
}

std::string Driver::name_of(CUresult status) const {
    const char* name = nullptr;
    if (get_error_name.present() && get_error_name.get()(status, &name) == CUDA_SUCCESS &&
        name != nullptr) {
        return name;
    }
    return "CUDA_ERROR_" + std::to_string(static_cast<int>(status));
}

void Driver::fail(CUresult status, const char* function, const std::string& detail) const {
    const char* text = nullptr;
    std::string message;
    if (get_error_string.present() && get_error_string.get()(status, &text) == CUDA_SUCCESS &&
        text != nullptr) {
        message = text;
    }
    if (!detail.empty()) message += (message.empty() ? "" : ": ") + detail;
    throw CudaError(static_cast<int>(status), name_of(status), function, message);
}

bool Driver::is_own_process() const noexcept { return getpid() == pid_; }

void Driver::require_own_process() const {
    if (!is_own_process()) {
        throw CudaUnavailable(
            "this process was forked from one that uses CUDA, which does not survive a fork; "
            "start it with the spawn method instead");
    }
}

const Driver& open_driver(const std::string& path) {
    static std::mutex mutex;
    // Never destroyed: sessions may outlive static destruction.
    static auto* const open = new std::map<std::string, std::unique_ptr<const Driver>>;
    const std::string name = path.empty() ? default_path() : path;
    const std::lock_guard<std::mutex> lock(mutex);
    auto found = open->find(name);
    if (found == open->end()) {
        found = open->emplace(name, std::make_unique<const Driver>(name)).first;
    }
    found->second->require_own_process();
    return *found->second;
}

}  // namespace ftax
