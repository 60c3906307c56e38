"""The main job: a launch floor, five rungs of the ladder, two models in every mode that can run.

One model is small enough that the framework sets its latency on any machine, the other is the
paper's own. All of it has to fit into minutes: the floor is a quick one, and the larger model's
modes share what time is left, with fewer samples than the paper's hundred where it must be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from ftax_micro.facts import Environment
from ftax_micro.models.request import parse_model
from ftax_micro.modes import MODES
from ftax_micro.orchestration.floor import FloorRun, Progress
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.ladder import LadderRun, LadderSelection, rung_process
from ftax_micro.orchestration.latency import LatencyProgress, WorkloadRequest
from ftax_micro.orchestration.latency_requests import Task
from ftax_micro.orchestration.latency_run import LatencyRun, Measures
from ftax_micro.orchestration.point_process import PointProcess
from ftax_micro.orchestration.selection import Selection
from ftax_micro.records import QUICK_PLAN, Plan
from ftax_micro.results import Result

SMALL, LARGE = "bert_tiny", "bert_base"
# Five lines of the dispatch ladder on either kind of device: its floor, one launcher, and the
# layers of the modes that run anywhere.
RUNGS = ("raw_call", "driver", "extension", "torchscript", "torch_inference_mode", "onnxruntime")
# Three minutes, less what a cold start, drawing and a slow export may take.
BUDGET_S = 150.0
# The paper's minimum of samples, for as long as there is time.
PLAN = Plan(min_samples=100, min_time_s=0.2, patience_s=1.0, half_width=0.03, quick=True)
_SMALL_TIMEOUT_S = 3.0
# What the larger model needs before it is timed (exports, compiles), on a slow core.
_READY_S = 75.0
_LEAST_S, _MOST_S = 1.5, 15.0


@dataclass
class MainRun:
    """The main job in progress; `result()` is what is known so far, at any time.

    `device` is where the models run, `floors` are the devices whose floor is measured, that one
    among them. `measures` is how a workload is measured, `climbs` how rungs are; `probes` of the
    floor and `modes` default to all.
    """

    device: str
    floors: Sequence[str]
    environment: Environment
    measures: Measures
    climbs: PointProcess | None = None
    floor_progress: Progress | None = None
    latency_progress: LatencyProgress | None = None
    interrupts: Interrupts | None = None
    probes: Sequence[str] | None = None
    modes: Sequence[str] = ()
    models: Sequence[str] = (SMALL, LARGE)
    budget_s: float = BUDGET_S
    clock: Callable[[], float] = time.monotonic
    floor: FloorRun = field(init=False)
    latency: LatencyRun | None = None
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

    def run_models(self) -> Result:
        """The models, one after the other. Errors: as `LatencyRun.run`."""
        modes = tuple(self.modes or MODES)
        timeout_s = _SMALL_TIMEOUT_S
        for text in self.models:
            model = parse_model(text)
            task = Task(WorkloadRequest(model, model.spec.shape, "fp32", self.device), modes)
            self._measure(task, timeout_s)
            if self._incomplete():
                break
            timed = sum(case.status == "ok" for case in self.result().cases)
            timeout_s = self._share(max(1, timed))
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
            latency, devices=floor.devices, measurements=floor.measurements, rungs=rungs
        )

    def _measure(self, task: Task, timeout_s: float) -> None:
        plan = msgspec.structs.replace(PLAN, timeout_s=timeout_s)
        self.latency = LatencyRun(
            [task],
            plan,
            self.environment,
            self.latency_progress,
            self.measures,
            former=self.latency.result() if self.latency else None,
        )
        self.latency.run()

    def _incomplete(self) -> bool:
        return bool(self.interrupts and self.interrupts.pending)

    def _share(self, modes: int) -> float:
        """Seconds for each of so many modes of the next model."""
        left_s = self.budget_s - (self.clock() - self._begin_s) - _READY_S
        return min(_MOST_S, max(_LEAST_S, left_s / modes))
