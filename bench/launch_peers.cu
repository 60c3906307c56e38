// Launches of a null kernel as a plain CUDA C++ program makes them: <<<>>> on a stream of its own, the
// launch's error asked for once a burst. launch_peers.py compiles this into a shared library, so that
// its bursts can alternate with everyone else's:
//   nvcc -O3 -std=c++17 -Xcompiler -fPIC -shared launch_peers.cu -o launch_peers.so
#include <chrono>
#include <cstdint>

__global__ void null_kernel() {}

static cudaStream_t stream;

extern "C" {

// A cudaError, 0 for success.
int plain_open(int device) {
    cudaError_t status = cudaSetDevice(device);
    if (status == cudaSuccess) {
        status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    }
    return status;
}

// Elapsed nanoseconds of `count` launches into the drained stream; not above 0: minus a cudaError.
std::int64_t plain_burst(std::int64_t count) {
    cudaError_t status = cudaStreamSynchronize(stream);
    if (status != cudaSuccess) return -status;
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < count; ++i) null_kernel<<<1, 1, 0, stream>>>();
    const auto end = std::chrono::steady_clock::now();
    status = cudaGetLastError();
    if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
    if (status != cudaSuccess) return -status;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}

int plain_close() { return cudaStreamDestroy(stream); }

}  // extern "C"
