"""Reasons that hold for many rows, in sentences a reader can take in."""

from __future__ import annotations

from ftax_micro.analysis.views.reasons import Subject, reason_lines

CASES = [Subject(f"model{n}", mode) for n in range(50) for mode in ("eager", "cuda_graph")]


def test_a_reason_of_everything_names_nothing() -> None:
    assert reason_lines([(each, "no floor") for each in CASES], CASES) == [
        "all 100 cases: no floor"
    ]
    assert reason_lines([(CASES[0], "no floor")], CASES[:1]) == ["model0 eager: no floor"]


def test_a_reason_of_few_names_each_case_once() -> None:
    told = [(each, "no twin") for each in CASES[:3]]
    assert reason_lines(told, CASES) == ["model0 eager, cuda_graph, model1 eager: no twin"]
    graphs = [(each, "no twin") for each in CASES[1:4:2]]
    assert reason_lines(graphs, CASES) == ["model0, model1 cuda_graph: no twin"]


def test_a_reason_of_whole_modes_names_these() -> None:
    told = [(each, "no GPU") for each in CASES if each.mode == "cuda_graph"]
    assert reason_lines(told, CASES) == ["all 50 cases in cuda_graph: no GPU"]
    steps = [Subject(f"step {n}") for n in range(20)]
    (line,) = reason_lines([(each, "empty") for each in steps[1:]], steps, "steps")
    assert line == "step 1, step 2, step 3 and 16 more of 20 steps: empty"


def test_many_reasons_end_in_a_count_and_long_ones_are_cut() -> None:
    told = [(each, f"error {n}") for n, each in enumerate(CASES)]
    lines = reason_lines([*told, (CASES[0], "common\nto  all")], CASES)
    assert len(lines) == 9
    assert lines[-1] == "and 93 more reasons, of 93 cases: --format csv or json has them all"
    (line,) = reason_lines([(CASES[0], "x" * 1000)], CASES)
    assert len(line) < 300
    assert line.endswith("…")


def test_reasons_of_more_cases_stand_first() -> None:
    told = [(CASES[0], "rare"), (CASES[1], "often"), (CASES[2], "often")]
    assert [line.rpartition(": ")[2] for line in reason_lines(told, CASES)] == ["often", "rare"]
