"""When to stop sampling: an object that is fed and asked, and keeps its reason.

The order of the questions is the rule: minimum samples and minimum time first, then the interval,
then whether going on can still help, then the cap on samples, the timeout last. The exit on stable
noise follows nvbench's stdrel criterion in spirit: a noisy machine is a fact to report, not a
reason to burn the whole timeout.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ftax_micro.records import Plan, StopReason

# Evaluations over which noise must have stayed put, and how much of its largest value it may move
# to count as put.
_STABLE_EVALUATIONS = 4
_STABLE_CHANGE = 0.15
# Between two evaluations the sample grows by this factor: evaluating costs a sort or a bootstrap,
# and the interval shrinks only with the square root of the count.
_GROWTH = 1.15


class StoppingCriterion:
    """Decides after each batch whether one measurement is done.

    Feed `add(count, elapsed_s)` with the number of samples just taken and the time since sampling
    began; ask `is_finished()`; read `reason` then. `half_width` is called for the present relative
    half-width of the interval (None: not defined yet), and only when a decision hangs on it.
    """

    def __init__(self, plan: Plan, half_width: Callable[[], float | None]) -> None:
        self._plan = plan
        self._half_width = half_width
        self._count = 0
        self._elapsed_s = 0.0
        self._next_look = plan.min_samples
        self._noises: deque[float] = deque(maxlen=_STABLE_EVALUATIONS)
        self.reason: StopReason | None = None

    def add(self, count: int, elapsed_s: float) -> None:
        """Account for `count` further samples; `elapsed_s` is the time since sampling began."""
        self._count += count
        self._elapsed_s = elapsed_s

    def is_finished(self) -> bool:
        """Whether sampling should end now; sets `reason` when it should."""
        self.reason = self._decide()
        return self.reason is not None

    def _decide(self) -> StopReason | None:
        plan = self._plan
        full = self._count >= max(plan.max_samples, plan.min_samples)
        late = self._elapsed_s >= plan.timeout_s
        enough = self._count >= plan.min_samples and self._elapsed_s >= plan.min_time_s
        # A cap that is reached forces a look: the interval may have become narrow enough since the
        # last.
        if enough and (full or late or self._count >= self._next_look):
            self._next_look = int(self._count * _GROWTH) + 1
            reached = self._look()
            if reached is not None:
                return reached
        if full:
            return "max_samples"
        return "timeout" if late else None

    def _look(self) -> StopReason | None:
        width = self._half_width()
        if width is None:
            return None
        if width <= self._plan.half_width:
            return "interval"
        # The half-width of n samples falls with √n, so width · √n is the noise itself.
        self._noises.append(width * self._count**0.5)
        if self._elapsed_s < self._plan.patience_s or len(self._noises) < _STABLE_EVALUATIONS:
            return None
        moved = max(self._noises) - min(self._noises)
        return "noise_stable" if moved <= _STABLE_CHANGE * max(self._noises) else None
