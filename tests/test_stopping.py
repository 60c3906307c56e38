"""The stopping criterion on scripted sequences: no clock, no samples, only what it is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ftax_micro.records import Plan
from ftax_micro.stopping import StoppingCriterion

PLAN = Plan(
    min_samples=100,
    min_time_s=0.5,
    timeout_s=10.0,
    patience_s=2.0,
    half_width=0.01,
    max_samples=10_000,
)

PLAN_WITHOUT_PATIENCE = Plan(
    min_samples=100, min_time_s=0.05, timeout_s=1e6, patience_s=1e6, half_width=0.01
)


class Script:
    """A criterion fed with batches of 10 samples, each of which takes a fixed time."""

    def __init__(
        self, width: Callable[[int], float | None], plan: Plan = PLAN, step_s: float = 0.01
    ) -> None:
        self.count, self.elapsed_s, self.looks = 0, 0.0, 0
        self._width, self._step_s = width, step_s
        self.criterion = StoppingCriterion(plan, self._look)

    def _look(self) -> float | None:
        self.looks += 1
        return self._width(self.count)

    def step(self) -> bool:
        self.count += 10
        self.elapsed_s += self._step_s
        self.criterion.add(10, self.elapsed_s)
        return self.criterion.is_finished()

    def run(self) -> str | None:
        """The reason in the end; every test's sequence has to end by itself."""
        for _ in range(100_000):
            if self.step():
                return self.criterion.reason
        return None


def noise_of(scale: float) -> Callable[[int], float]:
    """The half-width of `count` samples of constant noise."""
    return lambda count: scale / count**0.5


def test_a_narrow_interval_ends_it_after_the_minimum_samples() -> None:
    script = Script(lambda _: 0.001, step_s=1.0)
    assert script.run() == "interval"
    assert script.count == 100


def test_a_narrow_interval_ends_it_after_the_minimum_time() -> None:
    script = Script(lambda _: 0.001, step_s=0.01)
    assert script.run() == "interval"
    assert script.elapsed_s == pytest.approx(0.5)


def test_the_interval_is_not_even_asked_for_before_the_minimum() -> None:
    script = Script(lambda _: 0.001)
    while script.elapsed_s < 0.485:
        assert not script.step()
    assert script.looks == 0


def test_the_interval_may_be_exactly_as_wide_as_asked() -> None:
    assert Script(lambda _: 0.01, step_s=1.0).run() == "interval"
    assert Script(lambda _: 0.0101).run() != "interval"


def test_sampling_goes_on_until_the_interval_is_narrow() -> None:
    # 0.15 / √n reaches 1 % at n = 225; looks come every 15 %, so it is seen that much later.
    script = Script(noise_of(0.15), PLAN_WITHOUT_PATIENCE)
    assert script.run() == "interval"
    assert 225 <= script.count <= 225 * 1.15 + 10


def test_stable_noise_that_will_not_improve_ends_it_when_patience_is_over() -> None:
    script = Script(noise_of(1.0))
    assert script.run() == "noise_stable"
    # The first look after the patience: looks come every 15 %.
    assert 2.0 <= script.elapsed_s <= 2.0 * 1.15 + 0.02


def test_stable_noise_needs_several_looks_even_when_patience_is_over() -> None:
    script = Script(noise_of(1.0), step_s=1.0)
    assert script.run() == "timeout"
    assert script.looks < 4
    late = Plan(timeout_s=1e6, patience_s=2.0)
    script = Script(noise_of(1.0), late, step_s=1.0)
    assert script.run() == "noise_stable"
    assert script.looks == 4


def test_noise_that_still_changes_is_given_its_time() -> None:
    # Growing noise: the interval does not narrow at all, while 1/√n says it should.
    assert Script(lambda _: 0.05, step_s=0.02).run() == "timeout"
    # Falling noise: sampling goes on past the patience, until it stops falling.
    falling = Script(lambda count: (1 + 2000 / count) * 0.9 / count**0.5)
    steady = Script(noise_of(0.9))
    assert falling.run() == steady.run() == "noise_stable"
    assert falling.elapsed_s > steady.elapsed_s


def test_the_timeout_ends_it_whatever_else_is_missing() -> None:
    script = Script(lambda _: 0.001, step_s=3.0)
    assert script.run() == "timeout"
    assert script.count == 40
    assert script.looks == 0


def test_an_interval_that_is_narrow_at_the_timeout_is_no_timeout() -> None:
    # 0.22 / √n reaches 1 % at n = 484; without a last look at 500 the next one would come later.
    plan = Plan(min_samples=100, min_time_s=0.5, timeout_s=0.5, half_width=0.01)
    script = Script(noise_of(0.22), plan)
    assert script.run() == "interval"
    assert script.count == 500


def test_the_cap_on_samples_ends_it_but_not_before_the_minimum() -> None:
    capped = Plan(min_samples=100, max_samples=200, timeout_s=1e6, patience_s=1e6)
    assert Script(noise_of(1.0), capped).run() == "max_samples"
    script = Script(noise_of(1.0), Plan(min_samples=100, max_samples=50))
    assert script.run() == "max_samples"
    assert script.count == 100


def test_at_the_cap_a_narrow_interval_is_the_reason() -> None:
    capped = Plan(min_samples=100, min_time_s=0.0, max_samples=110, timeout_s=1e6, half_width=0.01)
    # Too wide at 100, narrow enough at 110, which the next regular look would not have seen.
    assert Script(lambda count: 0.02 if count < 110 else 0.005, capped).run() == "interval"


def test_an_undefined_interval_leaves_it_to_the_timeout() -> None:
    script = Script(lambda _: None, step_s=0.02)
    assert script.run() == "timeout"
    assert script.looks > 3


def test_looks_are_rare_since_each_costs_a_sort_or_a_bootstrap() -> None:
    script = Script(noise_of(1.0), PLAN_WITHOUT_PATIENCE)
    while script.count < 10_000:
        assert not script.step()
    # log(10,000 / 100) / log(1.15) = 33
    assert script.looks <= 34


def test_there_is_no_reason_while_it_goes_on() -> None:
    script = Script(noise_of(1.0))
    assert not script.step()
    assert script.criterion.reason is None
