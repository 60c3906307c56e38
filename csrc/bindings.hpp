// One registration function per part of the extension.
#pragma once

#include <pybind11/pybind11.h>

namespace ftax {

void register_host(pybind11::module_& module);
void register_host_calls(pybind11::module_& host);
void register_cuda(pybind11::module_& module);
void register_traces(pybind11::module_& module);

}  // namespace ftax
