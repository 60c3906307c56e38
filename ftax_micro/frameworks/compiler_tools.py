"""torch.compile: what it needs from the machine, what its compilers say, and what it leaves."""

from __future__ import annotations

import contextlib
import os
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import PreparationError, first_line, preparing

# What Triton generates code for begins with Volta.
_LEAST_CAPABILITY = (7, 0)
_CAUSES = ("fatal error:", "error:", "Error:")


def check_compiler(device: str) -> None:
    """Errors: `Skip` with what torch.compile lacks to make kernels for `device` here;
    `PreparationError` where it has no place to write them.
    """
    import torch

    check_cache()
    try:
        torch._dynamo.eval_frame.check_if_dynamo_supported()
    except RuntimeError as error:
        raise Skip(f"torch.compile does not work here: {error}") from error
    kind = torch.device(device).type
    _check_python_headers()
    if kind == "cpu":
        _check_cpp_compiler()
    elif kind == "cuda":
        _check_triton(torch.cuda.get_device_capability(device))


def check_cache() -> None:
    """Errors: `PreparationError` where torch.compile has no place for what it makes, which it wants
    as soon as it is imported.
    """
    try:
        # The import makes the folder; it may have been made by somebody else, long ago.
        from torch._inductor.runtime.cache_dir_utils import cache_dir

        place = cache_dir()
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(f"no write access to {place}")
    except OSError as error:
        raise PreparationError(
            f"torch.compile cannot write its cache: {error}; TORCHINDUCTOR_CACHE_DIR names a place"
        ) from error


def _check_python_headers() -> None:
    places = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    if not any((Path(place) / "Python.h").exists() for place in places if place):
        raise Skip(
            "what torch.compile generates includes Python.h, which is missing: "
            "install Python's development files"
        )


def _check_cpp_compiler() -> None:
    from torch._inductor import config, cpp_builder, exc

    try:
        cpp_builder.get_cpp_compiler()
    except exc.InvalidCxxCompiler as error:
        tried = [str(each) for each in _listed(config.cpp.cxx) if each]
        raise Skip(
            f"torch.compile on the cpu needs a C++ compiler, and {' or '.join(tried)} does not "
            "work: install g++, or name one in CXX"
        ) from error


def _check_triton(capability: tuple[int, int]) -> None:
    from torch.utils import _triton

    if not _triton.has_triton_package():
        raise Skip("torch.compile on CUDA needs Triton, which is not installed: pip install triton")
    if capability < _LEAST_CAPABILITY:
        own = ".".join(map(str, capability))
        raise Skip(f"Triton needs compute capability 7.0 or later, and this device has {own}")
    # Triton builds the launcher of each kernel signature with the machine's C compiler.
    if not os.environ.get("CC") and not any(map(shutil.which, ("gcc", "clang", "cc"))):
        raise Skip("torch.compile on CUDA needs a C compiler for Triton's launchers: install gcc")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


@contextlib.contextmanager
def compile_errors() -> Iterator[None]:
    """A compiler's message is a page; the line that says what is wrong is told."""
    with preparing("torch.compile"):
        try:
            yield
        except Exception as error:
            line = cause(error)
            if line is None:
                raise
            raise PreparationError(f"torch.compile failed: {line}") from error


def cause(error: Exception) -> str | None:
    """The line of a compiler's output in `error` that says what is wrong; None without one."""
    first, *others = str(error).splitlines() or [""]
    for word in _CAUSES:
        for line in others:
            if word in line and not line.lstrip().startswith(("File ", "^", "Set ")):
                return first_line(RuntimeError(f"{first.strip()}: {line.strip()}"))
    return None


@contextlib.contextmanager
def ended_workers() -> Iterator[None]:
    """Processes that compile are gone when this ends: idle ones wake up now and then."""
    try:
        yield
    finally:
        from torch._inductor import async_compile

        with contextlib.suppress(Exception):
            async_compile.shutdown_compile_workers()
