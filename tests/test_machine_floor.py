"""A floor of a measured machine beside a trace: which of its GPUs, and whether it is the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from fake_results import result
from floor_results import floor_result
from profiler_traces import launched, trace_text

from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.machine_floor import machine_floors, machine_mismatch
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.records import DeviceFacts
from ftax_micro.results import Result


def of(gpus: dict[int, str], device: int = 0) -> Trace:
    properties = [{"id": number, "name": name} for number, name in gpus.items()]
    events = launched(1, 0, 2, 5, 9, device=device)
    return read_pytorch_trace(trace_text(events, {"deviceProperties": properties}))


def measured(**gpus: Any) -> Result:
    found = floor_result()
    devices = [
        *(each for each in found.devices if each.kind == "cpu"),
        *(DeviceFacts(name=f"cuda:{n[1:]}", kind="cuda", model=model) for n, model in gpus.items()),
    ]
    return msgspec.structs.replace(found, devices=devices)


@pytest.mark.parametrize(
    ("trace", "floor", "words"),
    [
        ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", None),
        ("A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", None),
        ("Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-40GB", "recorded on Tesla V100-SXM2-16GB, the"),
        ("Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-40GB", "(NVIDIA A100-SXM4-40GB)"),
        ("Tesla V100-SXM2-16GB", None, "a GPU without a name"),
    ],
)
def test_a_floor_of_another_gpu_is_told_with_both_names(
    trace: str, floor: str | None, words: str | None
) -> None:
    told = machine_mismatch(of({0: trace}), measured(_0=floor))
    assert told is None if words is None else words in str(told)


def test_a_trace_that_does_not_name_its_gpu_may_be_of_any() -> None:
    told = machine_mismatch(of({}), measured(_0="NVIDIA A100"))
    assert told is not None
    assert "does not name its GPU" in told
    assert "NVIDIA A100" in told


def test_the_gpu_of_the_same_name_counts_then_that_of_the_number() -> None:
    """The rows are those of cuda:0; whoever is sent elsewhere finds none."""
    two = measured(_0="NVIDIA A100", _1="NVIDIA H100")
    assert machine_floors(of({3: "A100"}, 3), two)[3].to_start is not None
    assert machine_floors(of({0: "H100"}), two)[0].to_start is None
    assert machine_floors(of({}, 1), two)[1].to_start is None
    assert machine_floors(of({}, 7), two)[7].to_start is not None
    assert machine_mismatch(of({3: "A100"}, 3), two) is None


def test_a_machine_without_a_gpu_has_no_floor_for_one() -> None:
    cpu = msgspec.structs.replace(
        result(), devices=[DeviceFacts(name="cpu", kind="cpu", model="A CPU")]
    )
    (values,) = machine_floors(of({0: "A100"}), cpu).values()
    assert values.why_not("to_start") == "the floor is of a machine without a GPU"
    assert machine_mismatch(of({0: "A100"}), cpu) is None
