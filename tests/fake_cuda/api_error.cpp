// Error names and texts.
#include "call.hpp"

namespace fake {
namespace {

struct ErrorText {
    CUresult code;
    const char* name;
    const char* text;
};

#define ERROR(name, text) {CUDA_##name, "CUDA_" #name, text}
const ErrorText kErrors[] = {
    ERROR(SUCCESS, "no error"),
    ERROR(ERROR_INVALID_VALUE, "invalid argument"),
    ERROR(ERROR_OUT_OF_MEMORY, "out of memory"),
    ERROR(ERROR_NOT_INITIALIZED, "initialization error"),
    ERROR(ERROR_DEINITIALIZED, "driver shutting down"),
    ERROR(ERROR_STUB_LIBRARY, "the library is a stub"),
    ERROR(ERROR_DEVICE_UNAVAILABLE, "the device is busy or unavailable"),
    ERROR(ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    ERROR(ERROR_INVALID_DEVICE, "invalid device ordinal"),
    ERROR(ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    ERROR(ERROR_INVALID_CONTEXT, "invalid device context"),
    ERROR(ERROR_NO_BINARY_FOR_GPU, "no kernel image for this device"),
    ERROR(ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error"),
    ERROR(ERROR_INVALID_PTX, "PTX could not be compiled"),
    ERROR(ERROR_JIT_COMPILER_NOT_FOUND, "the PTX compiler was not found"),
    ERROR(ERROR_UNSUPPORTED_PTX_VERSION, "the PTX is newer than the driver"),
    ERROR(ERROR_OPERATING_SYSTEM, "a call of the operating system failed"),
    ERROR(ERROR_INVALID_HANDLE, "invalid resource handle"),
    ERROR(ERROR_NOT_FOUND, "named symbol not found"),
    ERROR(ERROR_NOT_READY, "device not ready"),
    ERROR(ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    ERROR(ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    ERROR(ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    ERROR(ERROR_PRIMARY_CONTEXT_ACTIVE, "the primary context is active"),
    ERROR(ERROR_CONTEXT_IS_DESTROYED, "the context is destroyed"),
    ERROR(ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    ERROR(ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    ERROR(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    ERROR(ERROR_NOT_PERMITTED, "operation not permitted"),
    ERROR(ERROR_NOT_SUPPORTED, "operation not supported"),
    ERROR(ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    ERROR(ERROR_SYSTEM_DRIVER_MISMATCH, "driver and display driver versions differ"),
    ERROR(ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    ERROR(ERROR_STREAM_CAPTURE_INVALIDATED, "the capture failed because of an earlier error"),
    ERROR(ERROR_STREAM_CAPTURE_MERGE, "the call would merge two captures"),
    ERROR(ERROR_STREAM_CAPTURE_UNMATCHED, "the capture was not begun in this stream"),
    ERROR(ERROR_STREAM_CAPTURE_UNJOINED, "a captured stream was not joined"),
    ERROR(ERROR_CAPTURED_EVENT, "operation not permitted on a captured event"),
    ERROR(ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture was begun in another thread"),
    ERROR(ERROR_TIMEOUT, "wait operation timed out"),
    ERROR(ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph update violates its constraints"),
    ERROR(ERROR_UNKNOWN, "unknown error"),
};
#undef ERROR

CUresult look_up(CUresult code, const char** out, const char* ErrorText::* field) {
    for (const ErrorText& error : kErrors) {
        if (error.code == code) {
            *out = error.*field;
            return CUDA_SUCCESS;
        }
    }
    *out = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult cuGetErrorName(CUresult error, const char** name) {
    return api("cuGetErrorName", kNothing,
               [&](Call&) { return look_up(error, name, &ErrorText::name); });
}

CUresult cuGetErrorString(CUresult error, const char** text) {
    return api("cuGetErrorString", kNothing,
               [&](Call&) { return look_up(error, text, &ErrorText::text); });
}

}  // extern "C"
