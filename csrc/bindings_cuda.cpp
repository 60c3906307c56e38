// ftax_micro._core.cuda: the session and its timed loops. No logic here.
#include "bindings_cuda.hpp"

#include <pybind11/stl.h>

#include <memory>

#include "bindings.hpp"
#include "cuda/call_loops.hpp"
#include "cuda/cleanup.hpp"
#include "cuda/facts.hpp"
#include "cuda/first_launch.hpp"
#include "cuda/graph_loops.hpp"
#include "cuda/held_loops.hpp"
#include "cuda/queue_knee.hpp"
#include "cuda/runtime_kernels.hpp"
#include "cuda/start_loops.hpp"
#include "cuda/stream_loops.hpp"
#include "cuda/thread_loops.hpp"
#include "cuda/wait_loops.hpp"

namespace py = pybind11;
using py::arg;

namespace ftax {
namespace {

using Unlocked = py::call_guard<py::gil_scoped_release>;

void register_driver(py::module_& m) {
    m.def(
        "driver_facts",
        [](const std::string& path) {
            const Driver& driver = open_driver(path);
            return std::make_pair(driver.version(), driver.path());
        },
        Unlocked(), arg("driver_path") = "",
        "CUDA version (1000 * major + 10 * minor) and path of the driver; initialises it.");
    m.def(
        "missing_functions", [](const std::string& path) { return open_driver(path).missing(); },
        Unlocked(), arg("driver_path") = "",
        "Optional driver functions that are not there, each with the CUDA version that has it.");
    m.def(
        "device_count", [](const std::string& path) { return device_count(open_driver(path)); },
        Unlocked(), arg("driver_path") = "", "At least 1; CudaUnavailable where there is none.");
    m.def(
        "device_facts",
        [](int device, const std::string& path) { return device_facts(open_driver(path), device); },
        Unlocked(), arg("device") = 0, arg("driver_path") = "", "Needs no context.");
    m.def("cleanup_errors", &cleanup_errors, "What destructors could not say.");
}

void register_session(py::module_& m) {
    py::class_<Session, std::shared_ptr<Session>>(
        m, "Session", "A device ready to be measured, in its primary context.")
        .def(py::init<int, const std::string&, WaitStyle, double>(), Unlocked(), arg("device") = 0,
             arg("driver_path") = "", arg("wait_style") = WaitStyle::unchanged,
             arg("deadline_s") = 10.0,
             "deadline_s bounds every wait that is not itself a timed driver call.")
        .def("close", &Session::close, Unlocked(), "Gives all back; more calls do nothing.")
        .def("abandon", &Session::abandon, Unlocked(),
             "Never waits for the device again; for a watchdog, from any thread.")
        .def("use_runtime", &Session::use_runtime, Unlocked(), arg("path") = "",
             "Makes launches with LaunchApi.runtime possible; CudaUnsupported where there is no "
             "runtime that will do.")
        .def_property_readonly("abandoned", &Session::abandoned)
        .def_property_readonly(
            "wait_style", [](const Session& session) { return session.context().wait_style(); },
            "The style in force, as the driver tells it.")
        .def_property_readonly("device",
                               [](const Session& session) { return session.context().index(); })
        .def("__enter__", [](std::shared_ptr<Session> self) { return self; })
        .def("__exit__", [](Session& self, const py::args&) {
            const py::gil_scoped_release unlocked;
            self.close();
        });
}

void register_stream_loops(py::module_& m) {
    m.def("submit", &submit, Unlocked(), arg("session"), arg("launch"), arg("burst"),
          arg("samples"), arg("idle") = Idle{},
          "Host seconds of `burst` launches on a drained stream, `samples` times.");
    m.def("launch_sync", &launch_sync, Unlocked(), arg("session"), arg("launch"), arg("samples"),
          arg("idle") = Idle{},
          "Seconds of one launch and one cuStreamSynchronize, `samples` times.");
    m.def("launch_rate", &launch_rate, Unlocked(), arg("session"), arg("launch"), arg("launches"),
          arg("samples"),
          "LaunchRate of `launches` back-to-back launches; seconds for all of them.");
    m.def("to_start", &to_start, Unlocked(), arg("session"), arg("launch"), arg("samples"),
          arg("idle") = Idle{}, "Starts: raw, the device-to-host leg not subtracted.");
    m.def("round_trip", &round_trip, Unlocked(), arg("session"), arg("count"),
          "RoundTrips of `count` reads of a host-mapped word by the device.");
    m.def("spacing", &spacing, Unlocked(), arg("session"), arg("launch"), arg("launches"),
          arg("samples"), arg("hold_deadline_s") = 2.0,
          "Seconds from releasing a held stream of `launches` null kernels to the store of the "
          "one behind them, `samples` times. `launches` must fit the queue.");
    m.def("spin_spacing", &spin_spacing, Unlocked(), arg("session"), arg("cycles"), arg("launches"),
          arg("samples"), arg("hold_deadline_s") = 2.0,
          "The same with kernels that spin `cycles` SM clock cycles each.");
    m.def("sync_wait", &sync_wait, Unlocked(), arg("session"), arg("method"), arg("samples"),
          arg("lead_s") = 200e-6, arg("waiter_core") = -1, arg("releaser_core") = -1,
          arg("hold_deadline_s") = 2.0,
          "Waits: a kernel's release by another thread until the waiting call returned. Cores "
          "below 0: not pinned.");
    m.def("queue_knee", &queue_knee, Unlocked(), arg("session"), arg("launch"), arg("cap") = 8192,
          arg("spin_s") = 0.05,
          "QueueKnee: launches that fit behind a kernel that spins `spin_s`.");
    m.def("submit_threads", &submit_threads, Unlocked(), arg("session"), arg("launch"),
          arg("threads"), arg("burst"), arg("samples"), arg("cores") = std::vector<int>{},
          "ThreadBursts: bursts that all threads start together, each on its own stream.");
}

void register_other_loops(py::module_& m) {
    m.def("call_submit", &call_submit, Unlocked(), arg("session"), arg("call"), arg("burst"),
          arg("samples"), "Host seconds of `burst` calls, `samples` times.");
    m.def("call_end_to_end", &call_end_to_end, Unlocked(), arg("session"), arg("call"),
          arg("samples"), "Seconds of one call and one cuStreamSynchronize, `samples` times.");
    m.def("graph_replay", &graph_replay, Unlocked(), arg("session"), arg("launch"), arg("nodes"),
          arg("width"), arg("samples"),
          "GraphReplays of a graph of null kernels in `width` branches.");
    m.def("graph_create", &graph_create, Unlocked(), arg("session"), arg("launch"), arg("nodes"),
          arg("width"), arg("samples"), "GraphCosts: each step of making such a graph.");
    m.def("first_launch", &first_launch, Unlocked(), arg("session"), arg("image"), arg("samples"),
          "FirstLaunches from modules loaded afresh.");
}

void register_runtime(py::module_& m) {
    m.def(
        "runtime_facts",
        [](const Session& session, const std::string& runtime_path) {
            return runtime_facts(session.driver(), runtime_path);
        },
        Unlocked(), arg("session"), arg("runtime_path") = "",
        "RuntimeFacts; CudaUnsupported where there is no runtime.");
    m.def("loaded_runtime", &loaded_runtime, Unlocked(), arg("driver_version"),
          "File of a runtime for such a driver that this process has loaded; empty: none.");
}

}  // namespace

void register_cuda(py::module_& module) {
    py::module_ cuda = module.def_submodule("cuda", "Timed loops on a CUDA device.");
    register_cuda_exceptions(cuda);
    register_cuda_settings(cuda);
    register_cuda_records(cuda);
    register_driver(cuda);
    register_session(cuda);
    register_stream_loops(cuda);
    register_other_loops(cuda);
    register_cuda_launcher(cuda);
    register_runtime(cuda);
}

}  // namespace ftax
