"""torch.compile with ``reduce-overhead``: its kernels recorded as CUDA graphs and replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ftax_micro.errors import Skip
from ftax_micro.frameworks.compiler_tools import check_compiler
from ftax_micro.frameworks.preparation import PreparationError
from ftax_micro.modes.compiling import compilations, compiled, forget
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.outputs import on_cpu
from ftax_micro.modes.waiting import waiting_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from ftax_micro.models.workload import Workload


class TorchCompileReduceOverhead:
    """`torch.compile` with ``mode="reduce-overhead"``, for one shape."""

    def prepare(self, workload: Workload) -> Prepared:
        """Compile, record in the second run, and see that graphs are replayed.

        A forward's outputs are overwritten by the next.
        """
        import torch

        if torch.device(workload.device).type != "cuda":
            raise Skip(
                "CUDA graphs exist on a CUDA device only; without them this is torch_compile"
            )
        check_compiler(workload.device)
        before = _skipped()
        done = compiled(workload, "capture", mode="reduce-overhead")
        module, inputs = done.module, done.inputs
        _check_recorded(workload.device, _skipped() - before, done.messages)

        def forward() -> Any:
            return module(**inputs)

        def cloned(given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
            # The next call may not be given what it is about to overwrite.
            return [each.clone() for each in done.run(given)]

        return Prepared(
            forward,
            on_cpu,
            costs_s=done.costs_s,
            facts=done.facts,
            close=forget,
            synchronise=waiting_for(workload),
            run=cloned,
            executed=_untold,
            compilations=compilations,
        )


def _skipped() -> int:
    from torch._dynamo.utils import counters

    return int(counters["inductor"]["cudagraph_skips"])


def _check_recorded(device: str, skipped: int, messages: Sequence[str]) -> None:
    """Errors: `PreparationError` where a graph runs without a CUDA graph, which torch only logs."""
    import torch
    from torch._inductor import cudagraph_trees

    if skipped:
        why = next((each for each in messages if "cudagraph" in each.lower()), "no reason given")
        raise PreparationError(f"torch.compile left out CUDA graphs: {why.splitlines()[0].strip()}")
    index = torch.device(device).index
    place = torch.cuda.current_device() if index is None else index
    manager = cudagraph_trees.get_manager(place, create_if_none_exists=False)
    if manager is None or not any(manager.roots.values()):
        raise PreparationError("torch.compile recorded no CUDA graph")


def _untold() -> dict[str, int]:
    raise Skip("a replayed graph calls no operation; what the device runs is traced")
