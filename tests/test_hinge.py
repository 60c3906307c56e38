"""Crossovers of synthetic sweeps whose laws are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftax_micro.analysis.crossover.hinge import Crossover, Law, crossover, crossovers
from ftax_micro.analysis.crossover.sweeps import model_settings, sweeps
from ftax_micro.records import Case, Data

_POWERS = [1, 2, 4, 8, 16, 32, 64, 128]


def _hinge(x: float, plateau: float = 10e-3, intercept: float = 2e-3, slope: float = 1e-3) -> float:
    return max(plateau, intercept + slope * x)


def _line(x: float) -> float:
    return 4e-3 + 0.5e-3 * x


def _noisy(
    value: float, rng: np.random.Generator, noise: float = 0.01, size: int = 40
) -> list[float]:
    """Right-skewed samples whose median is `value`."""
    steps = rng.gamma(2.0, noise, size)
    return list(value * (1 + steps - 1.6783 * noise))


def _case(x: int, samples: list[float], **fields: object) -> Case:
    given: dict[str, object] = {
        "model": "bert_base",
        "mode": "eager",
        "device": "cuda:0",
        "dtype": "fp16",
        "batch": x,
        "sequence": 128,
    }
    data = Data(estimate="median", stop_reason="interval", samples=samples)
    return Case(status="ok", latency=data, **(given | fields))  # type: ignore[arg-type]


def test_exact_hinge_is_found_exactly() -> None:
    found = crossover([(x, [_hinge(x)] * 10) for x in _POWERS], "max")
    assert found.x is not None
    assert found.x.value == pytest.approx(8.0)
    assert found.plateau is not None
    assert found.plateau.value == pytest.approx(10e-3)
    assert found.intercept is not None
    assert found.slope is not None
    assert found.intercept.value == pytest.approx(2e-3)
    assert found.slope.value == pytest.approx(1e-3)
    assert found.worst_residual == pytest.approx(0.0, abs=1e-9)
    assert found.fixed == found.plateau


def test_exact_line_crosses_where_work_equals_the_intercept() -> None:
    found = crossover([(x, [_line(x)] * 10) for x in reversed(_POWERS)], "sum")
    assert found.x is not None
    assert found.x.value == pytest.approx(8.0)
    assert found.fixed is not None
    assert found.fixed.value == pytest.approx(4e-3)


@pytest.mark.parametrize(("law", "truth"), [("max", 11.0), ("sum", 11.0), ("max", 30.0)])
def test_interval_is_never_narrower_than_the_neighbouring_points(law: Law, truth: float) -> None:
    laws = [1e-3 * max(truth, x) if law == "max" else 1e-3 * (truth + x) for x in _POWERS]
    found = crossover([(x, [t] * 10) for x, t in zip(_POWERS, laws, strict=True)], law)
    assert found.x is not None
    low = max(x for x in _POWERS if x <= truth)
    assert [*found.x] == pytest.approx([truth, low, 2 * low])


def test_a_crossover_at_a_point_may_be_anywhere_between_its_neighbours() -> None:
    found = crossover([(x, [_hinge(x)] * 10) for x in _POWERS], "max")
    assert found.x is not None
    assert [*found.x] == pytest.approx([8, 4, 16])


@pytest.mark.parametrize("law", ["max", "sum"])
@pytest.mark.parametrize("noise", [0.01, 0.08])
def test_interval_covers_the_truth_in_nine_of_ten_trials(law: Law, noise: float) -> None:
    rng = np.random.default_rng(7)
    sizes = [1, 2, 4, 6, 8, 11, 14, 18, 24, 32]
    covered = trials = 0
    for _ in range(60):
        truth = rng.uniform(4.5, 15.5)
        t0, share = 10e-3, rng.uniform(0.0, 0.5)
        slope = t0 * (1 - share) / truth
        if law == "max":
            times = [max(t0, t0 * share + slope * x) for x in sizes]
        else:
            times = [t0 + t0 / truth * x for x in sizes]
        points = [(x, _noisy(t, rng, noise)) for x, t in zip(sizes, times, strict=True)]
        found = crossover(points, law, resamples=200)
        trials += 1
        if found.x is not None:
            assert found.x.low is not None
            assert found.x.high is not None
            covered += found.x.low <= truth <= found.x.high
    assert covered >= 0.9 * trials


def _reason(times: list[float], law: Law = "max", sizes: list[int] | None = None) -> str:
    rng = np.random.default_rng(3)
    points = [(x, _noisy(t, rng)) for x, t in zip(sizes or _POWERS, times, strict=False)]
    found = crossover(points, law)
    assert found.x is None
    assert found.reason is not None
    return found.reason


def test_a_sweep_with_fewer_than_two_points_on_a_side_has_no_crossover() -> None:
    assert "needs 2 on either side" in _reason([1e-3, 1e-3, 2e-3])
    assert "last point alone" in _reason([_hinge(x, 100e-3) for x in _POWERS])
    assert "no plateau" in _reason([_hinge(x, 1e-3) for x in _POWERS])
    assert "no plateau" in _reason([_hinge(x, 3.1e-3) for x in _POWERS])
    assert "first points" in _reason([0.5e-3 + 0.5e-3 * x for x in _POWERS], "sum")
    assert "last points" in _reason([0.1 + 1e-3 * x for x in _POWERS], "sum")


@pytest.mark.parametrize("seed", range(12))
def test_flat_noise_is_no_crossover_but_a_plateau(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = crossover([(x, _noisy(5e-3, rng, 0.03)) for x in _POWERS], "max")
    assert found.x is None
    assert found.reason == "latency does not grow up to 128"
    assert found.plateau is not None
    assert found.plateau.low is not None
    assert found.plateau.high is not None
    assert found.plateau.low <= 5e-3 * 1.02
    assert found.plateau.high >= 5e-3 * 0.98
    assert crossover([(x, [5e-3] * 9) for x in _POWERS], "sum").reason == found.reason


def test_single_samples_have_a_value_but_no_interval() -> None:
    found = crossover([(x, [_hinge(x)]) for x in _POWERS], "max")
    assert found.x is not None
    assert found.x.value == pytest.approx(8.0)
    assert (found.x.low, found.x.high) == (None, None)


def test_the_same_sweep_has_the_same_interval_and_its_order_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    points = [(x, _noisy(_hinge(x), rng, 0.05)) for x in _POWERS]
    assert crossover(points, "max") == crossover(points[::-1], "max")


def test_points_that_do_not_lie_on_the_law_widen_the_interval() -> None:
    def interval(jitter: float) -> float:
        rng = np.random.default_rng(5)
        sizes = [x + 0.5 for x in range(32)]
        jittered = [_hinge(x) * (1 + jitter * rng.choice([-1, 1])) for x in sizes]
        found = crossover([(x, [t] * 30) for x, t in zip(sizes, jittered, strict=True)], "max")
        assert found.x is not None
        assert found.x.low is not None
        assert found.x.high is not None
        return found.x.high - found.x.low

    assert interval(0.0) == pytest.approx(1.0)
    assert interval(0.15) > 2


@given(scale=st.floats(1e-6, 1e3), stretch=st.floats(0.1, 100), seed=st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_units_of_time_and_size_do_not_matter(scale: float, stretch: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = [(x, np.array(_noisy(_hinge(x), rng, 0.03))) for x in _POWERS]
    plain = crossover(times, "max", resamples=50)
    scaled = crossover([(x * stretch, t * scale) for x, t in times], "max", resamples=50)
    assert plain.x is not None
    assert scaled.x is not None
    assert scaled.x.value == pytest.approx(plain.x.value * stretch)
    assert plain.plateau is not None
    assert scaled.plateau is not None
    assert scaled.plateau.value == pytest.approx(plain.plateau.value * scale)


@pytest.mark.parametrize("bad", [(0.0, [1.0]), (1.0, []), (1.0, [0.0]), (1.0, [float("nan")])])
def test_what_is_no_point_is_refused(bad: tuple[float, list[float]]) -> None:
    with pytest.raises(ValueError, match="positive"):
        crossover([bad], "max")


def test_cases_are_grouped_by_all_but_the_axis() -> None:
    cases = [
        _case(x, [_hinge(x) * (2 if mode == "eager" else 1)] * 9, mode=mode, dtype=dtype)
        for mode in ("eager", "torchscript")
        for dtype in ("fp16", "fp32")
        for x in _POWERS
    ]
    found = crossovers([*cases, _case(1, [1e-3] * 9, twin=True)])
    assert [(each.sweep.mode, each.sweep.dtype) for each in found] == [
        ("eager", "fp16"),
        ("eager", "fp32"),
        ("torchscript", "fp16"),
        ("torchscript", "fp32"),
    ]
    assert all(each.sweep.axis == "batch" for each in found)
    assert all(each.sweep.sizes == (("sequence", 128),) for each in found)
    assert [each.crossover.x.value for each in found if each.crossover.x] == pytest.approx([8] * 4)


def test_the_cpu_adds_and_a_gpu_overlaps() -> None:
    laws = {
        device: _only([_case(x, [_line(x)] * 9, device=device) for x in _POWERS])
        for device in ("cpu", "cuda:1")
    }
    assert laws["cpu"].law == "sum"
    assert laws["cpu"].x is not None
    assert laws["cuda:1"].law == "max"
    assert laws["cuda:1"].reason is not None


def _only(cases: list[Case]) -> Crossover:
    (found,) = crossovers(cases)
    return found.crossover


def test_a_grid_gives_sweeps_along_both_axes() -> None:
    grid = [_case(b, [1e-3] * 6, sequence=s) for b in (1, 2, 4) for s in (64, 128)]
    found = sweeps(grid)
    assert [(each.axis, each.values) for each in found] == [
        *[("batch", (1, 2, 4))] * 2,
        *[("sequence", (64, 128))] * 3,
    ]
    failed = [
        _case(8, [1e-3]),
        Case(model="m", mode="eager", device="cpu", dtype="fp32", status="failed"),
    ]
    assert sweeps(failed) == []


def test_settings_are_axes_alone_or_together() -> None:
    depths = [
        _case(1, [x * 1e-3] * 6, model=f"bert_base@num_hidden_layers={x}") for x in (12, 2, 4, 6)
    ]
    (depth,) = sweeps(depths)
    assert (depth.axis, depth.model, depth.values) == (
        "num_hidden_layers",
        "bert_base",
        (2, 4, 6, 12),
    )
    widths = [
        _case(
            1,
            [1e-3] * 6,
            model=f"bert_base@hidden_size={x},hidden_act=relu,intermediate_size={4 * x}",
        )
        for x in (768, 384)
    ]
    (width,) = sweeps(widths)
    assert (width.axis, width.values) == ("hidden_size+intermediate_size", (384, 768))
    assert width.model == "bert_base@hidden_act=relu"
    both = [_case(1, [1e-3] * 6, model=f"m@depth={d},width={w}") for d in (1, 2) for w in (3, 4)]
    assert [each.axis for each in sweeps(both)] == ["depth", "depth", "width", "width"]
    words = [_case(1, [1e-3] * 6, model=f"m@act={a}") for a in ("relu", "gelu")]
    assert sweeps(words) == []
    against = [_case(1, [1e-3] * 6, model=f"m@a={a},b={-a}") for a in (1, 2)]
    assert sweeps(against) == []
    assert model_settings("m@a=1,b=x") == ("m", {"a": "1", "b": "x"})
