"""Make the shipped PTX from the .cu files beside it, or check that it is in step with them.

Run by hand on a machine with nvcc after a .cu has changed:

    python csrc/kernels/regenerate.py           # rewrite floor.ptx and dependent.ptx
    python csrc/kernels/regenerate.py --check   # exit 1 if they differ from what nvcc makes

nvcc no longer targets old GPUs, but nothing in the kernels needs a new one: nvcc writes the PTX for
the lowest target it still knows, and the header is then rewritten to the version and target that
the oldest supported driver understands. ptxas must accept the result for an old and a new GPU.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Kernels:
    """One .cu file and how its PTX is made."""

    stem: str
    compile_for: str  # the lowest target of a current nvcc that has what the kernels use
    version: str  # of the PTX language, written into the header
    target: str  # written into the header
    assemble_for: tuple[str, ...]  # GPUs that ptxas must accept it for

    @property
    def source(self) -> Path:
        return HERE / f"{self.stem}.cu"

    @property
    def ptx(self) -> Path:
        return HERE / f"{self.stem}.ptx"


ALL = (
    # PTX 6.4 came with CUDA 10.1, older than any driver we load; sm_50 is Maxwell.
    Kernels("floor", "compute_75", "6.4", "sm_50", ("sm_75", "sm_90")),
    # griddepcontrol needs PTX 7.8 (CUDA 11.8) and sm_90.
    Kernels("dependent", "compute_90", "7.8", "sm_90", ("sm_90",)),
)


def find_tool(name: str) -> str | None:
    """Path of nvcc or ptxas: on PATH, under CUDA_HOME, or in the usual place; None if absent."""
    found = shutil.which(name)
    if found is not None:
        return found
    roots = (os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda")
    for root in filter(None, roots):
        candidate = Path(root, "bin", name)
        if candidate.is_file():
            return str(candidate)
    return None


def compiler_version(text: str) -> str | None:
    """The nvcc release that wrote a PTX text or a --version text, such as ``13.0, V13.0.88``."""
    match = re.search(r"release ([\d.]+, V[\d.]+)", text)
    return match.group(1) if match else None


def rewrite_header(ptx: str, kernels: Kernels) -> str:
    """The PTX with the old version and target in place of nvcc's own."""
    ptx, versions = re.subn(r"^\.version .*$", f".version {kernels.version}", ptx, flags=re.M)
    ptx, targets = re.subn(r"^\.target .*$", f".target {kernels.target}", ptx, flags=re.M)
    if (versions, targets) != (1, 1):
        raise ValueError(f"{kernels.stem}: expected one .version and one .target line from nvcc")
    return ptx


def entries(ptx: str) -> dict[str, tuple[int, ...]]:
    """Name of each kernel entry -> size in bytes of each of its parameters."""
    found: dict[str, tuple[int, ...]] = {}
    for name, params in re.findall(r"\.visible\s+\.entry\s+(\w+)\s*\(([^)]*)\)", ptx):
        sizes = []
        for bits, count in re.findall(r"\.[bsuf](\d+)\s+\w+(?:\[(\d+)\])?", params):
            sizes.append(int(bits) // 8 * int(count or 1))
        found[name] = tuple(sizes)
    return found


def compile_ptx(kernels: Kernels, nvcc: str) -> str:
    """What nvcc makes of the .cu today, header rewritten."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.ptx")
        command = [nvcc, "-ptx", f"-arch={kernels.compile_for}", "-o", str(out)]
        subprocess.run([*command, str(kernels.source)], check=True, cwd=folder)
        return rewrite_header(out.read_text(), kernels)


def assemble(ptx: Path, target: str, ptxas: str) -> None:
    """Raises CalledProcessError, with ptxas's words in ``stderr``, if it refuses the PTX."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "out.cubin"))
        command = [ptxas, f"-arch={target}", "-o", out, str(ptx)]
        subprocess.run(command, check=True, capture_output=True, text=True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    check = parser.parse_args(argv).check
    nvcc, ptxas = find_tool("nvcc"), find_tool("ptxas")
    if nvcc is None or ptxas is None:
        sys.stderr.write("nvcc and ptxas are needed: put a CUDA toolkit's bin on PATH\n")
        return 2
    differ = False
    for kernels in ALL:
        made = compile_ptx(kernels, nvcc)
        if check and made != kernels.ptx.read_text():
            sys.stderr.write(
                f"{kernels.ptx.name} is not what nvcc makes of {kernels.source.name}\n"
            )
            differ = True
        elif not check:
            kernels.ptx.write_text(made)
        for target in kernels.assemble_for:
            assemble(kernels.ptx, target, ptxas)
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
