"""The package a rung stands on, or a sentence that says what is wrong with it."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

from ftax_micro.errors import FtaxError, MissingPackageError, Skip


class BrokenPackageError(FtaxError):
    """A package that is installed and cannot be imported."""


def require(name: str, extra: str, at_least: tuple[int, ...] = ()) -> Any:
    """The module `name`, which the extra `extra` brings, of version `at_least` or later.

    Errors: `Skip` where it is missing or too old; `BrokenPackageError` where its import fails.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a library uses that another is giving up
            module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A part of a package that several distributions share, such as cuda.core, may be missing.
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise Skip(str(MissingPackageError(error.name, extra))) from error
        raise _broken(name, error) from error
    except Exception as error:  # whatever a broken installation raises
        raise _broken(name, error) from error
    version = str(getattr(module, "__version__", ""))
    if at_least and _numbers(version) < at_least:
        wanted = ".".join(map(str, at_least))
        raise Skip(f"{name} {version or 'of unknown version'} is too old: {wanted} is needed")
    return module


def _broken(name: str, error: Exception) -> BrokenPackageError:
    words = " ".join(str(error).split()) or "no message"
    return BrokenPackageError(f"{name} cannot be imported: {type(error).__name__}: {words}")


def _numbers(version: str) -> tuple[int, ...]:
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, leading[0].split("."))) if leading else ()
