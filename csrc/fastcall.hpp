// Functions of the extension that Python calls at the least cost, with integers for arguments.
//
// The problem: what a call from Python costs is to be told apart from what a binding library adds
// to it. pybind11 looks for an overload and converts by type, which costs more than the call. So a
// function that stands for the extension's own path is METH_FASTCALL, which hands over a bare
// array, and converts each argument itself, as the launchers of compilers do.
//
// C++ exceptions must not leave such a function: nobody above translates them.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>

namespace ftax {

static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));

using FastFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);

// A definition, which must outlive the functions made of it.
inline PyMethodDef fast_definition(const char* name, FastFunction function, const char* doc) {
    // By way of a third type: what Python calls it as depends on the flags.
    const auto any = reinterpret_cast<void (*)()>(function);
    return {name, reinterpret_cast<PyCFunction>(any), METH_FASTCALL, doc};
}

// A function of Python, to which `self` is handed.
inline pybind11::object python_function(PyMethodDef& definition, PyObject* self = nullptr) {
    PyObject* const function = PyCFunction_New(&definition, self);
    if (function == nullptr) throw pybind11::error_already_set();
    return pybind11::reinterpret_steal<pybind11::object>(function);
}

// Stores `wanted` integers as 64-bit values, by the quickest of Python's own ways to read one;
// false with a Python error set where there are other arguments than these.
inline bool store_integers(PyObject* const* given, Py_ssize_t count, std::int64_t* values,
                           std::size_t wanted) {
    if (count != static_cast<Py_ssize_t>(wanted)) {
        PyErr_Format(PyExc_TypeError, "takes %zu integers, not %zd arguments", wanted, count);
        return false;
    }
    for (std::size_t i = 0; i < wanted; ++i) {
        values[i] = PyLong_AsSsize_t(given[i]);
        if (values[i] == -1 && PyErr_Occurred() != nullptr) return false;
    }
    return true;
}

}  // namespace ftax
