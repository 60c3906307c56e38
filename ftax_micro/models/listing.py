"""What `--list` says of each model: counted without making it, or why it cannot be built here."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from ftax_micro.errors import FtaxError
from ftax_micro.models import known_models
from ftax_micro.models.contract import ModelSpec
from ftax_micro.models.workload import count_parameters


@dataclass(frozen=True)
class ListedModel:
    """A model, how many weights it has, and what can be set; `reason` where it cannot be built."""

    spec: ModelSpec
    parameters: int | None
    settings: tuple[str, ...]
    reason: str | None


def list_models() -> list[ListedModel]:
    """Every known model, in order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, while they are imported
        return [_listed(spec) for spec in known_models().values()]


def _listed(spec: ModelSpec) -> ListedModel:
    try:
        return ListedModel(spec, count_parameters(spec), tuple(spec.parameters()), None)
    except FtaxError as error:
        return ListedModel(spec, None, (), str(error))
    except Exception as error:  # a library that is broken in a way nobody has met yet
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return ListedModel(spec, None, (), reason)
