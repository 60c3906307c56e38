// ftax_micro._core: registers its parts and says which build it is. Private; the Python package is
// the API.
#include "bindings.hpp"

PYBIND11_MODULE(_core, module) {
    module.doc() = "Timed loops of ftax_micro; private.";
    module.attr("version") = FTAX_MICRO_VERSION;
    module.attr("source_digest") = FTAX_MICRO_SOURCE_DIGEST;
    ftax::register_host(module);
    ftax::register_traces(module);
#ifdef FTAX_MICRO_WITH_CUDA
    module.attr("has_cuda") = true;
    ftax::register_cuda(module);
#else
    module.attr("has_cuda") = false;
#endif
}
