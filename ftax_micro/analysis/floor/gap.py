"""What a full queue leaves between two kernels, whatever they are (docs/launch_anatomy.md).

`gap` is the untraced spacing of queued kernels less the traced duration of the same kernels. It is
measured with kernels of several lengths. Where it is one property of the device, all give the same;
how far each is from what they have in common shows whether it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist, median

import numpy as np

from ftax_micro.analysis.summary import Summary
from ftax_micro.records import Correction, Data

# Of the durations on either side that say nothing of a queue's ordinary pace: spacings are medians,
# which do not hear of a single kernel that was preempted.
_TRIMMED_SHARE = 0.05
# Of seconds: a millionth of the nanosecond that tracers count in.
_DECIMALS = 15
# A residual is told apart from none beyond its uncertainty and this share of the kernels' own
# length: they spin by a clock that need not tick alike under a tracer.
FLAG_SHARE = 0.01


@dataclass(frozen=True)
class GapResidual:
    """One kernel length; seconds. `residual_s` is its gap less the common one, signed."""

    spin_s: float
    gap_s: float
    residual_s: float
    uncertainty_s: float

    @property
    def flagged(self) -> bool:
        """Whether the residual is larger than its uncertainty explains."""
        return abs(self.residual_s) > self.uncertainty_s + FLAG_SHARE * self.spin_s


@dataclass(frozen=True)
class CommonGap:
    """The gap that kernels of all lengths share: the median of theirs, in seconds."""

    device: str
    value_s: float
    residuals: tuple[GapResidual, ...]

    @property
    def flagged(self) -> bool:
        """Whether any length's gap is another than the rest's."""
        return any(each.flagged for each in self.residuals)


def common_gaps(summaries: Iterable[Summary]) -> list[CommonGap]:
    """One for every device whose `gap` was measured with kernels of two lengths or more."""
    found: dict[str, list[Summary]] = {}
    for row in summaries:
        if row.name == "gap" and row.status == "ok" and row.value is not None:
            found.setdefault(row.device, []).append(row)
    return [_common(device, rows) for device, rows in found.items() if len(rows) > 1]


def _common(device: str, rows: list[Summary]) -> CommonGap:
    values = [row.value for row in rows if row.value is not None]
    common = median(values)
    residuals = tuple(
        GapResidual(
            spin_s=float(row.setting.get("spin_ns", 0)) * 1e-9,
            gap_s=value,
            residual_s=value - common,
            uncertainty_s=_uncertainty(row),
        )
        for row, value in zip(rows, values, strict=True)
    )
    return CommonGap(device, common, residuals)


def _uncertainty(row: Summary) -> float:
    systematic = (row.systematic_high or 0.0) - (row.systematic_low or 0.0)
    return systematic / 2 + (row.half_width or 0.0)


def duration_correction(data: Data, source: str, confidence: float) -> Correction:
    """The part of a spacing that the kernels themselves take, from their traced durations.

    Their mean with the outermost on both sides left out, not the median: a spacing is a sum of
    durations, and a tracer's clock may tick too coarsely for a median. The interval is the normal
    one, widened to hold the median.
    """
    values = np.sort(np.asarray(data.samples))
    cut = int(len(values) * _TRIMMED_SHARE)
    kept = values[cut : len(values) - cut]
    mean, middle = float(np.mean(kept)), float(np.median(kept))
    spread = float(np.std(kept, ddof=1)) if len(kept) > 1 else 0.0
    half = NormalDist().inv_cdf((1 + confidence) / 2) * spread / math.sqrt(len(kept))
    # Sums of floats: without it, values that are all the same have an interval.
    mean, low, high = (round(x, _DECIMALS) for x in (mean, mean - half, mean + half))
    return Correction(
        name="traced_duration",
        value_s=mean,
        low_s=min(low, round(middle, _DECIMALS)),
        high_s=max(high, round(middle, _DECIMALS)),
        source=source,
    )
