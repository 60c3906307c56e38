"""Model latency as library calls."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ftax_micro.devices._extension import core
from ftax_micro.environment import capture_environment
from ftax_micro.models.own_module import OwnModule
from ftax_micro.models.request import ModelRequest, own_spec
from ftax_micro.modes import MODES
from ftax_micro.orchestration.latency.requests import (
    Sizes,
    Task,
    check_modes,
    joined,
    requests_for,
)
from ftax_micro.orchestration.latency.run import (
    LATENCY_PLAN,
    QUICK_LATENCY_PLAN,
    InThisProcess,
    LatencyRun,
    Measures,
)
from ftax_micro.orchestration.plans import check_plan
from ftax_micro.orchestration.workload.process import WorkloadProcess
from ftax_micro.orchestration.workload.request import LatencyProgress, WorkloadRequest
from ftax_micro.records import Plan
from ftax_micro.results import Result


def measure_model_latency(
    models: Sequence[str],
    modes: Sequence[str] | None = None,
    *,
    dtypes: Sequence[str] = ("fp32",),
    batch: Sizes = 1,
    sequence: Sizes = None,
    image: Sizes = None,
    audio: Sizes = None,
    device: str = "cpu",
    threads: int = 1,
    lengths: str | None = None,
    twin: bool = False,
    quick: bool = False,
    plan: Plan | None = None,
    isolated: bool = True,
    progress: LatencyProgress | None = None,
) -> Result:
    """Measure how long a forward of each model takes in each execution mode (docs/modes.md).

    `models` are names (``bert_base``), with settings (``bert_base@num_hidden_layers=24``), or
    factories (``package.module:factory``); `modes` default to all. Sizes are numbers or lists of
    them. Each workload is measured in processes of its own, unless `isolated` is False: then a mode
    that crashes ends this process. Latencies in the result are seconds per forward;
    `analysis.latency_view.summarise_cases` turns them into medians with intervals.

    Errors: `UnknownNameError`, `UsageError`, `DeviceUnavailableError`; `BusyError` where another
    thread is measuring. A mode that cannot run or computes something else than eager is in the
    result with its reason.
    """
    requests = requests_for(
        models,
        dtypes=dtypes,
        batch=batch,
        sequence=sequence,
        image=image,
        audio=audio,
        device=device,
        threads=threads,
        lengths=lengths,
        twin=twin,
    )
    names = tuple(check_modes(modes or MODES))
    tasks = joined(Task(request, names) for request in requests)
    measures: Measures = WorkloadProcess() if isolated else InThisProcess()
    return _run(tasks, _plan(plan, quick), measures, progress)


def measure_module_latency(
    module: Any,
    inputs: Any,
    modes: Sequence[str] | None = None,
    *,
    name: str = "module",
    threads: int = 1,
    quick: bool = False,
    plan: Plan | None = None,
    progress: LatencyProgress | None = None,
) -> Result:
    """As `measure_model_latency`, of any `module`, a `torch.nn.Module`, and its `inputs`, in this
    process.

    `inputs` are a tensor, a sequence of tensors in the order of the forward's parameters, or
    tensors by name. Device and dtype are those of the module's weights (without any: of the cpu,
    fp32), to which inputs are moved. The module is in evaluation mode while it is measured and then
    as it was.

    Errors: as there; `UsageError` for inputs that are none and weights of another dtype than
    fp32, fp16 and bf16.
    """
    own = OwnModule(name, module, inputs)
    model = ModelRequest(name, own_spec(name, lambda: (module, inputs)))
    request = WorkloadRequest(model, model.spec.shape, own.dtype, own.device, threads)
    tasks = [Task(request, tuple(check_modes(modes or MODES)))]
    with own.evaluating():
        return _run(tasks, _plan(plan, quick), InThisProcess(build=own.workload), progress)


def _run(
    tasks: Sequence[Task], plan: Plan, measures: Measures, progress: LatencyProgress | None
) -> Result:
    environment = capture_environment(command=list(sys.argv), build_id=core().source_digest)
    return LatencyRun(tasks, plan, environment, progress, measures).run()


def _plan(plan: Plan | None, quick: bool) -> Plan:
    return check_plan(plan or (QUICK_LATENCY_PLAN if quick else LATENCY_PLAN))
