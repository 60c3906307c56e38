// Registers the reading of traces. No logic here.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "event_scan.hpp"

namespace py = pybind11;

namespace ftax {

namespace {

// A column as an array over the table's own memory, which it keeps alive.
template <class Number>
py::cpp_function column(std::vector<Number> EventTable::* member) {
    return [member](const py::object& table) {
        const std::vector<Number>& values = table.cast<const EventTable&>().*member;
        return py::array_t<Number>(static_cast<py::ssize_t>(values.size()), values.data(), table);
    };
}

template <class Owner>
py::cpp_function text(std::string Owner::* member) {
    return [member](const Owner& owner) { return py::bytes(owner.*member); };
}

std::optional<EventBatch> scan_buffer(const py::buffer& text) {
    const py::buffer_info info = text.request();
    const auto bytes = static_cast<std::size_t>(info.size * info.itemsize);
    const py::gil_scoped_release release;
    return scan_events({static_cast<const char*>(info.ptr), bytes});
}

}  // namespace

void register_traces(py::module_& module) {
    py::module_ traces = module.def_submodule("traces", "Reading of profiler traces.");
    py::class_<EventTable>(traces, "EventTable", "Complete events of one category, in columns.")
        .def_property_readonly("category", text(&EventTable::category))
        .def_readonly("events", &EventTable::events)
        .def_readonly("fractions", &EventTable::fractions)
        .def_property_readonly("names", text(&EventTable::names))
        .def_property_readonly("rows", text(&EventTable::rows))
        .def_property_readonly("start_ns", column(&EventTable::start_ns))
        .def_property_readonly("duration_ns", column(&EventTable::duration_ns))
        .def_property_readonly("name", column(&EventTable::name))
        .def_property_readonly("row", column(&EventTable::row))
        .def_property_readonly("correlation", column(&EventTable::correlation))
        .def_property_readonly("external", column(&EventTable::external))
        .def_property_readonly("device", column(&EventTable::device))
        .def_property_readonly("stream", column(&EventTable::stream));
    py::class_<OtherEvents>(traces, "OtherEvents", "Events of another phase, counted.")
        .def_property_readonly("phase", text(&OtherEvents::phase))
        .def_property_readonly("category", text(&OtherEvents::category))
        .def_readonly("events", &OtherEvents::events);
    py::class_<EventBatch>(traces, "EventBatch", "The events of one list.")
        .def_readonly("events", &EventBatch::events)
        .def_readonly("tables", &EventBatch::tables)
        .def_readonly("others", &EventBatch::others);
    traces.def("scan_events", &scan_buffer, py::arg("text"),
               "Columns of the JSON text of some events; None where it is not plain.");
}

}  // namespace ftax
