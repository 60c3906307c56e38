"""TorchScript: traced from one forward, weights frozen in, run by PyTorch's interpreter."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import preparing
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.exchange import runner
from ftax_micro.modes.executed import dispatched
from ftax_micro.modes.outputs import on_cpu
from ftax_micro.modes.waiting import waiting_for

if TYPE_CHECKING:
    from ftax_micro.models.workload import Workload

# The profiling executor specialises during the first runs; with two it has.
_SETTLING_RUNS = 2


class TorchScript:
    """`torch.jit.trace` and `torch.jit.freeze`, the paper's deferred execution."""

    def prepare(self, workload: Workload) -> Prepared:
        """Trace, freeze, and run until the executor has specialised."""
        import torch

        from ftax_micro.modes.positional import Positional

        jit: Any = getattr(torch, "jit", None)
        if not all(hasattr(jit, name) for name in ("trace", "freeze")):
            raise Skip(f"torch {torch.__version__} has no TorchScript")
        synchronise = waiting_for(workload)
        names, inputs = tuple(workload.inputs), tuple(workload.inputs.values())
        begin_s = time.perf_counter()
        with preparing("torch.jit.trace"), warnings.catch_warnings():
            # Deprecated since torch 2.13, and tracing tells of each shape that it holds constant:
            # that is what this mode is.
            warnings.simplefilter("ignore")
            module = Positional(workload.module, names).eval()
            traced = jit.trace(module, inputs, check_trace=False, strict=False)
            traced_s = time.perf_counter()
            frozen = jit.freeze(traced)
        frozen_s = time.perf_counter()
        with preparing("the first run of the traced graph"):
            for _ in range(_SETTLING_RUNS):
                frozen(*inputs)
            if synchronise:
                synchronise()
        costs_s = {
            "trace": traced_s - begin_s,
            "freeze": frozen_s - traced_s,
            "first_runs": time.perf_counter() - frozen_s,
        }

        def forward() -> Any:
            return frozen(*inputs)

        return Prepared(
            forward,
            on_cpu,
            costs_s=costs_s,
            synchronise=synchronise,
            run=runner(frozen),
            executed=lambda: dispatched(forward),
        )
