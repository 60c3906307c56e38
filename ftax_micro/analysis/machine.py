"""Which machine a result is of: what one says of costs holds for another of its machine alone."""

from __future__ import annotations

from ftax_micro.results import Result


def same_machine(one: Result, other: Result) -> bool:
    """Whether they have a GPU in common; else whether host names agree, and the models of the
    devices that both have by the same name. What is known of neither is taken for the same.

    A container's host name may be another one every time, a GPU's number is not.
    """
    if _uuids(one) & _uuids(other):
        return True
    theirs = {each.name: each.model for each in other.devices}
    models = [(each.model, theirs[each.name]) for each in one.devices if each.name in theirs]
    return one.environment.hostname == other.environment.hostname and all(
        None in pair or pair[0] == pair[1] for pair in models
    )


def _uuids(result: Result) -> set[str]:
    """Those of the GPUs that were measured."""
    return {str(each.facts["uuid"]) for each in result.devices if each.facts.get("uuid")}


def device_models(result: Result) -> list[str]:
    """The models of the devices that were measured, GPUs first: what costs depend on most."""
    ordered = sorted(result.devices, key=lambda each: each.kind != "cuda")
    return list(dict.fromkeys(each.model or each.name for each in ordered))


def machine_name(result: Result) -> str:
    """Host name and devices, in words."""
    models = dict.fromkeys(each.model or each.name for each in result.devices)
    name = result.environment.hostname or "a machine without a name"
    return f"{name} ({', '.join(models)})"
