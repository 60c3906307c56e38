"""What belongs together of several files: models, and the floor and the ladder of their machine."""

from __future__ import annotations

from typing import Any

import msgspec
from fake_results import environment
from floor_results import floor_result
from ladder_results import ladder, rung
from test_case_bounds import case, on_cpu

from ftax_micro.analysis.machine import machine_name, same_machine
from ftax_micro.analysis.views.contract import Question, Source
from ftax_micro.records import DeviceFacts
from ftax_micro.results import Result

FLOOR = floor_result()
MODELS = msgspec.structs.replace(
    FLOOR, kind="model_latency", measurements=[], cases=[case(), on_cpu(100.0)]
)
LADDER = ladder(rung("torchscript", 2e-6))
ELSEWHERE = environment(hostname="elsewhere")


def asked(*results: Result, **how: Any) -> Question:
    return Question(tuple(Source(f"{n}.json", each) for n, each in enumerate(results)), **how)


def moved(result: Result) -> Result:
    return msgspec.structs.replace(result, environment=ELSEWHERE)


def test_floor_and_ladder_of_the_same_machine_serve_the_models() -> None:
    question = asked(MODELS, FLOOR, LADDER)
    (models,) = question.models
    assert models.source == "0.json"
    assert models.floor is FLOOR
    assert [row.rung for row in models.ladder] == ["torchscript"]
    assert models.bounds[0].bounds is not None
    assert question.unused == []


def test_those_of_another_machine_do_not_and_are_told() -> None:
    question = asked(MODELS, moved(FLOOR), moved(LADDER))
    (models,) = question.models
    assert models.floor is MODELS
    assert models.ladder == []
    assert models.bounds[0].bounds is None
    assert [sentence[:6] for sentence in question.unused] == ["1.json", "2.json"]
    assert "elsewhere" in question.unused[0]
    assert question.unused[0].endswith("what_if compares with it")
    assert question.unused[1].endswith("measured: left aside")
    assert [floor for _, floor in question.other_floors(MODELS)] == [question.sources[1].result]


def test_a_given_floor_comes_first_then_a_results_own() -> None:
    own = msgspec.structs.replace(MODELS, measurements=FLOOR.measurements)
    assert asked(FLOOR, own).models[0].floor is own
    given = moved(FLOOR)
    assert asked(FLOOR, own, floor=given).models[0].floor is given
    assert asked(own, other_floor=given).other_floors(own) == [(machine_name(given), given)]


def test_a_floor_without_the_device_of_a_case_is_no_floor_of_it() -> None:
    cpu_alone = [row for row in FLOOR.measurements if row.device == "cpu"]
    on_gpu = msgspec.structs.replace(MODELS, cases=[case()])
    assert asked(on_gpu, msgspec.structs.replace(FLOOR, measurements=cpu_alone)).models[
        0
    ].floor is (on_gpu)


def test_a_machine_is_its_name_and_its_devices() -> None:
    assert same_machine(FLOOR, LADDER)
    assert not same_machine(FLOOR, moved(FLOOR))
    other = DeviceFacts(name="cpu", kind="cpu", model="Another CPU")
    assert not same_machine(FLOOR, msgspec.structs.replace(FLOOR, devices=[other]))
    gpu = DeviceFacts(name="cuda:0", kind="cuda", model="A", facts={"uuid": "GPU-1"})
    boxed = msgspec.structs.replace(moved(FLOOR), devices=[gpu])
    assert same_machine(msgspec.structs.replace(FLOOR, devices=[gpu]), boxed)
    assert not same_machine(FLOOR, boxed)
    nameless = environment(hostname=None)
    unnamed = msgspec.structs.replace(FLOOR, environment=nameless)
    assert machine_name(unnamed).startswith("a machine without a name (")
    assert same_machine(unnamed, unnamed)
