"""Builds the fake CUDA driver and the fake runtime; needs a C++17 compiler and NVIDIA's cuda.h.

Object files and libraries are named after what they are made of, so a second build finds them done.
Of several processes that want the same one, one builds it and the others wait. Also a command that
prints the path:
`python build.py --dir DIR [--version 12.4] [--sanitize thread] [--runtime] [--stub]`.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = Path(__file__).resolve().parent

# Drivers to pose as, and the number cuDriverGetVersion tells.
VERSIONS = {"11.4": 11040, "12.0": 12000, "12.4": 12040, "13.0": 13000}

# Driver functions younger than 11.4 with the version that brought them (cudaTypedefs.h of CUDA 13).
SINCE = {
    "cuLaunchKernelEx": 11060,
    "cuModuleGetLoadingMode": 11070,
    "cuGraphExecUpdate_v2": 12000,
    "cuCtxSetFlags": 12010,
    "cuFuncLoad": 12040,
    "cuEventElapsedTime_v2": 12080,
}
# What a runtime before 12.8 lacks.
LIBRARY_CALLS = ("cudaLibraryLoadData", "cudaLibraryGetKernel", "cudaLibraryUnload")

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror")
JOBS = 2


class NotBuildable(Exception):
    """A compiler or cuda.h is missing; the message says which and where it was looked for."""


def find_compiler() -> str:
    """The C++ compiler: $CXX, or the first of c++, g++ and clang++ on the path."""
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        if name and (path := shutil.which(name.split()[0])):
            return path
    raise NotBuildable("no C++ compiler: set CXX, or install g++ or clang++")


def find_cuda_include() -> Path:
    """The folder of cuda.h: by hand, the PyPI package of the CUDA runtime, or a toolkit."""
    places = [Path(os.environ[name]) for name in ("FTAX_MICRO_CUDA_INCLUDE",) if name in os.environ]
    for folder in dict.fromkeys([*sys.path, sysconfig.get_path("purelib")]):
        places += [Path(folder, "nvidia", part, "include") for part in ("cu13", "cuda_runtime")]
    toolkits = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places += [Path(root, "include") for root in toolkits if root]
    for place in places:
        if (place / "cuda.h").is_file():
            return place
    raise NotBuildable("no cuda.h: pip install nvidia-cuda-runtime, or set CUDA_HOME")


def _digest(*parts: str | bytes) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part.encode() if isinstance(part, str) else part)
        sha.update(b"\0")
    return sha.hexdigest()[:16]


@contextlib.contextmanager
def _locked(output: Path) -> Iterator[None]:
    """The only one, of threads and processes, to make `output`; whatever ends it gives it up."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.with_name(f"{output.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _made(command: Sequence[str], output: Path, text: str = "") -> None:
    """Runs `command -o output` on the input `text`; appears whole or not at all."""
    handle, name = tempfile.mkstemp(dir=output.parent, prefix=output.stem)
    os.close(handle)
    try:
        subprocess.run(
            [*command, "-o", name], input=text, check=True, capture_output=True, text=True
        )
        Path(name).replace(output)
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{' '.join(command)}\n{error.stderr}") from error
    finally:
        Path(name).unlink(missing_ok=True)


class Builder:
    """Builds into one folder, with or without sanitizers ("thread", "address,undefined")."""

    def __init__(self, folder: Path, sanitize: str = "") -> None:
        self.folder = folder
        self.compiler = find_compiler()
        include = find_cuda_include()
        self.flags = ["-std=c++17", "-O1", "-fPIC", "-pthread", *WARNINGS]
        self.flags += ["-isystem", str(include)]
        if sanitize:
            self.flags += [f"-fsanitize={sanitize}", "-fno-sanitize-recover=all"]
            self.flags += ["-g1", "-fno-omit-frame-pointer"]
        headers = [*sorted(SOURCES.glob("*.hpp")), SOURCES / "keys.def", include / "cuda.h"]
        self._common = _digest(self.compiler, *self.flags, *(p.read_bytes() for p in headers))

    def _compile(self, name: str, sources: Sequence[Path], defines: Sequence[str] = ()) -> Path:
        """One object of all `sources`: their headers, most of a compiler's work, are read once."""
        digest = _digest(self._common, *(each.read_bytes() for each in sources), *defines)
        output = self.folder / "objects" / f"{name}-{digest}.o"
        unit = "".join(f'#include "{each}"\n' for each in sources)
        with _locked(output):
            if not output.exists():
                command = [self.compiler, *self.flags, *defines, "-x", "c++", "-c", "-"]
                _made(command, output, unit)
        return output

    def _link(
        self,
        name: str,
        objects: Sequence[Path],
        hidden: Sequence[str],
        libs: str = "",
        soname: str = "",
    ) -> Path:
        """Links with all but the hidden symbols exported: dlsym must not find those."""
        local = "".join(f" {symbol};" for symbol in hidden)
        script = f"{{ global: cu*; fake_cuda_*; local:{local} *; }};\n"
        digest = _digest(self._common, script, libs, soname, *(path.name for path in objects))
        output = self.folder / f"{name}-{digest}.so"
        script_file = self.folder / f"{name}-{digest}.map"
        options = [
            "-shared",
            f"-Wl,--version-script={script_file}",
            f"-Wl,-soname,{soname or output.name}",
        ]
        options += ["-Wl,-z,nodelete"]  # workers may outlive the last dlclose
        files = [str(path) for path in objects]
        if libs:
            files += [libs, "-Wl,-rpath,$ORIGIN"]
        with _locked(output):
            if not output.exists():
                script_file.write_text(script)
                _made([self.compiler, *self.flags, *options, *files], output)
        return output

    def driver(self, version: str = "13.0", *, stub: bool = False) -> Path:
        """The fake libcuda posing as `version`; with `stub`, as the toolkit's stub library."""
        number = VERSIONS[version]
        apart = {SOURCES / "runtime.cpp", SOURCES / "version.cpp"}
        sources = sorted({*SOURCES.glob("*.cpp")} - apart)
        with ThreadPoolExecutor(JOBS) as pool:
            units = [(f"driver{job}", sources[job::JOBS]) for job in range(JOBS)]
            objects = [*pool.map(lambda unit: self._compile(*unit), units)]
        defines = [f"-DFAKE_CUDA_VERSION={number}", f"-DFAKE_CUDA_STUB={int(stub)}"]
        objects.append(self._compile("version", [SOURCES / "version.cpp"], defines))
        hidden = [name for name, since in SINCE.items() if since > number]
        name = f"libfakecuda-{version}{'-stub' if stub else ''}"
        return self._link(name, objects, hidden)

    def runtime(
        self, version: str = "13.0", *, library_calls: bool = True, soname: str = ""
    ) -> Path:
        """The fake libcudart that goes with `driver(version)`; without cudaLibrary* if so asked.

        `soname` is what the dynamic loader knows it by once it is loaded; by default its file's
        name.
        """
        runtime_object = self._compile("runtime", [SOURCES / "runtime.cpp"])
        hidden = () if library_calls else LIBRARY_CALLS
        name = f"libfakecudart-{version}{'' if library_calls else '-old'}"
        name += f"-{soname}" if soname else ""
        driver = str(self.driver(version))
        return self._link(name, [runtime_object], hidden, libs=driver, soname=soname)


def main() -> None:
    """The command; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="folder to build in")
    parser.add_argument("--version", choices=VERSIONS, default="13.0")
    parser.add_argument("--sanitize", default="", help="thread, or address,undefined")
    parser.add_argument("--runtime", action="store_true", help="the runtime instead of the driver")
    parser.add_argument("--stub", action="store_true", help="the toolkit's stub library")
    options = parser.parse_args()
    builder = Builder(options.dir, options.sanitize)
    path = (
        builder.runtime(options.version)
        if options.runtime
        else builder.driver(options.version, stub=options.stub)
    )
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
