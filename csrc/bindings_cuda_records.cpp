// Exceptions and records of ftax_micro._core.cuda.
#include <pybind11/stl.h>

#include "bindings_cuda.hpp"
#include "cuda/call_loops.hpp"
#include "cuda/cleanup.hpp"
#include "cuda/facts.hpp"
#include "cuda/first_launch.hpp"
#include "cuda/graph_loops.hpp"
#include "cuda/queue_knee.hpp"
#include "cuda/runtime_kernels.hpp"
#include "cuda/start_loops.hpp"
#include "cuda/stream_loops.hpp"
#include "cuda/thread_loops.hpp"
#include "cuda/wait_loops.hpp"

namespace py = pybind11;

namespace ftax {
namespace {

// Owned by the module; extension modules live as long as the interpreter.
PyObject* cuda_error = nullptr;
PyObject* cuda_unavailable = nullptr;
PyObject* cuda_unsupported = nullptr;
PyObject* cuda_missing_function = nullptr;
PyObject* cuda_timeout = nullptr;
PyObject* cuda_busy = nullptr;

PyObject* add_exception(py::module_& module, const char* name, const char* doc, PyObject* base) {
    const std::string full = "ftax_micro._core.cuda." + std::string(name);
    PyObject* const type = PyErr_NewExceptionWithDoc(full.c_str(), doc, base, nullptr);
    if (type == nullptr) throw py::error_already_set();
    module.attr(name) = py::reinterpret_borrow<py::object>(type);
    return type;
}

py::object instance(PyObject* type, const char* text) {
    return py::reinterpret_borrow<py::object>(type)(text);
}

void translate(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const CudaError& error) {
        const py::object raised = instance(cuda_error, error.what());
        raised.attr("code") = error.code();
        raised.attr("name") = error.name();
        raised.attr("function") = error.function();
        PyErr_SetObject(cuda_error, raised.ptr());
    } catch (const CudaMissingFunction& error) {
        const py::object raised = instance(cuda_missing_function, error.what());
        raised.attr("function") = error.function();
        raised.attr("version") = error.version();
        PyErr_SetObject(cuda_missing_function, raised.ptr());
    } catch (const CudaUnsupported& error) {
        PyErr_SetString(cuda_unsupported, error.what());
    } catch (const CudaUnavailable& error) {
        PyErr_SetString(cuda_unavailable, error.what());
    } catch (const CudaTimeout& error) {
        PyErr_SetString(cuda_timeout, error.what());
    } catch (const CudaBusy& error) {
        PyErr_SetString(cuda_busy, error.what());
    }
}

}  // namespace

