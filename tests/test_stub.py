"""The stub of the extension says what the extension has: names, members and arguments."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType

import pytest

import ftax_micro
from ftax_micro.devices._extension import core

STUBS = Path(ftax_micro.__file__).parent / "_core"


def stub_members(name: str) -> dict[str, set[str]]:
    """Public module-level names, and for classes the public members of each."""
    members: dict[str, set[str]] = {}
    for node in ast.parse((STUBS / f"{name}.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            members[node.name] = {each for each in map(_name, node.body) if public(each)}
        elif isinstance(node, ast.FunctionDef):
            members[node.name] = {argument.arg for argument in node.args.args}
    return members


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef):
        return node.name
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return "_"


def public(name: str) -> bool:
    return not name.startswith("_")


def built_members(module: ModuleType) -> dict[str, set[str]]:
    """The same of the built module; what every enumeration and exception has is left out."""
    inherited = set(dir(RuntimeError)) | {"name", "value"}
    members: dict[str, set[str]] = {}
    for name in filter(public, dir(module)):
        value = getattr(module, name)
        if isinstance(value, type):
            members[name] = {each for each in set(dir(value)) - inherited if public(each)}
        else:
            # pybind11 writes the signature into the docstring: `f(a: int, b: float = 1.0) -> …`.
            signature = (value.__doc__ or "").partition("(")[2].partition(") ->")[0]
            members[name] = set(re.findall(r"(\w+): ", signature))
    return members


@pytest.mark.parametrize("name", ["host", "traces", "cuda"])
def test_the_stub_names_what_the_extension_has(name: str) -> None:
    module = getattr(core(), name, None)
    if module is None:
        pytest.skip("built without the CUDA device")
    stub, built = stub_members(name), built_members(module)
    assert set(stub) == set(built)
    for each, members in built.items():
        if isinstance(getattr(module, each), type) and issubclass(getattr(module, each), Exception):
            continue  # attributes are set on each instance
        assert stub[each] - {"name", "value"} == members, each
