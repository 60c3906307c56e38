"""What is to be measured: workloads and their modes, from lists of models, sizes and dtypes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.models.contract import Shape
from ftax_micro.models.request import ModelRequest, parse_model
from ftax_micro.models.workload import check_dtype
from ftax_micro.modes import MODES
from ftax_micro.orchestration.workload.request import WorkloadRequest

_SIZES = ("batch", "sequence", "image", "audio")
Sizes = int | Sequence[int] | None


@dataclass(frozen=True)
class Task:
    """A workload and the modes it is measured in."""

    request: WorkloadRequest
    modes: tuple[str, ...]


def requests_for(
    models: Sequence[str],
    *,
    dtypes: Sequence[str] = ("fp32",),
    batch: Sizes = None,
    sequence: Sizes = None,
    image: Sizes = None,
    audio: Sizes = None,
    device: str = "cpu",
    threads: int = 1,
    lengths: str | None = None,
    twin: bool = False,
) -> list[WorkloadRequest]:
    """All workloads that are asked for: models × dtypes × sizes; with `twin` each model's twin
    beside it.

    A size is one or several numbers, and is given to those models whose input has it. A setting
    may have several values, ``bert_base@num_hidden_layers=2/4/6``. Errors: `UnknownNameError`,
    `UsageError` for what makes no sense, before anything is built; so is a size that no model has.
    """
    given = {"batch": batch, "sequence": sequence, "image": image, "audio": audio}
    sweep = {name: _listed(name, sizes) for name, sizes in given.items() if sizes is not None}
    parsed = [parse_model(text) for model in models for text in expand_settings(model)]
    for name in sweep:
        if parsed and not any(name in _own_sizes(model) for model in parsed):
            has = " and ".join(_own_sizes(parsed[0])) or "the sizes that its factory gives it"
            raise UsageError(f"the model's input has no {name}; it has {has}")
    for dtype in dtypes:
        check_dtype(dtype)
    requests = [
        # A twin's work is next to nothing whatever the batch: it is measured once.
        WorkloadRequest(
            model,
            shape.replaced(batch=1) if twinned else shape,
            dtype,
            device,
            threads,
            lengths,
            twinned,
        )
        for model in parsed
        for dtype in dtypes
        for shape in _shapes(model, sweep)
        for twinned in ((False, True) if twin else (False,))
    ]
    return _without_repeats(requests)


def expand_settings(text: str) -> list[str]:
    """`text` with each combination of the values that its settings have several of.

    >>> expand_settings("bert_base@num_hidden_layers=2/4")
    ['bert_base@num_hidden_layers=2', 'bert_base@num_hidden_layers=4']
    """
    name, at, settings = text.partition("@")
    if not at or "/" not in settings:
        return [text]
    choices = []
    for part in settings.split(","):
        key, equals, values = part.partition("=")
        choices.append([f"{key}{equals}{value}" for value in values.split("/")])
    return [f"{name}@{','.join(each)}" for each in itertools.product(*choices)]


def check_modes(modes: Iterable[str]) -> list[str]:
    """`modes` without repeats. Errors: `UnknownNameError`."""
    chosen = list(dict.fromkeys(modes))
    for mode in chosen:
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
    return chosen


def joined(tasks: Iterable[Task]) -> list[Task]:
    """`tasks` with each workload once, in all the modes that it was asked for in."""
    modes: dict[tuple[object, ...], list[str]] = {}
    requests: dict[tuple[object, ...], WorkloadRequest] = {}
    for task in tasks:
        key = request_key(task.request)
        requests.setdefault(key, task.request)
        modes.setdefault(key, []).extend(task.modes)
    return [Task(requests[key], tuple(dict.fromkeys(modes[key]))) for key in requests]


def request_key(request: WorkloadRequest) -> tuple[object, ...]:
    """What tells one workload from another."""
    shape = request.shape
    return (
        *(request.model.text, request.device, request.dtype, request.threads),
        *(shape.batch, shape.sequence, shape.image, shape.audio),
        *(request.lengths, request.twin),
    )


def _without_repeats(requests: Iterable[WorkloadRequest]) -> list[WorkloadRequest]:
    return list({request_key(each): each for each in requests}.values())


def _listed(name: str, sizes: int | Sequence[int]) -> list[int]:
    listed = [sizes] if isinstance(sizes, int) else list(sizes)
    if not listed or any(size < 1 for size in listed):
        raise UsageError(f"{name} must be at least 1, not {min(listed, default='nothing')}")
    return listed


def _own_sizes(model: ModelRequest) -> list[str]:
    """The sizes that may be chosen for `model`; a factory gives its inputs their sizes itself."""
    if ":" in model.text:
        return []
    return [name for name in _SIZES if getattr(model.spec.shape, name) is not None]


def _shapes(model: ModelRequest, sweep: Mapping[str, Sequence[int]]) -> list[Shape]:
    names = [name for name in _own_sizes(model) if name in sweep]
    return [
        model.spec.shape.replaced(**dict(zip(names, sizes, strict=True)))
        for sizes in itertools.product(*(sweep[name] for name in names))
    ]
