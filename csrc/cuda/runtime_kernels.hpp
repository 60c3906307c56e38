// Our kernels as the CUDA runtime knows them.
//
// A kernel that is not compiled into the program reaches the runtime through cudaLibraryLoadData.
// Loading compiles PTX, which costs milliseconds: it happens once in a session, not in a loop.
//
// The runtime works in the context that is current in the calling thread. Ours is the device's
// primary context, the one it would take by itself, so it is not told a device: that would change
// the device of the caller's thread, and changing it back could open a context nobody asked for.
#pragma once

#include <string>

#include "cuda/context.hpp"
#include "cuda/runtime.hpp"

namespace ftax {

class RuntimeKernels {
  public:
    // Opens the runtime (see open_runtime), makes it take up the context, which must be current,
    // and loads the kernels. Throws CudaUnsupported where it will not do here, CudaError.
    RuntimeKernels(const Context& context, const std::string& path);
    ~RuntimeKernels();
    RuntimeKernels(const RuntimeKernels&) = delete;
    RuntimeKernels& operator=(const RuntimeKernels&) = delete;

    const Runtime& library() const { return runtime_; }
    // The handle of a kernel of floor.cu, by its name.
    const void* kernel(const char* name) const;

  private:
    const Runtime& runtime_;
    const Context& context_;
    void* handle_ = nullptr;
};

struct RuntimeFacts {
    int version;       // 1000 * major + 10 * minor
    std::string path;  // of the file
};

// `runtime_path` is as for open_runtime. Throws CudaUnsupported where there is no runtime.
RuntimeFacts runtime_facts(const Driver& driver, const std::string& runtime_path);

}  // namespace ftax
