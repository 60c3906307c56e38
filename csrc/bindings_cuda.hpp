// The parts of the CUDA half's bindings.
#pragma once

#include <pybind11/pybind11.h>

namespace ftax {

void register_cuda_exceptions(pybind11::module_& module);
void register_cuda_settings(pybind11::module_& module);
void register_cuda_records(pybind11::module_& module);

}  // namespace ftax
