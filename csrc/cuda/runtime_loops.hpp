// The launch loops of stream_loops.hpp through cudaLaunchKernel.
//
// Same kernels, same stream (the driver's CUstream is the runtime's cudaStream_t), same way of
// timing: what differs is the library between the caller and the driver.
//
// The runtime works in the context that is current in the calling thread. Ours is the device's
// primary context, the one it would take by itself, so it is not told a device: that would change
// the device of the caller's thread, and changing it back could open a context nobody asked for.
#pragma once

#include <string>
#include <vector>

#include "cuda/launch.hpp"
#include "cuda/polling.hpp"

namespace ftax {

struct RuntimeFacts {
    int version;       // 1000 * major + 10 * minor
    std::string path;  // as it was opened
};

// `runtime_path` is as for open_runtime. All throw CudaUnsupported where no runtime will do here.
RuntimeFacts runtime_facts(Session& session, const std::string& runtime_path);

// As submit and launch_sync; the wait is cudaStreamSynchronize. `spec.api` must be
// LaunchApi::kernel.
std::vector<double> runtime_submit(Session& session, const std::string& runtime_path,
                                   const LaunchSpec& spec, int burst, int samples,
                                   const Idle& idle);
std::vector<double> runtime_launch_sync(Session& session, const std::string& runtime_path,
                                        const LaunchSpec& spec, int samples, const Idle& idle);

}  // namespace ftax
