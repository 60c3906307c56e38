// Registers the host half of the extension. No logic here.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "affinity.hpp"
#include "bindings.hpp"
#include "clock.hpp"
#include "core_speed.hpp"
#include "host_handoff.hpp"
#include "host_team.hpp"

namespace py = pybind11;

namespace ftax {

namespace {

void register_handoff(py::module_& host) {
    using Release = py::call_guard<py::gil_scoped_release>;
    py::enum_<Wait>(host, "Wait", "How a thread waits.")
        .value("spin", Wait::spin)
        .value("yield_", Wait::yield)
        .value("block", Wait::block);
    py::class_<RateSample>(host, "RateSample", "Back-to-back hand-overs; seconds.")
        .def_readonly("submit_s", &RateSample::submit_s)
        .def_readonly("total_s", &RateSample::total_s)
        .def_readonly("stalls", &RateSample::stalls);
    py::class_<PairGlance>(host, "PairGlance", "Two cores at one moment; seconds.")
        .def_readonly("host_work_s", &PairGlance::host_work_s)
        .def_readonly("worker_work_s", &PairGlance::worker_work_s)
        .def_readonly("hop_s", &PairGlance::hop_s);
    py::class_<HandOff>(host, "HandOff",
                        "A worker thread behind a bounded ring; all times seconds.")
        .def(py::init<int, int, Wait, std::uint32_t>(), py::arg("host_core"),
             py::arg("worker_core"), py::arg("wait"), py::arg("capacity"), Release())
        .def_property_readonly("pinned", &HandOff::pinned)
        .def("submit_burst", &HandOff::submit_burst, py::arg("count"), Release())
        .def("submit_shots", &HandOff::submit_shots, py::arg("shots"), py::arg("idle_ns"),
             Release())
        .def("to_start", &HandOff::to_start, py::arg("shots"), py::arg("idle_ns"), Release())
        .def("spacing_burst", &HandOff::spacing_burst, py::arg("count"), Release())
        .def("sync", &HandOff::sync, py::arg("shots"), py::arg("style"), py::arg("waited_ns"),
             Release())
        .def("launch_sync", &HandOff::launch_sync, py::arg("shots"), py::arg("idle_ns"), Release())
        .def("launch_rate", &HandOff::launch_rate, py::arg("count"), Release())
        .def("queue_knee", &HandOff::queue_knee, py::arg("hold_ns"), Release())
        .def("glance", &HandOff::glance, Release());
    py::class_<Team>(host, "Team", "Persistent threads for empty parallel regions.")
        .def(py::init<const std::vector<int>&, Wait>(), py::arg("cores"), py::arg("wait"),
             Release())
        .def("parallel_region", &Team::parallel_region, py::arg("loops"), Release());
}

}  // namespace

void register_host(py::module_& module) {
    py::module_ host = module.def_submodule("host", "The host's own launch anatomy.");
    py::class_<ClockFacts>(host, "ClockFacts", "The measuring clock, measured; seconds.")
        .def_readonly("tick_s", &ClockFacts::tick_s)
        .def_readonly("read_cost_s", &ClockFacts::read_cost_s);
    host.def("measure_clock", &measure_clock, py::arg("rounds") = 200,
             py::call_guard<py::gil_scoped_release>());
    host.def("fixed_work", &fixed_work, py::arg("cores"), py::call_guard<py::gil_scoped_release>(),
             "Seconds per round of a fixed piece of work on these cores at the same time.");
    host.def("glance", &glance, "The same where the calling thread runs, by a glance.");
    host.def("allowed_cores", &allowed_cores, "Cores this process may use; empty if unknown.");
    register_host_calls(host);
    register_handoff(host);
}

}  // namespace ftax
