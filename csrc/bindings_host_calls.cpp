// The ways from Python into an empty function. No logic here.
#include <array>
#include <utility>

#include "bindings.hpp"
#include "fastcall.hpp"
#include "host_calls.hpp"

namespace py = pybind11;

namespace ftax {

namespace {

// The cheapest call Python can make: no argument parsing at all.
PyObject* empty_noargs(PyObject*, PyObject*) { Py_RETURN_NONE; }
PyMethodDef empty_noargs_definition = {"empty_noargs", empty_noargs, METH_NOARGS,
                                       "Return None: a METH_NOARGS function with an empty body."};

template <class... Values, std::size_t... Index>
void call_with(void (*function)(Values...), const Value* values, std::index_sequence<Index...>) {
    (void)values;  // not read where there are none
    function(values[Index]...);
}

template <class... Values>
PyObject* convert_and_call(void (*function)(Values...), PyObject* const* given, Py_ssize_t count) {
    std::array<Value, sizeof...(Values) + 1> values;  // none would be an array of no size
    if (!store_integers(given, count, values.data(), sizeof...(Values))) return nullptr;
    call_with(function, values.data(), std::index_sequence_for<Values...>());
    Py_RETURN_NONE;
}

// `Empty` is read through volatile, as in call_direct.
template <auto Empty>
PyObject* call_empty(PyObject*, PyObject* const* given, Py_ssize_t count) {
    static volatile auto opaque = Empty;
    return convert_and_call(static_cast<decltype(Empty)>(opaque), given, count);
}

PyMethodDef call_0_definition =
    fast_definition("call_0", call_empty<&empty_function>, "Call an empty C function.");
PyMethodDef call_5_definition =
    fast_definition("call_5", call_empty<&empty_function_5>,
                    "Convert 5 integers to 64 bits and call an empty C function with them.");
PyMethodDef call_19_definition =
    fast_definition("call_19", call_empty<&empty_function_19>,
                    "Convert 19 integers to 64 bits and call an empty C function with them.");

}  // namespace

void register_host_calls(py::module_& host) {
    host.attr("empty_noargs") = python_function(empty_noargs_definition);
    for (PyMethodDef* const each : {&call_0_definition, &call_5_definition, &call_19_definition}) {
        host.attr(each->ml_name) = python_function(*each);
    }
    host.def("empty_pybind11", &empty_function,
             "Return None: a pybind11 function with an empty body.");
    host.def("call_direct", &call_direct, py::arg("loops"),
             py::call_guard<py::gil_scoped_release>(),
             "Elapsed seconds of `loops` calls of an empty function through an opaque pointer.");
    host.def("empty_function_address", &empty_function_address, py::arg("arguments"),
             "Address of an empty C function of 0, 5 or 19 arguments of 64 bits, for ctypes.");
}

}  // namespace ftax
