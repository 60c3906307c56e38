"""What a user asks for by ``--model``: a name, with settings of its own, or a factory of theirs.

``bert_base``, ``bert_base@num_hidden_layers=24,hidden_size=1024``, ``package.module:factory``.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.models import known_models
from ftax_micro.models.contract import Family, Inputs, ModelSpec, Override, Overrides, Shape

if TYPE_CHECKING:
    import torch

ALL = "all"
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class ModelRequest:
    """A model as it was asked for: `text` as written, what it means, and its settings."""

    text: str
    spec: ModelSpec
    overrides: Mapping[str, Override] = field(default_factory=dict)


def split_models(text: str) -> list[str]:
    """The models in a list by commas; a part with ``=`` goes on with the settings before it, and
    ``all`` stands for every model there is.

    >>> split_models("bert_base@num_hidden_layers=2,hidden_size=128,resnet18")
    ['bert_base@num_hidden_layers=2,hidden_size=128', 'resnet18']
    """
    models: list[str] = []
    for part in (each.strip() for each in text.split(",")):
        if not part:
            raise UsageError(f"an empty name in {text!r}")
        if "=" in part and "@" not in part and models and "@" in models[-1]:
            models[-1] = f"{models[-1]},{part}"
        else:
            models.append(part)
    return [name for each in models for name in ([*known_models()] if each == ALL else [each])]


def parse_model(text: str) -> ModelRequest:
    """What `text` asks for.

    Errors: `UnknownNameError` for unknown models and settings; `UsageError` for what is not
    ``name=value``, values of the wrong type, and factories that cannot be imported;
    `MissingPackageError` and `Skip` where settings are given and the library is missing.
    """
    name, _, settings = text.partition("@")
    if ":" in name:
        if settings:
            raise UsageError(f"{name} is a factory of yours; settings belong into it")
        return ModelRequest(text, factory_spec(name))
    if name not in known_models():
        raise UnknownNameError("model", name, known_models())
    spec = known_models()[name]
    return ModelRequest(text, spec, _overrides(spec, settings) if "@" in text else {})


def factory_spec(path: str) -> ModelSpec:
    """A spec of the user's own ``package.module:factory``, which returns a module and its inputs.

    Inputs are a tensor, a sequence of tensors in the order of the forward's parameters, or tensors
    by name. Errors: `UsageError` where it cannot be imported or returns something else.
    """
    module_name, _, attribute = path.partition(":")
    try:
        factory = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:  # the user's module may raise anything
        raise UsageError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(factory):
        raise UsageError(f"{path} is not a function")
    return own_spec(path, factory)


def own_spec(name: str, factory: Callable[[], tuple[torch.nn.Module, Any]]) -> ModelSpec:
    """A spec around any `factory` that returns a module and example inputs."""
    made: dict[int, Inputs] = {}

    def build(_shape: Shape, _overrides: Overrides) -> torch.nn.Module:
        module, inputs = _checked(name, factory())
        made[id(module)] = named_inputs(name, module, inputs)
        return module

    def inputs_of(module: torch.nn.Module, _shape: Shape, _overrides: Overrides) -> Inputs:
        return made.pop(id(module))

    return ModelSpec(
        name=name,
        family=Family.layer,
        source=name,
        shape=Shape(),
        build=build,
        inputs=inputs_of,
        parameters=dict,
    )


def named_inputs(name: str, module: torch.nn.Module, inputs: Any) -> Inputs:
    """`inputs` by the names of the forward's parameters.

    Errors: `UsageError` where they are not tensors or more than the forward takes.
    """
    import torch

    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if not isinstance(inputs, (Mapping, Sequence)):
        raise UsageError(f"{name}: inputs must be tensors, not {type(inputs).__name__}")
    if not isinstance(inputs, Mapping):
        parameters = list(inspect.signature(module.forward).parameters)
        if len(inputs) > len(parameters):
            raise UsageError(f"{name}: {len(inputs)} inputs for {len(parameters)} parameters")
        inputs = dict(zip(parameters, inputs, strict=False))
    wrong = [key for key, value in inputs.items() if not isinstance(value, torch.Tensor)]
    if wrong or not inputs:
        raise UsageError(f"{name}: inputs must be tensors; {', '.join(wrong) or 'there are none'}")
    return dict(inputs)


def _checked(name: str, made: Any) -> tuple[torch.nn.Module, Any]:
    import torch

    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], torch.nn.Module):
        return made[0], made[1]
    raise UsageError(f"{name} must return an nn.Module and its inputs, not {type(made).__name__}")


def _overrides(spec: ModelSpec, text: str) -> dict[str, Override]:
    known = spec.parameters()
    overrides: dict[str, Override] = {}
    for part in text.split(","):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not value:
            raise UsageError(f"{spec.name}: {part.strip()!r} is not name=value")
        if key not in known:
            raise UnknownNameError(f"setting of {spec.name}", key, known)
        overrides[key] = _value(f"{spec.name}: {key}", value, known[key])
    return overrides


def _value(what: str, text: str, default: object) -> Override:
    """`text` as the type of `default`; without one, as the number or word it looks like."""
    if isinstance(default, bool):
        if text.lower() not in _BOOLEANS:
            raise UsageError(f"{what} is true or false, not {text!r}")
        return _BOOLEANS[text.lower()]
    if default is None:
        return _looks_like(text)
    for kind in (int, float):
        if isinstance(default, kind):
            return _number(what, text, default)
    return text


def _number(what: str, text: str, default: int | float) -> int | float:
    kind = type(default)
    try:
        value = kind(text)
    except ValueError as error:
        raise UsageError(f"{what} is {kind.__name__}, like {default}, not {text!r}") from error
    # Libraries take a negative count for none: -1 layers would be a model without layers.
    if value < 0 <= default or (isinstance(value, float) and not math.isfinite(value)):
        raise UsageError(f"{what} is a number from 0 on, like {default}, not {text}")
    return value


def _looks_like(text: str) -> Override:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
