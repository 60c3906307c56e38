"""Taking one row's value off another's, where the two were measured in different processes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ftax_micro.analysis.floor.gap import duration_correction
from ftax_micro.analysis.summary import setting_text
from ftax_micro.orchestration.point.measure import absent
from ftax_micro.orchestration.point.selection import Point
from ftax_micro.records import Measurement


def subtract(
    point: Point, whole: Measurement, others: Sequence[Measurement], confidence: float
) -> Measurement:
    """`whole`, measured at `point`, with the other row's value as one of its corrections.

    Without a value of the other row there is none of this one: it is skipped, or has failed, as
    that is or has, for its reason. A row that has nothing subtracted is returned as it is.
    """
    device, row, setting = point
    taken = row.subtracted
    if taken is None or whole.status != "ok":
        return whole
    wanted = {**setting, **taken.setting}
    source = f"{taken.name} {setting_text(wanted)}"
    found = (m for m in others if m.device == device.name and m.name == taken.name)
    part = next((m for m in found if m.setting == wanted), None)
    if part is None:
        return absent(point, whole.process, "skipped", f"{source} was not measured")
    if part.data is None:
        reason = f"{source} has no value: {part.reason}"
        return absent(point, whole.process, part.status, reason)
    correction = duration_correction(part.data, source, confidence)
    return msgspec.structs.replace(whole, corrections=[*whole.corrections, correction])
