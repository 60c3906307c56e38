"""Host time by layer, on cases whose layers were put in."""

from __future__ import annotations

from typing import Any

import pytest
from ladder_results import rung
from timed_cases import GPU, case

from ftax_micro.analysis.ladder_view import LadderRow, ladder_rows
from ftax_micro.analysis.splits import Layer, Split, Way, splits
from ftax_micro.records import Case, DevicePass, HostCall

LAUNCH, DISPATCH, PYTHON, REST = 2e-6, 5e-6, 3e-6, 1e-3
OPERATIONS, LAUNCHES = 100, 80
EAGER = OPERATIONS * (DISPATCH + PYTHON) + LAUNCHES * LAUNCH + REST
SCRIPT = EAGER - OPERATIONS * PYTHON


def ladder(device: str = GPU, lowest: str = "runtime") -> list[LadderRow]:
    """Rungs that each add one layer's cost."""
    return ladder_rows(
        [
            rung(lowest, LAUNCH, op="kernel", device=device),
            rung("torchscript", LAUNCH + DISPATCH, below=lowest, device=device),
            rung(
                "torch_inference_mode",
                LAUNCH + DISPATCH + PYTHON,
                below="torchscript",
                device=device,
            ),
        ]
    )


def traced() -> DevicePass:
    call = HostCall(name="cudaLaunchKernel", begin_s=[0.0], duration_s=[0.0])
    return DevicePass(
        operations=[], calls=[call] * LAUNCHES, busy_s=[1.0], latency_s=[1.0], host_s=[1.0]
    )


def first(*cases: Case, rows: list[LadderRow] | None = None) -> Split:
    return splits(cases, rows or [])[0]


def value(found: Split, layer: Layer, way: Way) -> float:
    part = found.get(layer, way)
    assert part.reason is None
    assert part.seconds is not None
    low, high = part.seconds.low, part.seconds.high
    assert low is not None
    assert high is not None
    assert low <= part.seconds.value <= high
    assert part.share is not None
    return part.seconds.value


def test_layers_by_rungs_are_those_put_in_and_add_up() -> None:
    found = first(case(9e-3, EAGER, device_pass=traced()), rows=ladder())
    assert value(found, "python", "rungs") == pytest.approx(OPERATIONS * PYTHON)
    assert value(found, "dispatcher", "rungs") == pytest.approx(OPERATIONS * DISPATCH)
    assert value(found, "launch_path", "rungs") == pytest.approx(LAUNCHES * LAUNCH)
    assert value(found, "rest", "rungs") == pytest.approx(REST)
    own = [each for each in found.parts if each.way == "rungs"]
    shares = [each.share.value for each in own if each.share is not None]
    assert sum(shares) == pytest.approx(1.0)
    assert found.get("launch_path", "rungs").basis == "80 launches at the cost of runtime"
    assert found.get("python", "rungs").basis == (
        "100 operations at the increment of torch_inference_mode"
    )
    assert "by it alone" in str(found.get("library", "rungs").reason)


def test_layers_by_modes_are_those_put_in() -> None:
    graph = 0.05e-3
    eager, script, _ = splits(
        [
            case(9e-3, EAGER),
            case(8e-3, SCRIPT, mode="torchscript"),
            case(4e-3, graph, mode="cuda_graph", executed={}),
        ]
    )
    assert value(eager, "python", "modes") == pytest.approx(OPERATIONS * PYTHON)
    for found in (eager, script):
        assert value(found, "dispatcher_and_launch_path", "modes") == pytest.approx(SCRIPT - graph)
    share = eager.get("dispatcher_and_launch_path", "modes").share
    assert share is not None
    assert share.value == pytest.approx((SCRIPT - graph) / EAGER)
    assert [each.layer for each in script.parts if each.way == "modes"] == [
        "dispatcher_and_launch_path"
    ]


def test_on_the_cpu_the_twin_is_the_host_time() -> None:
    def both(mode: str, twin_s: float) -> list[Case]:
        return [
            case(50e-3, 50e-3, mode=mode, device="cpu"),
            case(twin_s, twin_s, mode=mode, device="cpu", twin=True),
        ]

    found = first(
        *both("eager", EAGER), *both("torchscript", SCRIPT), rows=ladder("cpu", "raw_call")
    )
    assert found.whole.basis == "latency of the zero-work twin"
    assert value(found, "python", "modes") == pytest.approx(OPERATIONS * PYTHON)
    assert value(found, "launch_path", "rungs") == pytest.approx(OPERATIONS * LAUNCH)
    assert value(found, "rest", "rungs") == pytest.approx(REST - (OPERATIONS - LAUNCHES) * LAUNCH)
    assert all(each.layer != "dispatcher_and_launch_path" for each in found.parts)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (None, "not measured on this workload"),
        ({"executed": {"aten::add": 60, "aten::mm": 30}}, "other operations (10.0% of them"),
        ({"executed": {}}, "were not counted"),
        ({"host": None}, "is not known"),
        ({"batch": 8}, "not measured on this workload"),
    ],
)
def test_modes_are_subtracted_only_where_they_differ_in_one_layer(
    other: dict[str, Any] | None, words: str
) -> None:
    more = [] if other is None else [case(8e-3, **{"host": SCRIPT, "mode": "torchscript", **other})]
    part = first(case(9e-3, EAGER), *more).get("python", "modes")
    assert part.seconds is None
    assert words in str(part.reason)


def test_what_a_layer_needs_is_said() -> None:
    bare = first(case(9e-3, EAGER))
    assert bare.get("python", "rungs").reason == "the rung torch_inference_mode was not measured"
    assert "python is not known" in str(bare.get("rest", "rungs").reason)
    untraced = first(case(9e-3, EAGER), rows=ladder())
    assert untraced.get("launch_path", "rungs").reason == "its launches were not counted"
    uncounted = first(case(9e-3, EAGER, executed={}), rows=ladder())
    assert uncounted.get("dispatcher", "rungs").reason == "its operations were not counted"
    alone = ladder_rows([rung("torchscript", 7e-6, device=GPU)])
    assert first(case(9e-3, EAGER), rows=alone).get("dispatcher", "rungs").reason == (
        "the rung torchscript has no rung below it"
    )
    elsewhere = first(case(9e-3, EAGER), rows=ladder("cuda:1"))
    assert "not measured" in str(elsewhere.get("python", "rungs").reason)


def test_what_cannot_be_split_at_all_says_why() -> None:
    graph = first(case(4e-3, 1e-4, mode="cuda_graph"), rows=ladder())
    assert graph.parts == ()
    assert "operation by operation" in str(graph.reason)
    unknown = first(case(50e-3, 50e-3, device="cpu"), rows=ladder("cpu", "raw_call"))
    assert unknown.parts == ()
    assert "zero-work twin was not measured" in str(unknown.reason)
    assert splits([case(1.0, status="failed"), case(1.0, twin=True)]) == []


def test_negative_parts_are_kept() -> None:
    found = first(case(9e-3, EAGER), case(8e-3, 2 * EAGER, mode="torchscript"))
    assert value(found, "python", "modes") == pytest.approx(-EAGER)
