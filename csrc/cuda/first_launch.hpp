// What a kernel costs before it is fast: compiling, loading, finding, launching it the first time.
//
// Only a module that was never launched from has a first launch, so each sample loads a fresh one
// and unloads it outside of the times. Caveats: drivers keep what they compiled in a cache on disk
// and find it again by the PTX text. So every text to compile differs, in a comment at its end;
// each leaves an entry of some kilobytes in that cache, which the driver bounds
// (CUDA_CACHE_MAXSIZE) or does without (CUDA_CACHE_DISABLE=1). Which step brings the kernel to the
// device is the driver's choice (CUDA_MODULE_LOADING).
#pragma once

#include <vector>

#include "cuda/session.hpp"

namespace ftax {

// What is loaded: text for the driver's compiler, or what it made of the text once before.
enum class Image { ptx, cubin };

// Seconds; the lists are in the order of the samples.
struct FirstLaunches {
    double link_s;                       // PTX to cubin; 0 for Image::ptx, which does without
    std::vector<double> load_s;          // cuModuleLoadDataEx
    std::vector<double> get_function_s;  // cuModuleGetFunction
    std::vector<double> first_launch_s;  // the first cuLaunchKernel, the call
    std::vector<double> first_total_s;   // the same until cuStreamSynchronize returned
    std::vector<double> second_total_s;  // of the second launch
};

// `samples` modules, one after the other; their null kernel is launched on the session's stream,
// which is drained before each step.
FirstLaunches first_launch(Session& session, Image image, int samples);

}  // namespace ftax
