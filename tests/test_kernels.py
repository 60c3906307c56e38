"""The shipped PTX is what the contract says and what the .cu beside it compiles to."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

KERNELS = Path(__file__).resolve().parent.parent / "csrc" / "kernels"

# Parameter sizes in bytes; the fake driver and csrc/cuda/kernels.hpp rely on these.
FLOOR = {
    "ftax_null": (),
    "ftax_null_8": (8,),
    "ftax_null_64": (64,),
    "ftax_null_256": (256,),
    "ftax_null_1024": (1024,),
    "ftax_null_4096": (4096,),
    "ftax_null_5p": (8,) * 5,
    "ftax_null_19p": (8,) * 19,
    "ftax_store": (8, 4),
    "ftax_hold": (8, 4, 8, 8),
    "ftax_spin": (8,),
    "ftax_spin_ns": (8,),
    "ftax_round_trip": (8, 4, 8, 8),
}
CONTRACT = {
    "floor": (FLOOR, "6.4", "sm_50"),
    "dependent": ({"ftax_dependent": ()}, "7.8", "sm_90"),
}


def load_regenerate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("regenerate", KERNELS / "regenerate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["regenerate"] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


regenerate = load_regenerate()
by_stem = pytest.mark.parametrize("kernels", regenerate.ALL, ids=lambda kernels: kernels.stem)


def header_field(ptx: str, field: str) -> str:
    (line,) = [line for line in ptx.splitlines() if line.startswith(f".{field} ")]
    return line.split()[1]


def test_every_contract_has_its_file() -> None:
    assert {kernels.stem for kernels in regenerate.ALL} == set(CONTRACT)


@by_stem
def test_shipped_ptx_has_the_entries_of_the_contract(kernels: Any) -> None:
    assert regenerate.entries(kernels.ptx.read_text()) == CONTRACT[kernels.stem][0]


@by_stem
def test_shipped_ptx_is_of_an_old_version_and_target(kernels: Any) -> None:
    ptx = kernels.ptx.read_text()
    _, version, target = CONTRACT[kernels.stem]
    assert (header_field(ptx, "version"), header_field(ptx, "target")) == (version, target)
    assert header_field(ptx, "address_size") == "64"


@by_stem
def test_shipped_ptx_assembles(kernels: Any) -> None:
    ptxas = regenerate.find_tool("ptxas")
    if ptxas is None:
        pytest.skip("no ptxas on this machine")
    for target in kernels.assemble_for:
        regenerate.assemble(kernels.ptx, target, ptxas)


@by_stem
def test_shipped_ptx_is_in_step_with_its_source(kernels: Any) -> None:
    nvcc = regenerate.find_tool("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc on this machine")
    version = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True)
    shipped, made = kernels.ptx.read_text(), regenerate.compile_ptx(kernels, nvcc)
    recorded = regenerate.compiler_version(shipped)
    assert recorded is not None
    if regenerate.compiler_version(version.stdout) == recorded:
        assert made == shipped, "run csrc/kernels/regenerate.py"
    else:  # another compiler may order instructions differently
        assert regenerate.entries(made) == regenerate.entries(shipped)


def test_assembling_broken_ptx_is_refused(tmp_path: Path) -> None:
    ptxas = regenerate.find_tool("ptxas")
    if ptxas is None:
        pytest.skip("no ptxas on this machine")
    broken = tmp_path / "broken.ptx"
    broken.write_text(regenerate.ALL[0].ptx.read_text().replace("%globaltimer", "%nosuchtimer"))
    with pytest.raises(subprocess.CalledProcessError):
        regenerate.assemble(broken, "sm_90", ptxas)


def test_header_without_one_target_line_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one"):
        regenerate.rewrite_header(".version 9.0\n", regenerate.ALL[0])
