// The parts of the CUDA half's bindings.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>

namespace ftax {

// For functions that Python calls without pybind11: sets the Python error, returns null.
PyObject* raise(const std::exception_ptr& thrown) noexcept;

void register_cuda_exceptions(pybind11::module_& module);
void register_cuda_settings(pybind11::module_& module);
void register_cuda_records(pybind11::module_& module);
void register_cuda_launcher(pybind11::module_& module);

}  // namespace ftax
