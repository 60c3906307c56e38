"""What the doctor finds: one record per part of this machine or installation."""

from __future__ import annotations

from typing import Literal

from ftax_micro.records import Record

FindingStatus = Literal["ok", "missing", "broken", "warning"]


class Finding(Record, frozen=True, kw_only=True):
    """One part and its state.

    `part` names it, `detail` says what was found, `advice` what to do about it (None where there is
    nothing to do). `missing`: not here, and what needs it is skipped; `broken`: here and not
    usable; `warning`: works, but numbers may suffer.
    """

    part: str
    status: FindingStatus
    detail: str
    advice: str | None = None
