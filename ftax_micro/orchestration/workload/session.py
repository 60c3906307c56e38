"""A workload measured in the process that this runs in: built, made ready, checked, timed, counted.

Whoever asked for it is told of each step before it begins, so that they know what it was that the
process died of, and of each result as soon as there is one; never inside a block.
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ftax_micro.devices.tracing import Tracer
from ftax_micro.errors import Interrupted, MissingPackageError, Skip
from ftax_micro.interleaving import Block, Watch, measure_interleaved
from ftax_micro.models.workload import Workload, build_workload, count_parameters, import_torch
from ftax_micro.modes import MODES
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.equality import check_equal
from ftax_micro.modes.repeated import repeated
from ftax_micro.orchestration.workload.checks import (
    check_repeatable,
    nothing_to_compare_with,
    probe_of,
    quiet_torch,
)
from ftax_micro.orchestration.workload.counts import count_executed, count_facts
from ftax_micro.orchestration.workload.device_pass import trace_forwards
from ftax_micro.orchestration.workload.job import (
    Absent,
    Alone,
    Built,
    Message,
    Ready,
    Stands,
    Taken,
    Timed,
    Traced,
)
from ftax_micro.orchestration.workload.load import gpu_load_of, waiting
from ftax_micro.orchestration.workload.memory import failure_reason, watch_peak
from ftax_micro.orchestration.workload.request import REFERENCE, WorkloadRequest
from ftax_micro.orchestration.workload.state import state_reader
from ftax_micro.records import Plan, Status, StopReason

_LOG = logging.getLogger("ftax_micro.orchestration")
Tell = Callable[[Message], None]
# By itself a mode is timed long enough for its ratio to the interleaved time, not for a headline.
_SOLO_SAMPLES, _SOLO_TIMEOUT_S, _SOLO_PATIENCE_S = 50, 15.0, 3.0


@dataclass
class WorkloadSession:
    """One part of one workload's measuring; all that comes of it goes to `tell`.

    `known` are blocks taken in another process; `build` makes the workload where it is not made
    from the request; `count` asks for the operations of each mode once all are timed.
    """

    request: WorkloadRequest
    modes: Sequence[str]
    plan: Plan
    tell: Tell
    known: Mapping[str, Sequence[Block]] = field(default_factory=dict)
    count: bool = True
    build: Callable[[], Workload] | None = None
    _first_s: dict[str, float] = field(default_factory=dict)

    def run(self) -> None:
        """All modes, each checked against eager, timed by turns. Errors: `Interrupted`."""
        workload = self._built()
        if workload is None:
            return
        with quiet_torch(self.request), contextlib.ExitStack() as opened:
            ready = self._ready(workload, opened)
            probes = {mode: probe_of(prepared) for mode, prepared in ready.items()}
            watch = _Told(self.tell, self._first_s, self._absent)
            state = opened.enter_context(state_reader(self.request.device, self.request.threads))
            times = measure_interleaved(probes, self.plan, watch, self.known, state)
            for mode, each in times.items():
                if each.latency.stop_reason == "interrupted":
                    raise Interrupted("SIGINT", 130)
                if self.count:
                    self._count(mode, ready[mode])
            self._tell_facts(workload)

    def run_alone(self) -> None:
        """The one mode by itself, from a cold start: what it costs to make ready, its peak memory,
        its latency and operations. Nothing is compared. Errors: `Interrupted`.
        """
        (mode,) = self.modes
        self._import_model()
        peak = watch_peak(self.request.device)
        workload = self._built()
        if workload is None:
            return
        with quiet_torch(self.request), contextlib.ExitStack() as opened:
            try:
                prepared, costs_s, _ = self._prepared(mode, workload, opened)
                watch = _Waiting(self.tell, self._first_s)
                times = measure_interleaved({mode: probe_of(prepared)}, _solo(self.plan), watch)
            except Interrupted:
                raise
            except Exception as error:
                self._absent(mode, error)
                return
            most = peak.read()
            self.tell(Stands(phase="load", mode=mode))
            load, load_reasons = gpu_load_of(self.request.device, prepared)
            reasons = {"peak_memory_bytes": most.reason} if most.reason else {}
            self.tell(
                Alone(
                    mode=mode,
                    costs_s=costs_s,
                    latency=times[mode].latency,
                    peak_memory_bytes=most.bytes,
                    gpu_load=load,
                    facts=most.facts or {},
                    reasons=reasons | load_reasons,
                )
            )
            self._count(mode, prepared)

    def run_traced(self, start: Callable[[], Tracer]) -> None:
        """The one mode's forwards under the tracer that `start` starts, before anything else calls
        the device. Nothing is timed. Errors: `Interrupted`.
        """
        (mode,) = self.modes
        self.tell(Stands(phase="trace", mode=mode))
        try:
            tracer = start()
            with contextlib.ExitStack() as opened:
                workload = self.build() if self.build else self._build()
                opened.enter_context(quiet_torch(self.request))
                prepared, _, _ = self._prepared(mode, workload, opened)
                self.tell(Stands(phase="trace", mode=mode))
                found = trace_forwards(prepared.forward, waiting(self.request, prepared), tracer)
            self.tell(Traced(mode=mode, device_pass=found))
        except Interrupted:
            raise
        except Exception as error:
            self.tell(Traced(mode=mode, reason=failure_reason(error)))

    def _built(self) -> Workload | None:
        """The workload; None where every mode is absent for want of it."""
        self.tell(Stands(phase="build"))
        try:
            workload = self.build() if self.build else self._build()
        except Interrupted:
            raise
        except Exception as error:
            for mode in self.modes:
                self._absent(mode, error)
            return None
        self.tell(
            Built(
                parameters=workload.parameters,
                weight_bytes=workload.weight_bytes,
                steps=workload.steps,
                facts={"torch": str(import_torch().__version__)},
            )
        )
        return workload

    def _build(self) -> Workload:
        asked = self.request
        overrides, shape = asked.made_of()
        return build_workload(
            asked.model.spec,
            overrides,
            shape,
            asked.dtype,
            asked.device,
            lengths=asked.lengths,
        )

    def _import_model(self) -> None:
        """Import what builds the model, so that it does not count as the model's memory."""
        if ":" in self.request.model.text:  # a factory is called once, and has its module already
            return
        with contextlib.suppress(Exception):  # it will be told where the model is built
            count_parameters(self.request.model.spec, self.request.model.overrides)

    def _ready(self, workload: Workload, opened: contextlib.ExitStack) -> dict[str, Prepared]:
        """Every mode that computes what eager does, made ready."""
        ready: dict[str, Prepared] = {}
        reference: list[Any] | Exception | None = None
        for mode in dict.fromkeys((REFERENCE, *self.modes)):
            try:
                prepared, costs_s, output = self._prepared(mode, workload, opened)
                self.tell(Stands(phase="check", mode=mode))
                outputs = prepared.outputs(output)
                if mode == REFERENCE:
                    check_repeatable(prepared, outputs, self.request.dtype, workload.valid)
                    reference = outputs
                if not isinstance(reference, list):
                    raise nothing_to_compare_with(failure_reason(reference or ValueError()))
                agreement = check_equal(reference, outputs, self.request.dtype, workload.valid)
            except Interrupted:
                raise
            except Exception as error:
                if mode == REFERENCE:
                    reference = error
                self._absent(mode, error)
                continue
            if mode in self.modes:
                ready[mode] = prepared
                self.tell(
                    Ready(
                        mode=mode,
                        costs_s=costs_s,
                        facts=dict(prepared.facts),
                        relative_norm=agreement.relative_norm,
                        largest_difference=agreement.largest,
                    )
                )
        return ready

    def _prepared(
        self, mode: str, workload: Workload, opened: contextlib.ExitStack
    ) -> tuple[Prepared, dict[str, float], Any]:
        """`mode` made ready, what that cost with its first forward, and what that returned."""
        self.tell(Stands(phase="prepare", mode=mode))
        prepared = MODES.open(mode)().prepare(workload)
        opened.callback(prepared.close)
        prepared = repeated(prepared, workload)
        begin_s = time.perf_counter()
        output = prepared.forward()
        if prepared.synchronise:
            prepared.synchronise()
        self._first_s[mode] = time.perf_counter() - begin_s
        return prepared, {**prepared.costs_s, "first_call": self._first_s[mode]}, output

    def _count(self, mode: str, prepared: Prepared) -> None:
        self.tell(Stands(phase="count", mode=mode))
        self.tell(count_executed(mode, prepared))

    def _tell_facts(self, workload: Workload) -> None:
        self.tell(Stands(phase="facts"))
        first_s = self._first_s.get(REFERENCE, math.inf)
        has_spec = self.build is None
        self.tell(count_facts(self.request, workload, has_spec=has_spec, forward_s=first_s))

    def _absent(self, mode: str, error: Exception) -> None:
        skips = isinstance(error, (Skip, MissingPackageError))
        status: Status = "skipped" if skips else "failed"
        if not skips:  # one line is for the user, the rest for whoever wants to know
            _LOG.info("%s failed", mode, exc_info=error)
        self.tell(Absent(mode=mode, status=status, reason=failure_reason(error)))


