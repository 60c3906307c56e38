"""Workloads against modes: a time or a reason in every place."""

from __future__ import annotations

import msgspec
from fake_results import result

from ftax_micro.analysis.latency_view import latency_view
from ftax_micro.records import Case, Data, Status
from ftax_micro.reporters.latency_matrix import render_matrix


def timed(model: str, mode: str, seconds: float, batch: int = 1) -> Case:
    return Case(
        model=model,
        mode=mode,
        device="cpu",
        dtype="fp32",
        status="ok",
        batch=batch,
        latency=Data(estimate="median", stop_reason="interval", samples=[seconds] * 30),
        blocks=[30],
    )


def absent(model: str, mode: str, status: Status, reason: str) -> Case:
    return Case(model=model, mode=mode, device="cpu", dtype="fp32", status=status, reason=reason)


def matrix(*cases: Case) -> list[str]:
    found = msgspec.structs.replace(result(), kind="model_latency", cases=list(cases))
    return render_matrix(latency_view(found)).splitlines()


def test_every_place_has_a_time_or_the_number_of_a_reason() -> None:
    lines = matrix(
        timed("a", "eager", 2e-3),
        absent("a", "fast", "failed", "no such operator"),
        timed("b", "eager", 5e-6),
        absent("b", "fast", "skipped", "no compiler"),
        timed("c", "eager", 1.0),
        absent("c", "fast", "failed", "no such operator"),
        timed("d", "eager", 1.0),
    )
    assert lines[0] == "| workload | eager | fast |"
    assert lines[2:6] == [
        "| a | 2.00 ms | failed [1] |",
        "| b | 5.00 µs | skipped [2] |",
        "| c | 1.00 s | failed [1] |",
        "| d | 1.00 s | not measured |",
    ]
    assert lines[7:] == ["- [1] no such operator", "- [2] no compiler"]


def test_a_mode_that_is_nowhere_for_one_reason_is_a_line() -> None:
    lines = matrix(
        timed("a", "eager", 1.0),
        absent("a", "graph", "skipped", "no GPU"),
        timed("b", "eager", 1.0),
        absent("b", "graph", "skipped", "no GPU"),
    )
    assert lines[0] == "| workload | eager |"
    assert lines[-1] == "- graph: skipped, no GPU"


def test_one_model_at_several_sizes_is_several_lines() -> None:
    lines = matrix(timed("a", "eager", 1.0), timed("a", "eager", 2.0, batch=2))
    assert lines[2:] == ["| a batch 1 fp32 | 1.00 s |", "| a batch 2 fp32 | 2.00 s |"]
