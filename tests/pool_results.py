"""Results of made-up machines: what a fleet's files are like, with known groups and spreads."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
from fake_results import device, environment, gpu, result
from floor_results import COSTS, GPU, floor_result

from ftax_micro.records import Measurement
from ftax_micro.results import Result, encode_result

# Of each group, how much slower its machines are than the first's.
MODELS = {"NVIDIA H100": 1.0, "NVIDIA A100": 1.5}


def machine_result(
    number: int,
    *,
    model: str = "NVIDIA H100",
    driver: str = "580.1",
    factor: float = 1.0,
    run: int = 0,
    size: int = 30,
    **changes: Any,
) -> Result:
    """A floor of the GPU of machine `number`, all of its costs `factor` times the model's."""
    costs = {name: cost * MODELS[model] * factor for name, cost in COSTS.items()}
    floor = floor_result(1000 * number + run, size=size, costs=costs)
    return placed(floor, number, model=model, driver=driver, **changes)


def placed(
    found: Result,
    number: int,
    *,
    model: str = "NVIDIA H100",
    driver: str = "580.1",
    **changes: Any,
) -> Result:
    """`found` as if measured on machine `number`."""
    uuid = changes.pop("uuid", f"GPU-{number:032x}")
    own = gpu(name=model, driver_version=driver, uuid=uuid)
    host = changes.pop("hostname", f"node{number:04}")
    facts = environment(hostname=host, gpus=[own])
    devices = [device("cpu"), device(GPU, model)]
    values = {"environment": facts, "devices": devices, **changes}
    return msgspec.structs.replace(found, **values)


def of_rows(number: int, *rows: Measurement, **changes: Any) -> Result:
    """A result of machine `number` with these rows alone."""
    return placed(result(*rows), number, **changes)


def write_fleet(folder: Path, files: int, *, size: int = 100, seed: int = 0) -> int:
    """So many files of as many machines in `folder`, in two groups, one machine of a hundred 1.5
    times as slow as it should be. Returns their bytes.
    """
    chance = random.Random(seed)
    written = 0
    for number in range(files):
        model = list(MODELS)[number % len(MODELS)]
        factor = chance.gauss(1.0, 0.01) * (1.5 if number % 100 == 50 else 1.0)
        made = machine_result(number, model=model, factor=factor, size=size)
        written += (folder / f"node{number:05}.json").write_bytes(encode_result(made))
    return written
