"""What an export depends on, as one hash: the same hash, the same exported model.

Weights and inputs go in by their bytes, structure and settings as pickle sees them, code by the
version of the package it is from, and by the contents of its files where it is not an installed
package's: then of every such file that is loaded, since a forward may call into any of them.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import pickle
import sys
import types
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ftax_micro
from ftax_micro.errors import FtaxError
from ftax_micro.frameworks.preparation import first_line

if TYPE_CHECKING:
    import torch

    from ftax_micro.models.workload import Workload

# Raised whenever the same workload is exported in another way than before.
FORMAT = 1
_DIGEST_BYTES = 16
_EXPORTING_PACKAGES = ("torch", "onnx", "onnxscript", "onnx-ir")
_INSTALLED = {"site-packages", "dist-packages"}
_OWN = ftax_micro.__name__


class UnidentifiableError(FtaxError):
    """A model of which nothing tells whether another is the same one."""


def digest_of(data: Any) -> str:
    """The hash of `data` (bytes, or whatever has a buffer) as text."""
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def identify(workload: Workload) -> str:
    """The hash of everything that an export of `workload` depends on.

    Errors: `UnidentifiableError` for what has no content to be compared by: classes made inside
    functions, objects that cannot be pickled, code typed into a prompt.
    """
    sink = _Sink()
    contents = _Contents(sink)
    try:
        contents.dump([workload.module, list(workload.inputs.items())])
    except FtaxError:
        raise
    except Exception as error:  # pickling may raise anything
        raise UnidentifiableError(first_line(error)) from error
    for line in (f"format {FORMAT}", *_versions(), *sorted(_code(contents.modules))):
        sink.write(f"{line}\n".encode())
    return sink.hash.hexdigest()


class _Sink:
    """A file that keeps nothing but the hash of what was written to it."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    def write(self, data: bytes) -> None:
        self.hash.update(data)


class _Contents(pickle.Pickler):
    """Pickles to be hashed, not to be read: tensors as their digests, modules as what they hold.

    `modules` are the names of the Python modules with the classes and functions that were met.
    """

    def __init__(self, sink: Any) -> None:
        super().__init__(sink, protocol=4)
        self.modules: set[str] = set()

    def persistent_id(self, value: Any) -> tuple[Any, ...] | bytes | None:
        import torch

        if type(value) is str:  # else equal ones that are the same object would count as a repeat
            return value.encode("utf-8", "surrogatepass")
        if isinstance(value, torch.Tensor):
            return ("tensor", *_tensor(value))
        if isinstance(value, (set, frozenset)):  # their order differs from process to process
            return ("set", *sorted(map(repr, value)))
        if isinstance(value, weakref.ref):  # to what the module holds anyway
            return ("weak reference",)
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            self.modules.add(value.__module__ or "")
        return None

    def reducer_override(self, value: Any) -> Any:
        import torch

        if isinstance(value, torch.nn.Module):
            return self._module(value)
        if isinstance(value, types.FunctionType) and "<" in value.__qualname__:
            return _function(value)
        return NotImplemented

    def _module(self, module: torch.nn.Module) -> Any:
        """By what it holds, not by rules of its own: those of parametrised ones refuse."""
        kind = type(module)
        if "<locals>" in kind.__qualname__:
            raise UnidentifiableError(f"{kind.__qualname__} was made inside a function")
        self.modules.update(each.__module__ for each in kind.__mro__)
        self.modules.add(kind.forward.__module__)
        # Hooks are numbered in the order in which the whole process made them.
        state = {
            name: list(value.values()) if "_hooks" in name and isinstance(value, dict) else value
            for name, value in vars(module).items()
        }
        return _same, (f"{kind.__module__}.{kind.__qualname__}",), state


def _function(function: types.FunctionType) -> Any:
    """One made inside another or without a name: by its place in a file, and what it closes over.

    The file itself is looked at with all others.
    """
    code, cells = function.__code__, function.__closure__ or ()
    place = f"{function.__module__}.{function.__qualname__} {code.co_firstlineno}"
    bound = [each.cell_contents for each in cells]
    state = (function.__defaults__, function.__kwdefaults__, bound)
    return _same, (f"{place} {code.co_code!r} {code.co_names}",), {"state": state}


def _same(name: str) -> str:
    """Stands in pickles for the class of a module; they are never read."""
    return name


def _tensor(value: torch.Tensor) -> tuple[str, ...]:
    import torch

    here = value.detach().to("cpu").resolve_conj().resolve_neg().contiguous()
    content = digest_of(here.reshape(-1).view(torch.uint8).numpy())
    return (str(value.dtype), value.device.type, str(tuple(value.shape)), content)


def _versions() -> list[str]:
    python = ".".join(map(str, sys.version_info[:3]))
    return [f"python {python}", *(f"{each} {_version(each)}" for each in _EXPORTING_PACKAGES)]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _code(modules: set[str]) -> set[str]:
    """A line for each package or file with code of `modules`."""
    lines: set[str] = set()
    strangers = False
    for name in modules:
        top = name.partition(".")[0]
        if not name or top in sys.stdlib_module_names:
            continue
        version = getattr(sys.modules.get(top), "__version__", None)
        if top != _OWN and version and _installed(name):
            lines.add(f"{top} {version}")
        else:
            strangers = strangers or top != _OWN
            lines.add(_file_line(name))
    if strangers:
        for name in list(sys.modules):
            top = name.partition(".")[0]
            known = top == _OWN or top in sys.stdlib_module_names
            if _file(name) and not known and not _installed(name):
                lines.add(_file_line(name))
    return lines


def _file(module: str) -> Path | None:
    """Where `module` was read; None for what a package made in memory, in PyTorch's own words
    ``<_remote_module_non_scriptable>.py``.
    """
    path = getattr(sys.modules.get(module), "__file__", None)
    return Path(path) if path and not path.startswith("<") else None


def _installed(module: str) -> bool:
    """Whether `module` is a package's that has a version, rather than somebody's own file."""
    paths = (_file(module), _file(module.partition(".")[0]))  # some submodules are made up
    return any(path and not _INSTALLED.isdisjoint(path.parts) for path in paths)


def _file_line(module: str) -> str:
    path = _file(module)
    if path is None:
        raise UnidentifiableError(f"{module} has no file")
    try:
        return f"{module} {digest_of(path.read_bytes())}"
    except OSError as error:
        raise UnidentifiableError(f"{module} cannot be read: {error}") from error
