"""Running from a source checkout: find the installed extension, and notice when it is stale.

After ``pip install .`` a Python started in the checkout imports the source folder, which has no
extension beside it. Extending the package's ``__path__`` by the installed package lets the source
find the installed ``_core``; a digest over ``csrc`` compiled into it tells whether the two belong
together.
"""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

_SUFFIXES = {".cpp", ".hpp", ".ptx"}


def installed_package(here: Path) -> Path | None:
    """The folder on ``sys.path`` with this package's compiled extension, other than `here`.

    Only an extension this interpreter can load counts: not a stub, nor one for another Python.
    """
    loadable = {f"_core{suffix}" for suffix in EXTENSION_SUFFIXES}
    for entry in sys.path:
        folder = Path(entry or ".") / here.name
        if folder.resolve() == here.resolve():
            continue
        if any(path.name in loadable for path in folder.glob("_core.*")):
            return folder
    return None


def source_digest(csrc: Path) -> str:
    """SHA-256 over the extension's sources, as csrc/cmake/source_digest.cmake computes it."""
    import hashlib

    names = sorted(p.relative_to(csrc).as_posix() for p in csrc.rglob("*") if p.suffix in _SUFFIXES)
    lines = "".join(f"{n} {hashlib.sha256((csrc / n).read_bytes()).hexdigest()}\n" for n in names)
    return hashlib.sha256(lines.encode()).hexdigest()


def stale_reason(here: Path, version: str, built_version: str, built_digest: str) -> str | None:
    """Why the extension does not belong to the Python sources at `here`; None where it does."""
    cure = "run `pip install .` again"
    if built_version != version:
        return (
            f"the compiled extension is version {built_version}, the Python code {version}; {cure}"
        )
    csrc = here.parent / "csrc"
    if (here.parent / "CMakeLists.txt").exists() and source_digest(csrc) != built_digest:
        return f"the compiled extension was built from other sources than {csrc}; {cure}"
    return None
