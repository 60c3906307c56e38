"""A run over several workloads, one after the other, into one result."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

import ftax_micro
from ftax_micro.devices import open_device
from ftax_micro.devices._extension import core
from ftax_micro.environment import capture_environment
from ftax_micro.errors import Interrupted, UnknownNameError
from ftax_micro.facts import Environment
from ftax_micro.models.request import parse_model
from ftax_micro.models.workload import check_dtype
from ftax_micro.modes import MODES
from ftax_micro.orchestration.exclusive import exclusive
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.latency import LatencyProgress, WorkloadRequest, WorkloadRun
from ftax_micro.orchestration.plans import check_plan
from ftax_micro.records import Case, DeviceFacts, Plan
from ftax_micro.results import Result

# The paper's minimum of 100 samples; a minute a mode is enough for most to reach 1 %.
LATENCY_PLAN = Plan(min_samples=100, min_time_s=0.5, timeout_s=60.0, patience_s=10.0)
QUICK_LATENCY_PLAN = Plan(
    min_samples=10,
    min_time_s=0.2,
    timeout_s=5.0,
    patience_s=1.0,
    half_width=0.03,
    quick=True,
)


@dataclass
class LatencyRun:
    """One run in progress; `result()` is what is known so far, at any time."""

    requests: Sequence[WorkloadRequest]
    modes: Sequence[str]
    plan: Plan
    environment: Environment
    progress: LatencyProgress | None = None
    interrupts: Interrupts | None = None
    devices: list[DeviceFacts] = field(default_factory=list)
    done: list[Case] = field(default_factory=list)
    incomplete_reason: str | None = "the run has not finished"
    _current: WorkloadRun | None = None

    def run(self) -> Result:
        """Measure every workload. An interruption ends the run early; the result says so.

        Errors: `BusyError` where another thread measures.
        """
        with exclusive():
            for name in dict.fromkeys(request.device for request in self.requests):
                device = open_device(name)
                self.devices.append(device.describe())
                device.close()
            try:
                for request in self.requests:
                    self._measure(request)
                self.incomplete_reason = None
            except Interrupted as error:
                self.incomplete_reason = str(error)
        return self.result()

    def result(self) -> Result:
        """What has been measured so far, as a result."""
        current = self._current.cases() if self._current else []
        return Result(
            kind="model_latency",
            tool_version=ftax_micro.__version__,
            created_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            plan=self.plan,
            environment=self.environment,
            devices=list(self.devices),
            measurements=[],
            cases=[*self.done, *current],
            complete=self.incomplete_reason is None,
            incomplete_reason=self.incomplete_reason,
        )

    def _measure(self, request: WorkloadRequest) -> None:
        run = WorkloadRun(request, self.modes, self.plan, self.progress)
        self._current = run
        if self.interrupts:
            with self.interrupts.raised():
                cases = run.run()
        else:
            cases = run.run()
        self._current = None
        self.done += cases
        if any(case.latency and case.latency.stop_reason == "interrupted" for case in cases):
            raise (
                self.interrupts.pending
                if self.interrupts and self.interrupts.pending
                else (Interrupted("SIGINT", 130))
            )


def requests_for(
    models: Sequence[str],
    *,
    dtypes: Sequence[str] = ("fp32",),
    batches: Sequence[int] = (1,),
    sequence: int | None = None,
    image: int | None = None,
    audio: int | None = None,
    device: str = "cpu",
) -> list[WorkloadRequest]:
    """All workloads that are asked for: models × dtypes × batches.

    Errors: `UnknownNameError`, `UsageError` for what makes no sense, before anything is built.
    """
    sizes = {"sequence": sequence, "image": image, "audio": audio}
    requests = []
    for text in models:
        model = parse_model(text)
        for dtype in dtypes:
            check_dtype(dtype)
            for batch in batches:
                shape = model.spec.shape.replaced(batch=batch, **sizes)
                requests.append(WorkloadRequest(model, shape, dtype, device))
    return requests


def check_modes(modes: Sequence[str]) -> list[str]:
    """`modes` without repeats. Errors: `UnknownNameError`."""
    for mode in modes:
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
    return list(dict.fromkeys(modes))


def measure_model_latency(
    models: Sequence[str],
    modes: Sequence[str] | None = None,
    *,
    dtypes: Sequence[str] = ("fp32",),
    batches: Sequence[int] = (1,),
    sequence: int | None = None,
    image: int | None = None,
    audio: int | None = None,
    quick: bool = False,
    plan: Plan | None = None,
    progress: LatencyProgress | None = None,
) -> Result:
    """Measure how long a forward of each model takes in each execution mode (design §5).

    `models` are names (``bert_base``), with settings (``bert_base@num_hidden_layers=24``), or
    factories (``package.module:factory``); `modes` default to all. Latencies in the result are
    seconds per forward; `analysis.latency_view.summarise_cases` turns them into medians with
    intervals. On the cpu, with one thread.

    Errors: `UnknownNameError`, `UsageError`; `BusyError` where another thread is measuring. A mode
    that cannot run or computes something else than eager is in the result with its reason.
    """
    chosen = check_plan(plan or (QUICK_LATENCY_PLAN if quick else LATENCY_PLAN))
    requests = requests_for(
        models, dtypes=dtypes, batches=batches, sequence=sequence, image=image, audio=audio
    )
    environment = capture_environment(command=list(sys.argv), build_id=core().source_digest)
    names = check_modes(list(modes or MODES))
    return LatencyRun(requests, names, chosen, environment, progress).run()
