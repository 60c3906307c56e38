"""A checkout finds the installed extension, and notices one that belongs to other sources."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest

import ftax_micro
from ftax_micro._checkout import installed_package, source_digest, stale_reason
from ftax_micro.devices import _extension
from ftax_micro.devices._extension import core
from ftax_micro.errors import ExtensionError

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = f"_core{EXTENSION_SUFFIXES[0]}"


def package(folder: Path, *files: str) -> Path:
    """A folder that holds a package of our name with these files."""
    here = folder / "ftax_micro"
    here.mkdir(parents=True)
    for name in files:
        (here / name).touch()
    return here


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with two sources and a file that is none; returns its package folder."""
    here = package(tmp_path / "checkout", "__init__.py", "_core.pyi")
    (tmp_path / "checkout/CMakeLists.txt").touch()
    sources = tmp_path / "checkout/csrc"
    (sources / "kernels").mkdir(parents=True)
    (sources / "module.cpp").write_text("int main() {}\n")
    (sources / "kernels/floor.ptx").write_text(".version 6.4\n")
    (sources / "notes.md").write_text("nothing that is compiled\n")
    return here


# Finding the extension


def test_the_installed_package_is_found_past_the_checkout(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = package(tmp_path / "site", EXTENSION)
    paths = [str(checkout.parent), str(tmp_path / "missing"), "", str(site.parent)]
    monkeypatch.setattr(sys, "path", paths)
    monkeypatch.chdir(checkout.parent)
    assert installed_package(checkout) == site


def test_the_first_of_several_installations_counts(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (package(tmp_path / name, EXTENSION) for name in ("first", "second"))
    monkeypatch.setattr(sys, "path", [str(first.parent), str(second.parent)])
    assert installed_package(checkout) == first


@pytest.mark.parametrize("name", ["_core.pyi", "_core.cpython-27m-vax.so", "_core.py", "core.so"])
def test_a_stub_or_an_extension_of_another_python_is_not_taken(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sys, "path", [str(package(tmp_path / "site", name).parent)])
    assert installed_package(checkout) is None


def test_the_package_itself_is_never_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = package(tmp_path / "site", EXTENSION)
    (tmp_path / "link").symlink_to(tmp_path / "site")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), str(tmp_path / "link")])
    assert installed_package(here) is None


# The digest of the sources


def test_the_digest_changes_with_content_and_names_of_sources(checkout: Path) -> None:
    csrc = checkout.parent / "csrc"
    digests = [source_digest(csrc)]
    (csrc / "module.cpp").write_text("int main() { return 1; }\n")
    digests.append(source_digest(csrc))
    (csrc / "kernels/floor.ptx").rename(csrc / "kernels/ground.ptx")
    digests.append(source_digest(csrc))
    (csrc / "new.hpp").touch()
    digests.append(source_digest(csrc))
    assert len(set(digests)) == 4


def test_the_digest_ignores_what_is_not_compiled(checkout: Path) -> None:
    csrc = checkout.parent / "csrc"
    before = source_digest(csrc)
    (csrc / "notes.md").write_text("other notes\n")
    (csrc / "kernels/floor.cu").touch()
    assert source_digest(csrc) == before


def test_the_digest_is_the_one_compiled_into_the_extension() -> None:
    # The build computes it in CMake; both have to agree byte for byte.
    extension = importlib.import_module("ftax_micro._core")
    assert source_digest(ROOT / "csrc") == extension.source_digest


# Is the extension stale?


def test_an_extension_of_these_sources_is_not_stale(checkout: Path) -> None:
    digest = source_digest(checkout.parent / "csrc")
    assert stale_reason(checkout, "1.0", "1.0", digest) is None


def test_another_version_is_stale_and_says_what_to_do(checkout: Path) -> None:
    digest = source_digest(checkout.parent / "csrc")
    reason = stale_reason(checkout, "1.1", "1.0", digest)
    assert reason is not None
    assert "version 1.0, the Python code 1.1" in reason
    assert "pip install ." in reason


def test_edited_sources_make_it_stale(checkout: Path) -> None:
    csrc = checkout.parent / "csrc"
    digest = source_digest(csrc)
    (csrc / "module.cpp").write_text("int main() { return 1; }\n")
    reason = stale_reason(checkout, "1.0", "1.0", digest)
    assert reason is not None
    assert str(csrc) in reason
    assert "pip install ." in reason


def test_an_installed_package_has_no_sources_to_compare(tmp_path: Path) -> None:
    here = package(tmp_path / "site", EXTENSION)
    assert stale_reason(here, "1.0", "1.0", "whatever was built") is None
    assert stale_reason(here, "1.1", "1.0", "whatever was built") is not None


# Opening it


@pytest.fixture
def _fresh_core() -> None:
    core.cache_clear()


@pytest.mark.usefixtures("_fresh_core")
def test_the_extension_opens_and_says_what_it_is() -> None:
    assert core().version == ftax_micro.__version__
    assert core() is core()


@pytest.mark.usefixtures("_fresh_core")
def test_a_missing_extension_is_a_sentence_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ftax_micro._core", None)
    monkeypatch.delattr(ftax_micro, "_core", raising=False)
    with pytest.raises(ExtensionError, match=r"pip install \."):
        core()


@pytest.mark.usefixtures("_fresh_core")
def test_a_stale_extension_is_refused_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(_extension, "stale_reason", lambda *_: "built from other sources")
        with pytest.raises(ExtensionError, match="built from other sources"):
            core()
    assert core().version == ftax_micro.__version__


def test_the_folder_of_the_stub_does_not_pass_for_the_extension(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nothing was built, Python imports that folder as a namespace package."""
    monkeypatch.setattr(ftax_micro, "_core", ModuleType("ftax_micro._core"))
    core.cache_clear()
    try:
        with pytest.raises(ExtensionError, match="pip install"):
            core()
    finally:
        core.cache_clear()
