// ftax_micro._core.cuda: launches that a loop in Python makes.
#include <memory>

#include "bindings_cuda.hpp"
#include "cuda/launcher.hpp"
#include "fastcall.hpp"

namespace py = pybind11;

namespace ftax {
namespace {

using Unlocked = py::call_guard<py::gil_scoped_release>;
using Held = std::shared_ptr<Launcher>;

constexpr const char* kCapsule = "ftax_micro._core.cuda.Launcher";

// Keeps the lock: a launch that does not block is over sooner than the lock would be given back.
PyObject* launch(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    auto* const launcher = static_cast<Launcher*>(PyCapsule_GetPointer(self, kCapsule));
    if (launcher == nullptr) return nullptr;
    if (!launcher->entered()) {
        PyErr_SetString(PyExc_RuntimeError, "a launch needs the right to measure: use `with`");
        return nullptr;
    }
    if (!store_integers(given, count, launcher->values(), launcher->arguments())) return nullptr;
    const CUresult status = launcher->launch();
    if (status == CUDA_SUCCESS) Py_RETURN_NONE;
    try {
        launcher->check(status);
    } catch (...) {
        return raise(std::current_exception());
    }
    Py_RETURN_NONE;
}

PyMethodDef launch_definition =
    fast_definition("launch", launch, "Launch once, with as many integers as the kernel takes.");

// The capsule is what the function holds on to: a pointer that costs no look-up, and a share.
py::object launch_function(const Held& launcher) {
    py::capsule capsule(launcher.get(), kCapsule, [](PyObject* object) {
        delete static_cast<Held*>(PyCapsule_GetContext(object));
    });
    auto share = std::make_unique<Held>(launcher);
    if (PyCapsule_SetContext(capsule.ptr(), share.get()) != 0) throw py::error_already_set();
    (void)share.release();
    return python_function(launch_definition, capsule.ptr());
}

template <class Handle>
std::uintptr_t address(Handle handle) {
    return reinterpret_cast<std::uintptr_t>(handle);
}

}  // namespace

void register_cuda_launcher(py::module_& module) {
    py::class_<Launcher, Held>(module, "Launcher",
                               "The null kernel, launched from Python inside a `with` statement.")
        .def(py::init<std::shared_ptr<Session>, const LaunchSpec&>(), py::arg("session"),
             py::arg("launch"))
        .def("wait", &Launcher::wait, Unlocked(), "Until the stream is idle.")
        .def_property_readonly("launch", &launch_function,
                               "A function of as many integers as the kernel takes.")
        .def_property_readonly(
            "kernel", [](const Launcher& self) { return address(self.kernel()); },
            "Handle of the function, for cuLaunchKernel.")
        .def_property_readonly(
            "stream", [](const Launcher& self) { return address(self.stream()); },
            "Handle of the stream.")
        .def("__enter__",
             [](Held self) {
                 {
                     const py::gil_scoped_release unlocked;
                     self->enter();
                 }
                 return self;
             })
        .def("__exit__", [](Launcher& self, const py::args&) {
            const py::gil_scoped_release unlocked;
            self.leave();
        });
}

}  // namespace ftax