PyObject* raise(const std::exception_ptr& thrown) noexcept {
    try {
        translate(thrown);
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

void register_cuda_exceptions(py::module_& module) {
    PyObject* const base = PyExc_RuntimeError;
    cuda_error = add_exception(
        module, "CudaError",
        "A driver or runtime call failed: code, name (CUDA_ERROR_...), function.", base);
    cuda_unavailable = add_exception(module, "CudaUnavailable",
                                     "No CUDA device can be used here; the text says why.", base);
    cuda_unsupported = add_exception(
        module, "CudaUnsupported", "This device, driver or runtime can't do this one thing.", base);
    cuda_missing_function =
        add_exception(module, "CudaMissingFunction",
                      "A library lacks an entry: function, version (the CUDA version that has it).",
                      cuda_unsupported);
    cuda_timeout = add_exception(module, "CudaTimeout",
                                 "The device or the host missed a deadline of ours.", base);
    cuda_busy = add_exception(module, "CudaBusy", "Another thread is measuring.", base);
    py::register_local_exception_translator(&translate);
}

void register_cuda_settings(py::module_& module) {
    py::enum_<LaunchApi>(module, "LaunchApi", "The driver call that launches.")
        .value("kernel", LaunchApi::kernel, "cuLaunchKernel")
        .value("kernel_ex", LaunchApi::kernel_ex, "cuLaunchKernelEx, CUDA 11.6")
        .value("cooperative", LaunchApi::cooperative, "cuLaunchCooperativeKernel")
        .value("dependent", LaunchApi::dependent,
               "cuLaunchKernelEx with programmatic stream serialisation, CUDA 11.8 and sm_90")
        .value("runtime", LaunchApi::runtime, "cudaLaunchKernel, after Session.use_runtime");
    py::enum_<StreamKind>(module, "StreamKind", "The stream that is launched into.")
        .value("own", StreamKind::own, "The session's, which does not wait for the legacy one.")
        .value("legacy", StreamKind::legacy, "The legacy default stream.")
        .value("per_thread", StreamKind::per_thread, "The calling thread's default stream.");
    py::enum_<WaitStyle>(module, "WaitStyle", "How cuStreamSynchronize waits.")
        .value("unchanged", WaitStyle::unchanged, "What the context has.")
        .value("automatic", WaitStyle::automatic)
        .value("spin", WaitStyle::spin)
        .value("yield_", WaitStyle::yield)
        .value("blocking", WaitStyle::blocking);
    py::enum_<WaitMethod>(module, "WaitMethod", "The call that a thread waits in.")
        .value("stream", WaitMethod::stream, "cuStreamSynchronize, in the session's style")
        .value("event_query", WaitMethod::event_query, "cuEventQuery, polled");
    py::enum_<Call>(module, "Call", "A driver call other than a launch, on 4 bytes.")
        .value("memcpy_h2d", Call::memcpy_h2d)
        .value("memcpy_d2h", Call::memcpy_d2h)
        .value("memcpy_h2d_pageable", Call::memcpy_h2d_pageable)
        .value("memcpy_d2h_pageable", Call::memcpy_d2h_pageable)
        .value("memset", Call::memset)
        .value("event_record", Call::event_record)
        .value("stream_sync", Call::stream_sync)
        .value("stream_query", Call::stream_query);
    py::enum_<Image>(module, "Image", "What a module is loaded from.")
        .value("ptx", Image::ptx, "Compiled by the driver, or found in its cache.")
        .value("cubin", Image::cubin, "Compiled once before.");
    py::class_<LaunchSpec>(module, "LaunchSpec", "How the null kernel is launched.")
        .def(py::init<LaunchApi, int, unsigned int, unsigned int, StreamKind, int>(),
             py::arg("api") = LaunchApi::kernel, py::arg("argument_bytes") = 0, py::arg("grid") = 1,
             py::arg("block") = 1, py::arg("stream") = StreamKind::own, py::arg("arguments") = 0,
             "argument_bytes of one structure: 0, 8, 64, 256, 1024 or 4096; grid in blocks, block "
             "in threads; arguments of 8 bytes each instead: 0, 5 or 19.")
        .def_readonly("api", &LaunchSpec::api)
        .def_readonly("argument_bytes", &LaunchSpec::argument_bytes)
        .def_readonly("grid", &LaunchSpec::grid)
        .def_readonly("block", &LaunchSpec::block)
        .def_readonly("stream", &LaunchSpec::stream)
        .def_readonly("arguments", &LaunchSpec::arguments);
    py::class_<Idle>(module, "Idle", "What the host does just before a timed launch.")
        .def(py::init<double, bool>(), py::arg("seconds") = 0.0, py::arg("sleeping") = false)
        .def_readonly("seconds", &Idle::seconds)
        .def_readonly("sleeping", &Idle::sleeping);
}

void register_cuda_records(py::module_& module) {
    py::class_<DeviceFacts>(module, "DeviceFacts", "What the driver says of one device.")
        .def_readonly("index", &DeviceFacts::index)
        .def_readonly("name", &DeviceFacts::name)
        .def_readonly("uuid", &DeviceFacts::uuid, "Without its GPU- or MIG- prefix.")
        .def_readonly("pci_bus_id", &DeviceFacts::pci_bus_id)
        .def_readonly("compute_capability_major", &DeviceFacts::compute_capability_major)
        .def_readonly("compute_capability_minor", &DeviceFacts::compute_capability_minor)
        .def_readonly("memory_bytes", &DeviceFacts::memory_bytes)
        .def_readonly("compute_mode", &DeviceFacts::compute_mode,
                      "default, prohibited or exclusive_process.")
        .def_readonly("attributes", &DeviceFacts::attributes,
                      "Device attributes by the driver's names in lower case; clock rates in kHz.")
        .def_readonly("driver_version", &DeviceFacts::driver_version,
                      "CUDA version of the driver, 1000 * major + 10 * minor.")
        .def_readonly("driver_path", &DeviceFacts::driver_path);

    py::class_<LaunchRate>(module, "LaunchRate")
        .def_readonly("submit_s", &LaunchRate::submit_s, "Until the last launch call returned.")
        .def_readonly("total_s", &LaunchRate::total_s, "Until the wait returned.");
    py::class_<Starts>(module, "Starts")
        .def_readonly("seconds", &Starts::seconds, "Call begins until the host sees the store.")
        .def_readonly("censored", &Starts::censored, "The word was set when the call returned.");
    py::class_<RoundTrips>(module, "RoundTrips")
        .def_readonly("cycles", &RoundTrips::cycles, "Of each read, in SM clock cycles.")
        .def_readonly("total_cycles", &RoundTrips::total_cycles, "Of the loop over all reads.")
        .def_readonly("total_ns", &RoundTrips::total_ns, "The same on the device's ns clock.");
    py::class_<Waits>(module, "Waits")
        .def_readonly("seconds", &Waits::seconds, "Host's store until the waiting call returned.")
        .def_readonly("waiter_pinned", &Waits::waiter_pinned)
        .def_readonly("releaser_pinned", &Waits::releaser_pinned);
    py::class_<QueueKnee>(module, "QueueKnee")
        .def_readonly("launches", &QueueKnee::launches, "That fitted; None if no call blocked.")
        .def_readonly("calls_s", &QueueKnee::calls_s, "Each launch call, a clock read included.");
    py::class_<ThreadBursts>(module, "ThreadBursts")
        .def_readonly("seconds", &ThreadBursts::seconds, "[thread][sample], one burst each.")
        .def_readonly("pinned", &ThreadBursts::pinned, "[thread]: stayed on its core.");
    py::class_<GraphReplays>(module, "GraphReplays")
        .def_readonly("launch_s", &GraphReplays::launch_s, "The cuGraphLaunch call.")
        .def_readonly("total_s", &GraphReplays::total_s, "Until the wait returned.");
    py::class_<GraphCosts>(module, "GraphCosts")
        .def_readonly("capture_s", &GraphCosts::capture_s)
        .def_readonly("instantiate_s", &GraphCosts::instantiate_s)
        .def_readonly("upload_s", &GraphCosts::upload_s, "The call and waiting for it.")
        .def_readonly("update_s", &GraphCosts::update_s);
    py::class_<FirstLaunches>(module, "FirstLaunches")
        .def_readonly("link_s", &FirstLaunches::link_s, "PTX to cubin, once; 0 for image ptx.")
        .def_readonly("load_s", &FirstLaunches::load_s, "cuModuleLoadDataEx.")
        .def_readonly("get_function_s", &FirstLaunches::get_function_s)
        .def_readonly("first_launch_s", &FirstLaunches::first_launch_s, "The launch call.")
        .def_readonly("first_total_s", &FirstLaunches::first_total_s, "Until the wait returned.")
        .def_readonly("second_total_s", &FirstLaunches::second_total_s,
                      "The same for a second launch.");
    py::class_<RuntimeFacts>(module, "RuntimeFacts")
        .def_readonly("version", &RuntimeFacts::version, "1000 * major + 10 * minor.")
        .def_readonly("path", &RuntimeFacts::path, "Of the file.");
    py::class_<CleanupErrors>(module, "CleanupErrors")
        .def_readonly("count", &CleanupErrors::count, "Since the process started.")
        .def_readonly("last", &CleanupErrors::last);
}

}  // namespace ftax
