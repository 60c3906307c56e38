"""Model latency, measured: workloads × modes, each mode's outputs checked before it is timed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ftax_micro.errors import FtaxError, Interrupted, Skip
from ftax_micro.interleaving import ForwardProbe, ForwardTimes, measure_interleaved
from ftax_micro.models.request import ModelRequest
from ftax_micro.models.workload import Workload, build_workload, import_torch
from ftax_micro.modes import MODES
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.equality import Agreement, check_equal, check_finite
from ftax_micro.orchestration.points import reason_of
from ftax_micro.records import Case, Plan, Status

if TYPE_CHECKING:
    from ftax_micro.models.contract import Shape

REFERENCE = "eager"


@dataclass(frozen=True)
class WorkloadRequest:
    """One workload as it was asked for."""

    model: ModelRequest
    shape: Shape
    dtype: str = "fp32"
    device: str = "cpu"
    threads: int = 1
    lengths: str | None = None


class LatencyProgress(Protocol):
    """What a front end may show while a workload is measured."""

    def mode_begins(self, model: str, mode: str) -> None:
        """A mode is being made ready."""

    def block_ends(self, model: str, mode: str, samples: int) -> None:
        """A mode has so many samples by now."""

    def case_ends(self) -> None:
        """A mode is done, skipped or failed."""


@dataclass
class _Ready:
    prepared: Prepared
    agreement: Agreement


@dataclass
class WorkloadRun:
    """One workload in all its modes; `cases()` is what is known so far, at any time."""

    request: WorkloadRequest
    modes: Sequence[str]
    plan: Plan
    progress: LatencyProgress | None = None
    _done: dict[str, Case] = field(default_factory=dict)
    _workload: Workload | None = None

    def run(self) -> list[Case]:
        """Build, prepare, check and time. A mode that cannot run or goes wrong is a case with its
        reason, and so is every mode of a workload that cannot be built.

        Errors: `Interrupted`; what was measured before it is in `cases()`.
        """
        try:
            self._build()
        except Interrupted:
            raise
        except Exception as error:
            return [self._absent(mode, error) for mode in self.modes]
        assert self._workload is not None
        with _quiet_torch(self.request.threads), contextlib.ExitStack() as opened:
            ready = self._ready(opened)
            if ready:
                self._time(ready)
        return self.cases()

    def cases(self) -> list[Case]:
        """The cases known so far, in the order of the modes."""
        return [self._done[mode] for mode in self.modes if mode in self._done]

    def _build(self) -> None:
        asked = self.request
        self._workload = build_workload(
            asked.model.spec,
            asked.model.overrides,
            asked.shape,
            asked.dtype,
            asked.device,
            lengths=asked.lengths,
        )

    def _ready(self, opened: contextlib.ExitStack) -> dict[str, _Ready]:
        """Every mode that computes what eager does, made ready."""
        ready: dict[str, _Ready] = {}
        reference: list[Any] | Exception | None = None
        for mode in dict.fromkeys((REFERENCE, *self.modes)):
            if self.progress:
                self.progress.mode_begins(self.request.model.text, mode)
            try:
                prepared = MODES.open(mode)().prepare(self._workload)
                opened.callback(prepared.close)
                outputs = prepared.outputs(prepared.forward())
                if mode == REFERENCE:
                    check_repeatable(prepared, outputs)
                    reference = outputs
                if not isinstance(reference, list):
                    raise Skip(f"there is nothing to compare with: {reference}")
                valid = self._workload.valid if self._workload else None
                agreement = check_equal(reference, outputs, self.request.dtype, valid)
                ready[mode] = _Ready(prepared, agreement)
            except Interrupted:
                raise
            except Exception as error:
                if mode == REFERENCE:
                    reference = error
                self._absent(mode, error)
        return {mode: each for mode, each in ready.items() if mode in self.modes}

    def _time(self, ready: Mapping[str, _Ready]) -> None:
        model = self.request.model.text

        def told(mode: str, samples: int) -> None:
            if self.progress:
                self.progress.block_ends(model, mode, samples)

        probes = {mode: probe_of(each.prepared) for mode, each in ready.items()}
        times = measure_interleaved(probes, self.plan, told)
        for mode, each in ready.items():
            self._keep(self._measured(mode, each, times[mode]))

    def _keep(self, case: Case) -> None:
        self._done[case.mode] = case
        if self.progress:
            self.progress.case_ends()

    def _measured(self, mode: str, ready: _Ready, times: ForwardTimes) -> Case:
        return self._case(
            mode,
            "ok",
            latency=times.latency,
            host=times.host,
            pipelined=times.pipelined,
            blocks=times.blocks,
            costs_s=dict(ready.prepared.costs_s),
            facts={**ready.prepared.facts, "threads": self.request.threads},
            relative_norm=ready.agreement.relative_norm,
            largest_difference=ready.agreement.largest,
        )

    def _absent(self, mode: str, error: Exception) -> Case:
        status: Status = "skipped" if isinstance(error, Skip) else "failed"
        case = self._case(mode, status, reason=reason_of(error))
        if mode in self.modes:
            self._keep(case)
        return case

    def _case(self, mode: str, status: Status, **more: Any) -> Case:
        asked, workload = self.request, self._workload
        return Case(
            model=asked.model.text,
            mode=mode,
            device=asked.device,
            dtype=asked.dtype,
            status=status,
            batch=asked.shape.batch,
            sequence=asked.shape.sequence,
            image=asked.shape.image,
            audio=asked.shape.audio,
            lengths=asked.lengths,
            parameters=workload.parameters if workload else None,
            weight_bytes=workload.weight_bytes if workload else None,
            **more,
        )


def probe_of(prepared: Prepared) -> ForwardProbe:
    """What is timed of a workload that is ready in one mode."""
    return ForwardProbe(
        prepared.forward,
        synchronise=prepared.synchronise,
        host=prepared.host,
        pipelined=prepared.unpipelined is None,
    )


class UnrepeatableError(FtaxError):
    """A model whose outputs differ from forward to forward: nothing can be compared with it."""


def check_repeatable(prepared: Prepared, outputs: Sequence[Any]) -> None:
    """Errors: `UnrepeatableError` where a second forward answers otherwise, `MismatchError` where
    the outputs are not finite.
    """
    check_finite(outputs)
    again = prepared.outputs(prepared.forward())
    same = len(again) == len(outputs) and all(
        one.shape == two.shape and bool((one == two).all())
        for one, two in zip(outputs, again, strict=True)
    )
    if not same:
        raise UnrepeatableError(
            "eager's outputs differ from forward to forward: the model draws random numbers"
        )


@contextlib.contextmanager
def _quiet_torch(threads: int) -> Iterator[None]:
    """Inference mode and `threads` threads for every mode; torch as it was afterwards."""
    torch = import_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(before)
