"""What was different about two runs, so that a reader can tell what may have changed a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ftax_micro.analysis.quantities.contract import Fact, Quantity
from ftax_micro.facts import GpuFacts
from ftax_micro.results import Result

# Two numbers nearer to each other than this tell the same: a clock is never the same twice.
_SAME_NUMBER = 0.05
# Of a package an older file may only not tell.
_NO_PACKAGE, _NO_VARIABLE = "not recorded", "not set"


@dataclass(frozen=True)
class Difference:
    """A fact that is `value` in the result at `side` and `base` in the one at `against`.

    `rows` are the titles of those that it is told of, `of` the number of rows that both have;
    both empty for what is told of the run as a whole.
    """

    fact: str
    side: int
    against: int
    base: str
    value: str
    rows: tuple[str, ...] = ()
    of: int = 0


def run_facts(result: Result) -> dict[str, str]:
    """What may be different about a run, in words; what is not known is not there."""
    host, process = result.environment.host, result.environment.process
    found: dict[str, object] = {
        "machine": host.machine_model,
        "cpu": host.cpu_model,
        "cores": host.physical_cores or host.logical_cpus,
        "cores allowed": len(host.affinity) if host.affinity else None,
        "governor": _list(host.governors),
        "highest cpu clock": _hertz(host.frequency_max_hz),
        "turbo": _yes(host.turbo),
        "clock source": host.clock_source,
        "hypervisor": host.hypervisor if host.virtualised else _yes(host.virtualised),
        "os": result.environment.os,
        "kernel": result.environment.kernel,
        "python": process.python_version,
    }
    for gpu in _measured_gpus(result):
        found |= {name: value for name, value in _gpu_facts(gpu).items() if value is not None}
    return {name: f"{value}" for name, value in found.items() if value is not None}


def run_differences(results: Sequence[Result], sides: Sequence[int], base: int) -> list[Difference]:
    """Facts of whole runs that differ; `sides` are the place of each side's result."""
    found = []
    for side, place in enumerate(sides):
        if place == sides[base]:
            continue
        one, two = results[sides[base]], results[place]
        told, other = run_facts(one), run_facts(two)
        pairs = [(name, told[name], other[name]) for name in told if name in other]
        pairs += _of_tables(_packages(one), _packages(two), _NO_PACKAGE)
        pairs += _of_tables(_variables(one), _variables(two), _NO_VARIABLE)
        found += [Difference(fact, side, base, a, b) for fact, a, b in pairs if a != b]
    return found


def row_differences(
    pairs: Mapping[str, tuple[Quantity, Quantity]], side: int, base: int
) -> list[Difference]:
    """Facts of rows that differ, each once with the rows; `pairs` are by title the baseline's and
    the other.
    """
    rows: dict[tuple[str, str, str], list[str]] = {}
    for title, (one, two) in pairs.items():
        for fact, value in one.facts.items():
            other = two.facts.get(fact)
            if other is not None and _differ(value, other):
                rows.setdefault((fact, _text(value), _text(other)), []).append(title)
    return [
        Difference(fact, side, base, one, two, tuple(titles), len(pairs))
        for (fact, one, two), titles in rows.items()
    ]


def told_once(runs: Sequence[Difference], rows: Sequence[Difference]) -> list[Difference]:
    """Both, less what is told of a run and, more exactly, of its rows (the version of torch), and
    less what is told of the same rows as another kind.
    """
    exact = {(each.fact, each.side) for each in rows}
    told: set[object] = set()
    found = [each for each in runs if (each.fact, each.side) not in exact]
    for each in rows:
        keys = {(each.fact, each.side, each.base, each.value, title) for title in each.rows}
        if not keys <= told:
            found.append(each)
        told |= keys
    return found


def _differ(one: Fact, two: Fact) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return abs(one - two) > _SAME_NUMBER * max(abs(one), abs(two))
    return one != two


def _text(fact: Fact) -> str:
    return f"{fact:.3g}" if isinstance(fact, float) else fact


def _of_tables(
    one: dict[str, str], two: dict[str, str], absent: str
) -> Iterator[tuple[str, str, str]]:
    for name in dict.fromkeys((*one, *two)):
        yield name, one.get(name, absent), two.get(name, absent)


def _packages(result: Result) -> dict[str, str]:
    packages = result.environment.process.packages
    # Which version of this program measured is told in a sentence of its own.
    return {name: version for name, version in packages.items() if name != "ftax-micro"}


def _variables(result: Result) -> dict[str, str]:
    return dict(result.environment.process.variables)


def _measured_gpus(result: Result) -> list[GpuFacts]:
    """The first GPU that was measured, as the machine tells it."""
    uuids = [str(each.facts.get("uuid")) for each in result.devices if each.kind == "cuda"]
    gpus = result.environment.gpus or []
    own = [gpu for gpu in gpus if any(gpu.uuid and gpu.uuid.endswith(uuid) for uuid in uuids)]
    return (own or (gpus if uuids else []))[:1]


def _gpu_facts(gpu: GpuFacts) -> dict[str, str | None]:
    return {
        "gpu": gpu.name,
        "compute capability": gpu.compute_capability,
        "gpu memory": None if gpu.memory_bytes is None else f"{gpu.memory_bytes / 2**30:.0f} GiB",
        "driver": gpu.driver_version,
        "driver's CUDA": gpu.cuda_driver_version,
        "highest SM clock": _hertz(gpu.sm_clock_max_hz),
        "SM clock asked for": _hertz(gpu.applications_sm_clock_hz),
        "highest memory clock": _hertz(gpu.memory_clock_max_hz),
        "power limit": None if gpu.power_limit_w is None else f"{gpu.power_limit_w:.0f} W",
        "ECC": _yes(gpu.ecc),
        "MIG": _yes(gpu.mig),
        "MPS": _yes(gpu.mps),
        "persistence mode": _yes(gpu.persistence_mode),
        "PCIe": None
        if gpu.pcie_generation is None or gpu.pcie_width is None
        else f"{gpu.pcie_generation} x{gpu.pcie_width}",
    }


def _hertz(value: float | None) -> str | None:
    return None if value is None else f"{value / 1e9:.3g} GHz"


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _list(values: Sequence[str] | None) -> str | None:
    return ", ".join(values) if values else None
