"""The one place that opens the compiled extension."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import ftax_micro
from ftax_micro._checkout import stale_reason
from ftax_micro.errors import ExtensionError


@functools.cache
def core() -> Any:
    """``ftax_micro._core``, checked to belong to this Python code.

    Errors: `ExtensionError` saying what to do where it is missing, broken or from another version.
    """
    try:
        from ftax_micro import _core

        # The folder of the stub passes for a package of that name where nothing was built.
        if not hasattr(_core, "version"):
            raise ImportError("no module named 'ftax_micro._core'")
    except ImportError as error:
        raise ExtensionError(
            f"the compiled extension of ftax_micro cannot be loaded ({error}); "
            "install the package: `pip install .` in the checkout"
        ) from error
    here = Path(ftax_micro.__file__).parent
    reason = stale_reason(here, ftax_micro.__version__, _core.version, _core.source_digest)
    if reason is not None:
        raise ExtensionError(reason)
    return _core
