"""Sampling settings that make sense, whoever chose them."""

from __future__ import annotations

import math

import msgspec

from ftax_micro.errors import UsageError
from ftax_micro.records import QUICK_PLAN, Plan

# Beyond these a setting is a slip of the keyboard: every sample is kept and stored (10⁷ of them are
# a file of some 200 MB a row), and no row gets better by a day.
MOST_SAMPLES = 10_000_000
LONGEST_S = 86_400.0
# A process that shares a row's time shares its warm-up, down to that of a quick run: after 5 to 10
# ms no call, addition or hand-over was further than 2 % from where it stayed.
_LEAST_WARMUP_S = QUICK_PLAN.warmup_time_s


def shared_plan(plan: Plan, processes: int) -> Plan:
    """`plan` for each of several processes that share a row's time and samples."""
    return msgspec.structs.replace(
        plan,
        min_samples=math.ceil(plan.min_samples / processes),
        min_time_s=plan.min_time_s / processes,
        timeout_s=plan.timeout_s / processes,
        patience_s=plan.patience_s / processes,
        max_samples=math.ceil(plan.max_samples / processes),
        warmup_time_s=max(plan.warmup_time_s / processes, min(plan.warmup_time_s, _LEAST_WARMUP_S)),
    )


def check_plan(plan: Plan) -> Plan:
    """`plan` itself. Errors: `UsageError` naming the first field that makes no sense."""
    try:
        msgspec.convert(msgspec.to_builtins(plan), Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"not a plan: {error}") from error
    for name in ("min_samples", "max_samples"):
        value = getattr(plan, name)
        if not 1 <= value <= MOST_SAMPLES:
            raise UsageError(f"{name} ({value}) is not between 1 and {MOST_SAMPLES}")
    for name in ("min_time_s", "timeout_s", "patience_s", "warmup_time_s"):
        value = getattr(plan, name)
        if not 0 <= value <= LONGEST_S:
            raise UsageError(f"{name} ({value:g}) is not between 0 and {LONGEST_S:g} seconds")
    if plan.timeout_s < plan.min_time_s:
        raise UsageError(
            f"timeout_s ({plan.timeout_s:g}) is below min_time_s ({plan.min_time_s:g})"
        )
    if not (plan.half_width > 0 and math.isfinite(plan.half_width)):
        raise UsageError(f"half_width ({plan.half_width:g}) is not above 0")
    if not 0.5 <= plan.confidence < 1:
        raise UsageError(f"confidence ({plan.confidence:g}) is not between 0.5 and 1")
    return plan
