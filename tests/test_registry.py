"""Plug-ins are known by name without being imported, and opened on first use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ftax_micro.errors import UnknownNameError
from ftax_micro.registry import Registry


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    (tmp_path / "a_plug_in.py").write_text("answer = 42\n")
    (tmp_path / "a_broken_plug_in.py").write_text("import not_a_package_anyone_has\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("a_plug_in", "a_broken_plug_in"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    entries = {
        "second": "a_plug_in:answer",
        "broken": "a_broken_plug_in:answer",
        "typo": "a_plug_in:anwser",
    }
    return Registry("mode", entries)


def test_listing_imports_nothing(registry: Registry) -> None:
    assert list(registry) == ["second", "broken", "typo"]
    assert "broken" in registry
    assert "other" not in registry
    assert "a_plug_in" not in sys.modules


def test_opening_gives_the_named_attribute(registry: Registry) -> None:
    assert registry.open("second") == 42


def test_an_unknown_name_is_told_with_its_kind(registry: Registry) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown mode 'secnd'; did you mean second\?"):
        registry.open("secnd")


def test_an_import_error_of_the_plug_in_is_not_hidden(registry: Registry) -> None:
    with pytest.raises(ModuleNotFoundError, match="not_a_package_anyone_has"):
        registry.open("broken")


def test_a_wrong_attribute_is_an_error(registry: Registry) -> None:
    with pytest.raises(AttributeError, match="anwser"):
        registry.open("typo")


def test_later_changes_of_the_given_table_do_not_reach_the_registry() -> None:
    entries = {"a": "math:pi"}
    registry = Registry("constant", entries)
    entries["b"] = "math:e"
    assert list(registry) == ["a"]
