"""Whether models can be measured: their packages import, belong together, and have a compiler.

Packages are imported in a process of their own: several GB of libraries would come into this one,
and a broken one may end it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence

from ftax_micro.findings import Finding
from ftax_micro.orchestration.doctor.scene import Scene

# What models and modes are made of, each with the distributions that may bring it.
PACKAGES: Mapping[str, tuple[str, ...]] = {
    "torch": ("torch",),
    "torchvision": ("torchvision",),
    "transformers": ("transformers",),
    "onnxruntime": ("onnxruntime-gpu", "onnxruntime"),
}
_EXTRA = "for models: `pip install 'ftax-micro[models]'`"
_REPAIR = "reinstall the extra: `pip install --force-reinstall 'ftax-micro[models]'`"
_TRIAL = ("-m", "ftax_micro.models.import_trial")
# Importing some GB of libraries from a cold disk.
_LIMIT_S = 180.0
_COMPILERS = ("c++", "g++", "clang++")


def check_models(
    _scene: Scene, command: Sequence[str] = (), limit_s: float = _LIMIT_S
) -> Iterable[Finding]:
    """One finding per package. `command` stands for the trial in tests."""
    versions = {name: _versions(name) for name in PACKAGES}
    present = [name for name, found in versions.items() if found]
    tried = _try(present, command or (sys.executable, *_TRIAL), limit_s) if present else {}
    for name, found in versions.items():
        part = f"models: {name}"
        text = ", ".join(f"{key} {version}" for key, version in found.items())
        if not found:
            yield Finding(part=part, status="missing", detail="not installed", advice=_EXTRA)
        elif len(found) > 1:
            detail = f"{text}: they install the same module, and one overwrites the other"
            advice = "uninstall all of them, then install the one you want"
            yield Finding(part=part, status="warning", detail=detail, advice=advice)
        else:
            detail, error = tried[name]
            if error is None:
                yield Finding(part=part, status="ok", detail=f"{text}, {detail}")
            else:
                detail = f"{text} cannot be imported: {error}"
                yield Finding(part=part, status="broken", detail=detail, advice=_REPAIR)


def check_compiler(scene: Scene) -> Iterable[Finding]:
    """A C++ compiler, which torch.compile calls when it runs."""
    wanted = [scene.environ["CXX"]] if scene.environ.get("CXX") else list(_COMPILERS)
    found = next((path for name in wanted if (path := shutil.which(name.split()[0]))), None)
    if found is None:
        detail = f"no C++ compiler: {', '.join(wanted)} not found"
        advice = "only for the modes of torch.compile: install g++, or name a compiler in CXX"
        yield Finding(part="compiler", status="missing", detail=detail, advice=advice)
    else:
        yield Finding(part="compiler", status="ok", detail=f"{found}, for torch.compile")


def _try(
    names: Sequence[str], command: Sequence[str], limit_s: float
) -> dict[str, tuple[str, str | None]]:
    """By package: what is worth knowing of it, and why it cannot be imported, if so."""
    environ = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        done = subprocess.run(
            [*command, *names],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limit_s,
            env=environ,
            check=False,
        )
        said, end = done.stdout, _ending(done.returncode)
    except subprocess.TimeoutExpired as error:
        said, end = error.stdout or b"", f"it was not done within {limit_s:g} s"
    except OSError as error:
        said, end = b"", f"it could not be tried: {error}"
    lines = [json.loads(line) for line in said.decode(errors="replace").splitlines() if line]
    found = {line["package"]: (line["detail"], line["error"]) for line in lines}
    # The first without a line is the one that ended the process; nothing is known of those after.
    for index, name in enumerate(each for each in names if each not in found):
        found[name] = ("", end if index == 0 else "not tried after that")
    return found


def _ending(code: int) -> str:
    if code < 0:
        return f"the process that tried it was killed by signal {-code}"
    return f"the process that tried it ended with {code}"


def _versions(name: str) -> dict[str, str]:
    found = {each: _version(each) for each in PACKAGES[name]}
    return {each: version for each, version in found.items() if version is not None}


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
