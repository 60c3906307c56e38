"""What is counted of a workload once all is timed; a count that fails costs nothing but itself."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping
from typing import TypeVar

from ftax_micro.errors import Interrupted, Skip
from ftax_micro.models.macs import count_macs, counts_soonest_in_place, module_macs
from ftax_micro.models.workload import Workload
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.executed import activation_bytes
from ftax_micro.orchestration.workload.job import Counted, Facts
from ftax_micro.orchestration.workload.memory import failure_reason
from ftax_micro.orchestration.workload.request import WorkloadRequest

_Count = TypeVar("_Count")


def count_executed(mode: str, prepared: Prepared) -> Counted:
    """The operations of one forward, or why they are not known."""

    def count() -> Mapping[str, int]:
        if prepared.executed is None:
            raise Skip("this mode does not tell its operations")
        return prepared.executed()

    executed, reason = _counted(count)
    return Counted(mode=mode, executed=dict(executed or {}), reason=reason)


def count_facts(
    request: WorkloadRequest, workload: Workload, *, has_spec: bool, forward_s: float
) -> Facts:
    """What is the same in all modes; a user's own module has no spec that is built anew.

    `forward_s`: what a forward takes, or more.
    """
    model = request.model

    def macs() -> int:
        if counts_soonest_in_place(forward_s):
            with contextlib.suppress(Skip):  # a device may have operations of its own
                one = module_macs(workload.module, workload.inputs, in_place=True)
                return one * workload.steps
        if has_spec and ":" not in model.text:
            return count_macs(model.spec, *request.made_of()) * workload.steps
        return module_macs(workload.module, workload.inputs) * workload.steps

    def activations() -> int:
        one = activation_bytes(lambda: workload.module(**workload.inputs))
        return one * workload.steps

    counts = {"macs": _counted(macs), "activation_bytes": _counted(activations)}
    reasons = {name: reason for name, (_, reason) in counts.items() if reason}
    return Facts(
        macs=counts["macs"][0], activation_bytes=counts["activation_bytes"][0], reasons=reasons
    )


def _counted(count: Callable[[], _Count]) -> tuple[_Count | None, str | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what counters say of torch's settings
            return count(), None
    except Interrupted:
        raise
    except Exception as error:
        return None, failure_reason(error)
