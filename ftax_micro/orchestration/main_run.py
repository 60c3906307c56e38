"""The main job: a launch floor, five rungs of the ladder, two models in every mode that can run.

One model is small enough that the framework sets its latency on any machine, the other is the
paper's own. On the cpu their zero-work twins follow, since their bounds rest on these; on a GPU
whatever measures the models traces them. All of it has to fit into minutes: the floor is a quick
one, the larger model's modes share what time is left, with fewer samples than the paper's hundred
where it must be, and its twin is measured in those modes that there is time to make ready again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from ftax_micro.errors import Interrupted
from ftax_micro.facts import Environment
from ftax_micro.models.request import parse_model
from ftax_micro.modes import MODES
from ftax_micro.orchestration.floor import FloorRun, Progress
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.ladder import LadderRun, LadderSelection, rung_process
from ftax_micro.orchestration.latency.requests import Task
from ftax_micro.orchestration.latency.run import LatencyRun, Measures
from ftax_micro.orchestration.point.process import PointProcess
from ftax_micro.orchestration.point.selection import Selection
from ftax_micro.orchestration.workload.request import LatencyProgress, WorkloadRequest
from ftax_micro.records import QUICK_PLAN, Case, Plan, Roofline
from ftax_micro.results import Result

SMALL, LARGE = "bert_tiny", "bert_base"
# Five lines of the dispatch ladder on either kind of device: its floor, one launcher, and the
# layers of the modes that run anywhere.
RUNGS = ("raw_call", "driver", "extension", "torchscript", "torch_inference_mode", "onnxruntime")
# Three minutes, less what a cold start, drawing and a slow export may take.
BUDGET_S = 170.0
# The paper's minimum of samples, for as long as there is time.
PLAN = Plan(min_samples=100, min_time_s=0.2, patience_s=1.0, half_width=0.03, quick=True)
_SMALL_TIMEOUT_S = 3.0
# What the larger model needs before it is timed (exports, compiles), and its twin after it, on a
# slow core.
_READY_S, _TWIN_S = 55.0, 25.0
# The least gives forwards of a third of a second samples enough for an interval.
_LEAST_S, _MOST_S = 6.0, 15.0
# A twin takes milliseconds. Before it is timed, its process starts, and it is made ready: its depth
# is the model's, but its weights are nothing.
_TWIN_TIMEOUT_S, _START_S = 1.5, 8.0
_TWIN_READY = 0.5
# Modes whose compiler makes other operations of a twin than of its model.
_RECOMPILED = ("torch_compile", "torch_compile_reduce_overhead")

Peaks = Callable[..., list[Roofline]]


@dataclass
class MainRun:
    """The main job in progress; `result()` is what is known so far, at any time.

    `device` is where the models run, `floors` are the devices whose floor is measured, that one
    among them. `measures` is how a workload is measured, `climbs` how rungs are, `peaks` how the
    machine's peaks are (None: they are not); `probes` of the floor and `modes` default to all.
    """

    device: str
    floors: Sequence[str]
    environment: Environment
    measures: Measures
    climbs: PointProcess | None = None
    peaks: Peaks | None = None
    floor_progress: Progress | None = None
    latency_progress: LatencyProgress | None = None
    interrupts: Interrupts | None = None
    probes: Sequence[str] | None = None
    modes: Sequence[str] = ()
    models: Sequence[str] = (SMALL, LARGE)
    budget_s: float = BUDGET_S
    clock: Callable[[], float] = time.monotonic
    floor: FloorRun = field(init=False)
    rooflines: list[Roofline] = field(default_factory=list)
    latency: LatencyRun | None = None
    _twins: list[Case] = field(default_factory=list)
    ladder: LadderRun = field(init=False)

    def __post_init__(self) -> None:
        selection = Selection(list(self.floors), self.probes, [], True)
        self.floor = FloorRun(
            selection,
            QUICK_PLAN,
            self.environment,
            progress=self.floor_progress,
            interrupts=self.interrupts,
        )
        self.ladder = LadderRun(
            LadderSelection([self.device], rungs=RUNGS),
            QUICK_PLAN,
            self.environment,
            self.climbs or rung_process(QUICK_PLAN, self.interrupts),
            self.floor_progress,
        )
        self._begin_s = self.clock()

    def run_floor(self) -> Result:
        """The launch floor alone. Errors: as `FloorRun.run`."""
        return self.floor.run()

    def run_ladder(self) -> Result:
        """Five lines of the dispatch ladder where the models run. Errors: as `LadderRun.run`."""
        self.ladder.run()
        return self.result()

    @property
    def cases(self) -> int:
        """How many cases there will be, twins included, if there is time for all."""
        each = len(self.models) * len(self.modes or list(MODES))
        return 2 * each if self._twinned else each

    def run_models(self) -> Result:
        """The models, one after the other. Errors: as `LatencyRun.run`."""
        self._measure_peaks()
        modes = tuple(self.modes or MODES)
        timeout_s = _SMALL_TIMEOUT_S
        for text in self.models:
            model = parse_model(text)
            request = WorkloadRequest(model, model.spec.shape, "fp32", self.device)
            self._measure(Task(request, modes), timeout_s)
            if self._twinned and not self._incomplete():
                self._measure_twin(request)
            if self._incomplete():
                break
            timeout_s = self._share(max(1, len(self._timed(request))))
        return self.result()

    def result(self) -> Result:
        """What has been measured so far, floor and models in one."""
        floor = self.floor.result()
        rungs = self.ladder.result().rungs
        if self.latency is None:
            reason = floor.incomplete_reason or self.ladder.incomplete_reason
            return msgspec.structs.replace(
                floor,
                kind="model_latency",
                plan=PLAN,
                rungs=rungs,
                complete=False,
                incomplete_reason=reason or "the models were not measured",
            )
        latency = self.latency.result()
        return msgspec.structs.replace(
            latency,
            devices=floor.devices,
            measurements=floor.measurements,
            rungs=rungs,
            cases=[*latency.cases, *self._twins],
        )

    @property
    def _twinned(self) -> bool:
        """On a GPU bounds rest on its trace."""
        return self.device == "cpu"

    def _measure_peaks(self) -> None:
        if self.peaks is not None and not self._incomplete():
            with contextlib.suppress(Interrupted):
                self.rooflines = self.peaks(self.device, ["fp32"], interrupts=self.interrupts)

    def _measure_twin(self, request: WorkloadRequest) -> None:
        """The zero-work twin, in the modes that its model has a time in, as far as time allows: in
        the one that is ready first whatever it takes, or nothing would be known of the model.
        """
        twin = dataclasses.replace(request, shape=request.shape.replaced(batch=1), twin=True)
        left_s = self._left_s() - _START_S
        modes: list[str] = []
        for case in sorted(self._timed(request), key=_ready_s):
            if case.mode in _RECOMPILED:
                self._without_twin(case, "the compiler makes other operations of it")
                continue
            left_s -= _TWIN_READY * _ready_s(case) + _TWIN_TIMEOUT_S
            if left_s <= 0 and modes:
                self._without_twin(case, "no time was left for it")
            else:
                modes.append(case.mode)
        if modes:
            self._measure(Task(twin, tuple(modes)), _TWIN_TIMEOUT_S)

    def _without_twin(self, case: Case, reason: str) -> None:
        self._twins.append(
            Case(
                model=case.model,
                mode=case.mode,
                device=case.device,
                dtype=case.dtype,
                status="skipped",
                reason=reason,
                batch=1,
                sequence=case.sequence,
                image=case.image,
                audio=case.audio,
                twin=True,
            )
        )

    def _timed(self, request: WorkloadRequest) -> list[Case]:
        cases = self.latency.result().cases if self.latency else []
        own = [case for case in cases if case.model == request.model.text and not case.twin]
        return [case for case in own if case.status == "ok"]

    def _measure(self, task: Task, timeout_s: float) -> None:
        plan = msgspec.structs.replace(PLAN, timeout_s=timeout_s)
        self.latency = LatencyRun(
            [task],
            plan,
            self.environment,
            self.latency_progress,
            self.measures,
            former=self.latency.result() if self.latency else None,
            rooflines=[] if self.latency else self.rooflines,
        )
        self.latency.run()

    def _incomplete(self) -> bool:
        return bool(self.interrupts and self.interrupts.pending)

    def _share(self, modes: int) -> float:
        """Seconds for each of so many modes of the next model."""
        left_s = self._left_s() - _READY_S - (_TWIN_S if self._twinned else 0.0)
        return min(_MOST_S, max(_LEAST_S, left_s / modes))

    def _left_s(self) -> float:
        return self.budget_s - (self.clock() - self._begin_s)


def _ready_s(case: Case) -> float:
    """What making its mode ready took."""
    return sum(case.costs_s.values())
