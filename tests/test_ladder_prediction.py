"""How much of a model's host time its operations' dispatch explains."""

from __future__ import annotations

from typing import Any

import pytest
from ladder_results import rung

from ftax_micro.analysis.ladder_prediction import Prediction, predict
from ftax_micro.analysis.ladder_view import ladder_rows
from ftax_micro.records import Case, Data, Measurement
from ftax_micro.reporters.ladder import prediction_line


def case(mode: str, seconds: float, operations: int = 100, **changes: Any) -> Case:
    data = Data(estimate="median", stop_reason="interval", samples=[seconds] * 30)
    values: dict[str, Any] = {
        "model": "bert_base",
        "mode": mode,
        "device": "cpu",
        "dtype": "fp32",
        "status": "ok",
        "latency": data,
        "host": data,
        "blocks": [30],
        "executed": {"aten::add": operations} if operations else {},
    }
    return Case(**{**values, **changes})


EAGER = rung("torch_inference_mode", 2e-6, 1e-6)


def only(rungs: Measurement, *cases: Case) -> Prediction:
    (found,) = predict(ladder_rows([rungs]), cases)
    return found


def test_the_twins_time_is_what_is_explained() -> None:
    found = only(EAGER, case("eager", 50e-3), case("eager", 1e-3, twin=True))
    assert found.measured_as == "its zero-work twin"
    assert found.predicted is not None
    assert found.predicted.value == pytest.approx(201e-6)
    assert found.share is not None
    assert found.share.value == pytest.approx(0.201)
    assert found.left is not None
    assert found.left.value == pytest.approx(799e-6)
    assert prediction_line(found) == (
        "bert_base eager on cpu: 100 operations at the cost of torch_inference_mode come to 201 µs "
        "of 1 ms (its zero-work twin): 20 % (20 … 20 %), which leaves 799 µs to Python, the "
        "modules and larger operations"
    )


def test_on_a_gpu_host_time_is_apart_from_the_kernels() -> None:
    on_gpu = rung("torch_inference_mode", 5e-6, device="cuda:0")
    found = only(on_gpu, case("eager", 1e-3, device="cuda:0"))
    assert found.measured_as == "host time"
    assert found.share is not None
    assert found.share.value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("cases", "reason"),
    [
        ([case("eager", 1e-3)], "on the cpu only a zero-work twin has host time apart"),
        ([case("onnxruntime", 1e-3)], "the rung onnxruntime has no value: it was not measured on"),
        (
            [case("eager", 1.0), case("eager", 1e-3, 0, twin=True)],
            "its operations are not known: they were not counted",
        ),
    ],
)
def test_what_cannot_be_predicted_says_why(cases: list[Case], reason: str) -> None:
    found = only(EAGER, *cases)
    assert found.share is None
    assert str(found.reason).startswith(reason)
    assert prediction_line(found).endswith(str(found.reason))


def test_modes_without_a_rung_and_cases_without_a_time_are_left_out() -> None:
    failed = case("eager", 1.0, status="failed", reason="broke", latency=None, blocks=[])
    assert predict(ladder_rows([EAGER]), [case("cuda_graph", 1.0), failed]) == []


def test_more_than_there_is_leaves_nothing_to_others() -> None:
    found = only(EAGER, case("eager", 50e-3), case("eager", 0.1e-3, twin=True))
    assert found.share is not None
    assert found.share.value == pytest.approx(2.01)
    assert prediction_line(found).endswith(
        " %), more than there is: here most operations cost less than the rung's"
    )
