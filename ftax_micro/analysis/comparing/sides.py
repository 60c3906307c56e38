"""What a comparison says about each result as a whole: which machine, which run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ftax_micro.errors import UsageError
from ftax_micro.facts import GpuFacts
from ftax_micro.records import Plan
from ftax_micro.results import Result
from ftax_micro.trust import trust_warnings


@dataclass(frozen=True)
class Side:
    """One result of a comparison. What its file does not tell is None.

    `cpu` and `gpus` are models, `build` is what the extension was built from, `warnings` the codes
    of what could falsify the numbers.
    """

    label: str
    hostname: str | None
    cpu: str | None
    cores: int | None
    gpus: tuple[str, ...]
    driver: str | None
    created_at: str
    tool_version: str
    build: str | None
    plan: Plan
    processes: int
    complete: bool
    incomplete_reason: str | None
    warnings: tuple[str, ...]

    def differences(self, other: Side) -> Iterator[str]:
        """Sentences on what was done differently in `other`. Intervals cover the effect of a
        shorter plan, but not of another version.
        """
        if self.tool_version != other.tool_version:
            yield (
                f"{other.label} was measured by version {other.tool_version}, "
                f"{self.label} by {self.tool_version}: a row may not be timed the same way"
            )
        if self.plan.quick != other.plan.quick:
            quick, full = (self, other) if self.plan.quick else (other, self)
            yield f"{quick.label} was measured with --quick, {full.label} without"
        else:
            yield from _plan_differences(self, other)


def _plan_differences(one: Side, other: Side) -> Iterator[str]:
    fields = [
        f"{name} {getattr(other.plan, name):g} against {getattr(one.plan, name):g}"
        for name in Plan.__struct_fields__
        if name != "confidence" and getattr(one.plan, name) != getattr(other.plan, name)
    ]
    if fields:
        yield f"{other.label} was measured with another plan than {one.label}: {', '.join(fields)}"


def describe_sides(
    results: Sequence[Result], labels: Sequence[str] | None = None
) -> tuple[Side, ...]:
    """The results in order, labelled by `labels` or their host names, repeated ones numbered.

    Errors: `UsageError` where there are not as many labels as results.
    """
    if labels is not None and len(labels) != len(results):
        raise UsageError(f"{len(labels)} labels for {len(results)} results")
    names = labels or [result.environment.hostname or "unnamed host" for result in results]
    return tuple(_side(r, name) for r, name in zip(results, _unique(names), strict=True))


def _unique(names: Sequence[str]) -> list[str]:
    """Each name once: the second and later of equal ones get their number."""
    unique: list[str] = []
    for index, name in enumerate(names):
        earlier = names[:index].count(name)
        unique.append(f"{name} ({earlier + 1})" if earlier else name)
    return unique


def _side(result: Result, label: str) -> Side:
    environment = result.environment
    models = {device.kind: device.model for device in result.devices}
    cuda = [device for device in result.devices if device.kind == "cuda"]
    # One without a model is a GPU that was asked for and is not there.
    measured = [device.model for device in cuda if device.model]
    gpus = environment.gpus or []
    # The file lists every GPU of the machine; without a measured one they are what could have been.
    names = measured or [gpu.name for gpu in gpus if gpu.name]
    return Side(
        label=label,
        hostname=environment.hostname,
        cpu=models.get("cpu") or environment.host.cpu_model,
        cores=environment.host.physical_cores or environment.host.logical_cpus,
        gpus=tuple(names),
        driver=_driver(gpus),
        created_at=result.created_at,
        tool_version=result.tool_version,
        build=environment.build_id,
        plan=result.plan,
        processes=result.processes,
        complete=result.complete,
        incomplete_reason=result.incomplete_reason,
        warnings=tuple(
            warning.code
            for warning in trust_warnings(environment, gpu_uuids=None if cuda else ())
            if warning.severity != "info"
        ),
    )


def _driver(gpus: Sequence[GpuFacts]) -> str | None:
    return next((gpu.driver_version for gpu in gpus if gpu.driver_version), None)
