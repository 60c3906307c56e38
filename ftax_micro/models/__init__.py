"""The zoo: models by name, each built from its library's configuration, nothing downloaded."""

from __future__ import annotations

import functools
import importlib

from ftax_micro.models.contract import ModelSpec

# A new family is a file with SPECS and a line here. None of them imports a library before a model
# is built.
_FAMILIES = ("encoders", "decoders", "speech", "vision", "layers")


@functools.cache
def known_models() -> dict[str, ModelSpec]:
    """All models by name, in the order they are listed."""
    modules = [importlib.import_module(f"{__name__}.{family}") for family in _FAMILIES]
    return {spec.name: spec for module in modules for spec in module.SPECS}
