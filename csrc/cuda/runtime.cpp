#include "cuda/runtime.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ftax {
namespace {

constexpr const char* kVariable = "FTAX_MICRO_CUDA_RUNTIME";

// A runtime of a newer major version than the driver refuses to work.
std::vector<std::string> candidates(int driver_version) {
    std::vector<std::string> names;
    for (int major : {13, 12}) {
        if (major * 1000 <= driver_version)
            names.push_back("libcudart.so." + std::to_string(major));
    }
    return names;
}

template <class Pointer>
void look_up(void* library, const std::string& path, const char* symbol, const char* since,
             Pointer& pointer) {
    pointer = reinterpret_cast<Pointer>(dlsym(library, symbol));
    if (pointer == nullptr) throw CudaMissingFunction(symbol, since, path);
}

// The file behind a handle: a name without a folder says nothing of where it was found.
std::string file_of(void* library, const std::string& name) {
    link_map* map = nullptr;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) {
        return name;
    }
    return *map->l_name != '\0' ? map->l_name : name;
}

// Null if none is loaded; one that lacks an entry is passed over, another may have it.
std::unique_ptr<const Runtime> first_loaded(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        try {
            return std::make_unique<const Runtime>(name, true);
        } catch (const CudaUnsupported&) {
        }
    }
    return nullptr;
}

std::unique_ptr<const Runtime> open_first(const std::vector<std::string>& names) {
    std::string reasons;
    for (const std::string& name : names) {
        try {
            return std::make_unique<const Runtime>(name);
        } catch (const CudaMissingFunction&) {
            throw;  // found, and too old: the one before it would be older
        } catch (const CudaUnsupported& error) {
            reasons += (reasons.empty() ? "" : "; ") + std::string(error.what());
        }
    }
    throw CudaUnsupported(reasons.empty() ? "the driver is older than any runtime we can use (12.8)"
                                          : reasons);
}

}  // namespace

Runtime::Runtime(std::string path, bool loaded_only) : path_(std::move(path)) {
    const int only = loaded_only ? RTLD_NOLOAD : 0;
    void* const library = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL | only);
    if (library == nullptr) {
        const char* const error = dlerror();
        throw CudaUnsupported("cannot open the CUDA runtime " + path_ + ": " +
                              (error != nullptr ? error : "it is not loaded"));
    }
    path_ = file_of(library, path_);
    look_up(library, path_, "cudaRuntimeGetVersion", "3.0", get_version);
    look_up(library, path_, "cudaGetErrorName", "7.0", get_error_name);
    look_up(library, path_, "cudaGetErrorString", "3.0", get_error_string);
    look_up(library, path_, "cudaSetDevice", "3.0", set_device);
    look_up(library, path_, "cudaFree", "3.0", free);
    look_up(library, path_, "cudaStreamSynchronize", "3.0", stream_synchronize);
    look_up(library, path_, "cudaLaunchKernel", "7.0", launch_kernel);
    look_up(library, path_, "cudaLibraryLoadData", "12.8", library_load_data);
    look_up(library, path_, "cudaLibraryGetKernel", "12.8", library_get_kernel);
    look_up(library, path_, "cudaLibraryUnload", "12.8", library_unload);
    check(get_version(&version_), "cudaRuntimeGetVersion");
}

void Runtime::fail(int status, const char* function) const {
    const char* const name = get_error_name(status);
    const char* const text = get_error_string(status);
    throw CudaError(status, name != nullptr ? name : "cudaError" + std::to_string(status), function,
                    text != nullptr ? text : "");
}

const Runtime& open_runtime(const std::string& path, int driver_version) {
    static std::mutex mutex;
    // Never destroyed, as the driver: what was made through it may outlive statics.
    static auto* const open = new std::map<std::string, std::unique_ptr<const Runtime>>;
    const char* const named = std::getenv(kVariable);
    const std::string name = !path.empty() ? path : named != nullptr ? named : "";
    const std::lock_guard<std::mutex> lock(mutex);
    auto found = open->find(name);
    if (found == open->end()) {
        std::unique_ptr<const Runtime> runtime;
        if (name.empty()) runtime = first_loaded(candidates(driver_version));
        if (runtime == nullptr) {
            runtime = open_first(name.empty() ? candidates(driver_version)
                                              : std::vector<std::string>{name});
        }
        found = open->emplace(name, std::move(runtime)).first;
    }
    return *found->second;
}

std::string loaded_runtime(int driver_version) {
    const auto runtime = first_loaded(candidates(driver_version));
    return runtime == nullptr ? "" : runtime->path();
}

}  // namespace ftax