class _Waiting(Watch):
    """Tells what a mode by itself is doing; `first_s` is what the first forward of each took."""

    def __init__(self, tell: Tell, first_s: Mapping[str, float]) -> None:
        self._tell, self._first_s = tell, first_s

    def turn_begins(self, name: str) -> None:
        self._tell(Stands(phase="time", mode=name, forward_s=self._first_s[name]))


class _Told(_Waiting):
    """Tells each block and each end."""

    def __init__(
        self, tell: Tell, first_s: Mapping[str, float], absent: Callable[[str, Exception], None]
    ) -> None:
        super().__init__(tell, first_s)
        self._absent = absent

    def probe_fails(self, name: str, error: Exception) -> None:
        self._absent(name, error)

    def turn_ends(self, name: str, block: Block) -> None:
        self._tell(Taken(mode=name, block=block))

    def probe_ends(self, name: str, reason: StopReason) -> None:
        self._tell(Timed(mode=name, reason=reason))


def _solo(plan: Plan) -> Plan:
    timeout_s = min(plan.timeout_s, _SOLO_TIMEOUT_S)
    return msgspec.structs.replace(
        plan,
        min_samples=min(plan.min_samples, _SOLO_SAMPLES),
        min_time_s=min(plan.min_time_s, timeout_s),
        timeout_s=timeout_s,
        patience_s=min(plan.patience_s, _SOLO_PATIENCE_S),
    )
