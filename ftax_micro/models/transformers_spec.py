"""A model of transformers as a spec: class, configuration class, and what differs from defaults."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ftax_micro.collector import collector_off
from ftax_micro.errors import MissingPackageError, Skip, UsageError
from ftax_micro.models.contract import Family, Inputs, ModelSpec, Overrides, Shape
from ftax_micro.models.torchvision_import import mend_torchvision

if TYPE_CHECKING:
    import torch

# The paper's protocol: 128 random tokens.
TEXT = Shape(sequence=128)
# Settings that follow from the input's length.
InputMaker = Callable[["torch.nn.Module", Shape, Overrides], Inputs]


def transformers_spec(
    name: str,
    family: Family,
    classes: tuple[str, str],
    config: Mapping[str, Any] | None = None,
    *,
    inputs: InputMaker | None = None,
    shape: Shape = TEXT,
    stands_for: str | None = None,
) -> ModelSpec:
    """The spec of `classes` (model, configuration); `config` is what differs from its defaults.

    A model class may be given with its module (``models.speecht5.modeling_speecht5.Name``).
    """
    model_class, config_class = classes
    given = dict(config or {})
    return ModelSpec(
        name=name,
        family=family,
        source=f"transformers.{model_class.rpartition('.')[2]}",
        shape=shape,
        build=functools.partial(_build, model_class, config_class, given),
        inputs=inputs or token_inputs,
        parameters=functools.partial(_parameters, config_class, given),
        stands_for=stands_for,
    )


def token_inputs(module: torch.nn.Module, shape: Shape, _overrides: Overrides) -> Inputs:
    """Random tokens, `batch` × `sequence`, without padding."""
    import torch

    # The lowest ids are padding and the like in every vocabulary here.
    size = (shape.batch, shape.sequence or 1)
    tokens = torch.randint(min(1000, _vocabulary(module) // 2), _vocabulary(module), size)
    return {"input_ids": tokens}


def masked_token_inputs(module: torch.nn.Module, shape: Shape, overrides: Overrides) -> Inputs:
    """Random tokens and a mask of ones, which decoders would otherwise derive while they run."""
    import torch

    inputs = token_inputs(module, shape, overrides)
    return {**inputs, "attention_mask": torch.ones_like(inputs["input_ids"])}


def audio_inputs(_module: torch.nn.Module, shape: Shape, _overrides: Overrides) -> Inputs:
    """Noise as sound, `batch` × `audio` values."""
    import torch

    return {"input_values": torch.randn(shape.batch, shape.audio or 1)}


@collector_off()
def import_transformers() -> Any:
    """transformers, quiet, with torchvision mended where it would break the import of models.

    Errors: `MissingPackageError`; `Skip` where it is installed and cannot be imported.
    """
    mend_torchvision()
    try:
        import transformers
    except ModuleNotFoundError as error:
        if error.name == "transformers":
            raise MissingPackageError("transformers", "models") from error
        raise Skip(f"transformers cannot be imported: {error}") from error
    except (ImportError, RuntimeError, OSError) as error:
        raise Skip(f"transformers cannot be imported: {error}") from error
    transformers.logging.set_verbosity_error()
    return transformers


def _build(
    model_class: str,
    config_class: str,
    given: Mapping[str, Any],
    _shape: Shape,
    overrides: Overrides,
) -> torch.nn.Module:
    settings = {**given, **overrides}
    with _refusals(model_class):
        listed = _lists(_class(config_class)(**given), settings)
        config = _class(config_class)(**settings | listed)
        model: torch.nn.Module = _class(model_class)(config)
    return model


def _parameters(config_class: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a configuration can be asked for, common names first resolved to the class's own."""
    config = _class(config_class)(**given)
    own = {key: _worded(value) for key, value in config.to_dict().items() if _plain(value)}
    return own | {alias: own.get(real) for alias, real in config.attribute_map.items()}


def _plain(value: object) -> bool:
    return value is None or isinstance(value, (int, float, str, bool)) or _numbers(value)


def _numbers(value: object) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(type(x) is int for x in value)


def _worded(value: Any) -> Any:
    """Lists of numbers as ``4-4-4``: a comma separates models on the command line."""
    return "-".join(map(str, value)) if _numbers(value) else value


def _lists(config: Any, settings: Mapping[str, Any]) -> dict[str, list[int]]:
    """Those of `settings` that are lists of numbers in `config`, given in words."""
    words = {key: value for key, value in settings.items() if isinstance(value, str)}
    return {
        key: [int(part) for part in value.split("-")]
        for key, value in words.items()
        if _numbers(getattr(config, key, None))
    }


@collector_off()
def _class(dotted: str) -> Any:
    library = import_transformers()
    *modules, name = dotted.split(".")
    try:
        for part in modules:
            library = getattr(library, part)
        return getattr(library, name)
    except (AttributeError, ImportError, RuntimeError) as error:
        version = import_transformers().__version__
        raise Skip(f"transformers {version} has no {dotted}: {error}") from error


def _vocabulary(module: torch.nn.Module) -> int:
    return int(module.config.vocab_size)


@contextlib.contextmanager
def _refusals(model_class: str) -> Iterator[None]:
    """A configuration that the library refuses is a usage error in its own words."""
    try:
        yield
    except (ValueError, TypeError, AssertionError, ZeroDivisionError) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"transformers.{model_class} cannot be built so: {words}") from error
