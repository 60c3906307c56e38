"""What is known of one workload, mode by mode, from what the process that measures it tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import ftax_micro
from ftax_micro.interleaving import Block, times_of
from ftax_micro.orchestration.clock_verdicts import clock_verdicts
from ftax_micro.orchestration.workload.job import (
    Absent,
    Alone,
    Built,
    Counted,
    Facts,
    Message,
    Ready,
    Stands,
    Taken,
    Timed,
    Traced,
)
from ftax_micro.orchestration.workload.request import LatencyProgress, WorkloadRequest
from ftax_micro.records import Case, Plan, StopReason

_ALONE = ("solo", "peak_memory_bytes")
_ON_GPU = ("gpu_load", "device_pass")
_FACTS = ("macs", "activation_bytes")


@dataclass
class _Entry:
    """One mode; `ended_at` is when its time, or its absence, was known."""

    ready: Ready | None = None
    blocks: list[Block] = field(default_factory=list)
    stopped: StopReason | None = None
    absent: Absent | None = None
    alone: Alone | None = None
    counted: Counted | None = None
    traced: Traced | None = None
    ended_at: str | None = None

    @property
    def done(self) -> bool:
        return self.stopped is not None or self.absent is not None

    @property
    def samples(self) -> int:
        return sum(len(block.latency) for block in self.blocks)


class Journal:
    """Hears messages of one workload and makes cases of them.

    `stands` is what the process said last that it would do. `not_alone` is why no mode is measured
    by itself, where none is.
    """

    def __init__(
        self,
        request: WorkloadRequest,
        modes: Sequence[str],
        plan: Plan,
        progress: LatencyProgress | None = None,
        not_alone: str | None = None,
    ) -> None:
        self.request, self.modes, self.plan = request, list(modes), plan
        self.stands: Stands | None = None
        self._progress, self._not_alone = progress, not_alone
        self._entries = {mode: _Entry() for mode in modes}
        self._begun_at = _now()
        self._built: Built | None = None
        self._facts = Facts(reasons=dict.fromkeys(_FACTS, "its process ended before"))

    def hear(self, message: Message) -> None:
        """Keep what `message` says. What it says of a mode that is done, or of eager where that
        was only prepared to compare with, changes nothing.
        """
        if isinstance(message, Stands):
            self._stand(message)
        elif isinstance(message, Built):
            self._built = message
        elif isinstance(message, Facts):
            self._facts = message
        elif message.mode in self._entries:
            self._note(self._entries[message.mode], message)

    def undone(self) -> list[str]:
        """Modes that have neither enough blocks nor a reason to have none."""
        return [mode for mode, entry in self._entries.items() if not entry.done]

    def blocks(self) -> dict[str, list[Block]]:
        """The blocks of undone modes."""
        return {mode: list(self._entries[mode].blocks) for mode in self.undone()}

    def fail(self, mode: str, reason: str) -> None:
        """`mode` went wrong in a way that its process could not tell."""
        self.hear(Absent(mode=mode, status="failed", reason=reason))

    def was_alone(self, mode: str) -> bool:
        """Whether `mode` was measured by itself."""
        return self._entries[mode].alone is not None

    def not_counted(self, mode: str, reason: str) -> None:
        """Where the operations of `mode` are not known, that is because of `reason`."""
        if self._entries[mode].counted is None:
            self._entries[mode].counted = Counted(mode=mode, reason=reason)

    def timed(self) -> list[str]:
        """Modes that have a time."""
        return [mode for mode, entry in self._entries.items() if entry.stopped is not None]

    def not_traced(self, mode: str, reason: str) -> None:
        """Where it is not known what the device did in `mode`, that is because of `reason`."""
        if self._entries[mode].traced is None:
            self._entries[mode].traced = Traced(mode=mode, reason=reason)

    def cases(self) -> list[Case]:
        """The modes that have a time or a reason by now, in their order; an unfinished one with a
        block counts, as interrupted.
        """
        return [self._case(mode, entry) for mode, entry in self._entries.items() if _known(entry)]

    def _stand(self, message: Stands) -> None:
        before = self.stands
        repeated = before and (before.phase, before.mode) == (message.phase, message.mode)
        self.stands = message
        if self._progress and message.mode and not repeated:
            self._progress.mode_begins(message.mode, message.phase)

    def _note(
        self, entry: _Entry, message: Ready | Absent | Taken | Timed | Alone | Counted | Traced
    ) -> None:
        if isinstance(message, Counted):
            entry.counted = message
        elif isinstance(message, Traced):
            entry.traced = message
        elif entry.done:
            return
        elif isinstance(message, Ready):
            entry.ready = message
        elif isinstance(message, Alone):
            entry.alone = message
            if self._progress:
                self._progress.solo_ends(message.mode)
        elif isinstance(message, Taken):
            entry.blocks.append(message.block)
            if self._progress:
                self._progress.block_ends(message.mode, entry.samples)
        else:
            if isinstance(message, Timed):
                entry.stopped = message.reason
            else:
                entry.absent = message
            entry.ended_at = _now()
            if self._progress:
                self._progress.case_ends(message.mode)

    def _case(self, mode: str, entry: _Entry) -> Case:
        asked, built = self.request, self._built or Built(parameters=0, weight_bytes=0)
        values: dict[str, Any] = (
            {"status": entry.absent.status, "reason": entry.absent.reason}
            if entry.absent
            else self._values(entry)
        )
        own = {"threads": asked.threads, "begun_at": self._begun_at}
        facts = {**built.facts, **values.pop("facts", {}), **own}
        return Case(
            model=asked.model.text,
            mode=mode,
            device=asked.device,
            dtype=asked.dtype,
            batch=asked.shape.batch,
            sequence=asked.shape.sequence,
            image=asked.shape.image,
            audio=asked.shape.audio,
            lengths=asked.lengths,
            twin=asked.twin,
            steps=built.steps,
            parameters=built.parameters if self._built else None,
            weight_bytes=built.weight_bytes if self._built else None,
            macs=self._facts.macs,
            activation_bytes=self._facts.activation_bytes,
            facts=facts,
            tool_version=ftax_micro.__version__,
            measured_at=entry.ended_at or _now(),
            **values,
        )

    def _values(self, entry: _Entry) -> dict[str, Any]:
        """What is known of a mode that was timed."""
        times = times_of(entry.blocks, entry.stopped or "interrupted")
        states = [(each.before, each.after) for each in entry.blocks if each.before and each.after]
        ready, alone, counted = entry.ready, entry.alone, entry.counted
        assert ready is not None  # or nothing would have been timed
        return {
            "status": "ok",
            "latency": times.latency,
            "host": times.host,
            "pipelined": times.pipelined,
            "blocks": times.blocks,
            "states": states,
            "verdicts": clock_verdicts(states),
            "solo": alone.latency if alone else None,
            "peak_memory_bytes": alone.peak_memory_bytes if alone else None,
            "gpu_load": alone.gpu_load if alone else None,
            "device_pass": entry.traced.device_pass if entry.traced else None,
            "executed": counted.executed if counted else {},
            # Making ready costs most the first time, in a process that has not done it yet.
            "costs_s": alone.costs_s if alone else ready.costs_s,
            "facts": {**ready.facts, **(alone.facts if alone else {})},
            "relative_norm": ready.relative_norm,
            "largest_difference": ready.largest_difference,
            "reasons": self._reasons(entry),
        }

    def _reasons(self, entry: _Entry) -> dict[str, str]:
        """Why a mode that was timed has no value in some field."""
        reasons = dict(self._facts.reasons)
        if entry.counted and entry.counted.reason:
            reasons["executed"] = entry.counted.reason
        on_gpu = self.request.device != "cpu"
        if entry.alone:
            reasons.update(entry.alone.reasons)
        elif self._not_alone:
            names = (*_ALONE, *(_ON_GPU if on_gpu else ()))
            reasons.update(dict.fromkeys(names, self._not_alone))
        if entry.traced:
            reasons.pop("device_pass", None)
            reasons |= {"device_pass": entry.traced.reason} if entry.traced.reason else {}
        return reasons


def _known(entry: _Entry) -> bool:
    return entry.done or bool(entry.blocks)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
