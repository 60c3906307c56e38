"""Plug-ins by name: a table of import paths, opened on first use.

A table rather than registration at import time: what exists is known without importing any of it,
so listing the modes of a package that is not installed costs nothing and cannot fail.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from ftax_micro.errors import UnknownNameError


class Registry:
    """Names of one kind of plug-in, each with its ``module:attribute``."""

    def __init__(self, kind: str, entries: Mapping[str, str]) -> None:
        self.kind = kind
        self._entries = dict(entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def open(self, name: str) -> Any:
        """The plug-in called `name`.

        Errors: `UnknownNameError` with the nearest names; whatever its module raises on import.
        """
        if name not in self._entries:
            raise UnknownNameError(self.kind, name, self._entries)
        module, _, attribute = self._entries[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
