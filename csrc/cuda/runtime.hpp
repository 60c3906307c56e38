// Launches through the CUDA runtime library, the layer most programs use.
//
// The shared runtime is opened by name, as the driver is. Its header is not used (it needs more
// packages than we want to build with), so the prototypes are our own. A kernel that is not
// compiled into the program reaches it through cudaLibraryLoadData, which came with 12.8; an older
// runtime cannot take part. A library that is linked statically into a program could not be
// exchanged.
//
// A runtime that the process has loaded already (PyTorch's, say) is preferred to opening another:
// it is the one whose launches the reader cares about, and two runtimes in one process are two sets
// of state.
//
// Caveats: the runtime finds libcuda.so.1 by itself, whatever driver we were told to open; and it
// retains the primary context for the rest of the process, in which wait styles may then be fixed.
#pragma once

#include <string>

#include "cuda/errors.hpp"

struct CUstream_st;

namespace ftax {

// dim3 of the runtime, passed by value.
struct Dim3 {
    unsigned int x, y, z;
};

class Runtime {
  public:
    // Opens `path`, or with `loaded_only` takes it where it is loaded already (under that name, or
    // with that SONAME). Throws CudaUnsupported where that fails, CudaMissingFunction.
    explicit Runtime(std::string path, bool loaded_only = false);
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    // Throws CudaError, its name as the runtime gives it, unless status is 0.
    void check(int status, const char* function) const {
        if (status != 0) fail(status, function);
    }
    const std::string& path() const { return path_; }  // of the file, where the loader tells
    int version() const { return version_; }

    // cudaError_t is an int; handles are pointers.
    int (*get_version)(int*) = nullptr;
    const char* (*get_error_name)(int) = nullptr;
    const char* (*get_error_string)(int) = nullptr;
    int (*set_device)(int) = nullptr;
    int (*free)(void*) = nullptr;
    int (*stream_synchronize)(CUstream_st*) = nullptr;
    int (*launch_kernel)(const void*, Dim3, Dim3, void**, std::size_t, CUstream_st*) = nullptr;
    int (*library_load_data)(void**, const void*, void*, void**, unsigned int, void*, void**,
                             unsigned int) = nullptr;
    int (*library_get_kernel)(void**, void*, const char*) = nullptr;
    int (*library_unload)(void*) = nullptr;

  private:
    [[noreturn]] void fail(int status, const char* function) const;
    std::string path_;
    int version_ = 0;
};

// The runtime at `path`; with an empty path the one FTAX_MICRO_CUDA_RUNTIME names, else the newest
// of libcudart.so.13 and .12 that is not newer than the driver: first of those loaded in this
// process, then of those the dynamic loader finds. Opened once for each path.
const Runtime& open_runtime(const std::string& path, int driver_version);

// File of the runtime that the process has loaded already and open_runtime("") would take; empty if
// there is none, or the one that is lacks an entry.
std::string loaded_runtime(int driver_version);

}  // namespace ftax
