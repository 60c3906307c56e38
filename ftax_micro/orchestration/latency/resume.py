"""Going on with a result: which of its cases are kept, and whether it can be gone on with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ftax_micro.errors import UsageError
from ftax_micro.facts import Environment
from ftax_micro.orchestration.latency.requests import Task, request_key
from ftax_micro.orchestration.workload.request import WorkloadRequest
from ftax_micro.records import Case, Plan
from ftax_micro.results import Result

# What makes another machine of one; versions of packages may differ, names of hosts come and go.
_MACHINE = ("cpu_model", "logical_cpus", "physical_cores")


class CaseBook:
    """Cases by workload and mode, in the order they came."""

    def __init__(self, cases: Iterable[Case] = ()) -> None:
        self._cases: dict[tuple[object, ...], Case] = {}
        self.add(cases)

    def add(self, cases: Iterable[Case]) -> None:
        """Keep `cases`, each in place of a former one of the same workload and mode."""
        self._cases.update({case_key(case): case for case in cases})

    def cases(self) -> list[Case]:
        """All of them."""
        return list(self._cases.values())

    def missing(self, task: Task, retry: bool) -> list[str]:
        """The modes of `task` that are still to be measured; with `retry` also those that failed
        or were skipped. One that was interrupted is.
        """
        return [mode for mode in task.modes if not self._settled(task.request, mode, retry)]

    def _settled(self, request: WorkloadRequest, mode: str, retry: bool) -> bool:
        case = self._cases.get((*request_key(request), mode))
        if case is None or case.status != "ok":
            return case is not None and not retry
        return case.latency is not None and case.latency.stop_reason != "interrupted"


def case_key(case: Case) -> tuple[object, ...]:
    """As `request_key`, with the mode."""
    return (
        *(case.model, case.device, case.dtype, case.facts.get("threads", 1)),
        *(case.batch, case.sequence, case.image, case.audio),
        *(case.lengths, case.twin, case.mode),
    )


def check_resumable(former: Result, plan: Plan, environment: Environment, source: str) -> None:
    """Errors: `UsageError` where `former`, read from `source`, is no model latency, or was measured
    with other settings or on another machine; it says what differs.
    """
    if former.kind != "model_latency":
        raise UsageError(f"{source} is a result of {former.kind}, which --resume cannot go on with")
    differing = _differences(_fields(former.plan), _fields(plan), list(_fields(plan)))
    if differing:
        raise UsageError(
            f"{source} was measured with other settings: {'; '.join(differing)}; choose the same, "
            "or another file"
        )
    differing = _differences(_machine(former.environment), _machine(environment))
    if differing:
        raise UsageError(f"{source} was measured on another machine: {'; '.join(differing)}")


def _fields(plan: Plan) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(plan)
    return fields


def _machine(environment: Environment) -> dict[str, object]:
    host = environment.host
    known = {name: getattr(host, name) for name in _MACHINE}
    gpus = sorted(gpu.uuid for gpu in environment.gpus or () if gpu.uuid)
    return {"machine": environment.machine, **known, "GPUs": ", ".join(gpus) or None}


def _differences(
    before: dict[str, object], now: dict[str, object], names: Sequence[str] | None = None
) -> list[str]:
    """In words; what is not known on one side differs in nothing."""
    return [
        f"{name} {before[name]} in the file, {now[name]} now"
        for name in names or before
        if before[name] != now[name] and (names or (before[name] and now[name]))
    ]
