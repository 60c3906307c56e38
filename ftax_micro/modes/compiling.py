"""What the modes that run torch.compile have in common: compile quietly, and be done with it.

A compiled forward that compiles again while it is timed would give seconds for microseconds. So it
runs until a run has compiled nothing, and what it is made of is read from dynamo's own counters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ftax_micro.frameworks.compiler_tools import compile_errors, ended_workers
from ftax_micro.frameworks.preparation import PreparationError
from ftax_micro.frameworks.quiet import quiet
from ftax_micro.modes.outputs import tensors_of
from ftax_micro.modes.waiting import waiting_for
from ftax_micro.records import FactValue

if TYPE_CHECKING:
    import torch

    from ftax_micro.models.workload import Workload

# A graph is compiled at the first run, and once more where the second meets what the first changed
# (a cache that has grown); what is not done by then never is.
_MOST_RUNS = 6


@dataclass(frozen=True)
class Compiled:
    """A compiled module and the inputs it was compiled for, what it took in seconds, its facts, at
    how many places Python runs between its graphs, and what the compiler said.
    """

    module: Callable[..., Any]
    inputs: dict[str, torch.Tensor]
    costs_s: dict[str, float]
    facts: dict[str, FactValue]
    breaks: int
    messages: list[str]

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs for other inputs, without compiling again.

        A graph is compiled for tensors of inference mode or for others; those of the other kind are
        copied, which makes them tensors of the current mode.
        """
        pairs = zip(self.inputs.items(), inputs, strict=True)
        return tensors_of(
            self.module(
                **{
                    name: given if given.is_inference() == own.is_inference() else given.clone()
                    for (name, own), given in pairs
                }
            )
        )


def compiled(workload: Workload, second_step: str = "first_runs", **options: Any) -> Compiled:
    """`workload`'s module compiled for its shapes, run until nothing is compiled any more.

    `options` go to `torch.compile`. `second_step` names the cost of the second run, where that does
    something of its own. Errors: `PreparationError`.
    """
    import torch

    synchronise = waiting_for(workload)
    # Made in the mode that forwards run in, as all that `run` will be given.
    inputs = {name: value.clone() for name, value in workload.inputs.items()}
    costs_s: dict[str, float] = {}
    with quiet() as messages, compile_errors(), ended_workers():
        before = _counters()
        module = torch.compile(workload.module, fullgraph=False, dynamic=False, **options)
        for number in range(_MOST_RUNS):
            frames = _counters().frames
            begin_s = time.perf_counter()
            module(**inputs)
            if synchronise:
                synchronise()
            step = {0: "compile", 1: second_step}.get(number, "first_runs")
            costs_s[step] = costs_s.get(step, 0.0) + time.perf_counter() - begin_s
            if number > 1 and _counters().frames == frames:
                break
        else:
            raise PreparationError(f"still compiles in run {_MOST_RUNS} on the same inputs")
        made = _counters().since(before)
    if not made.graphs:
        raise PreparationError("torch.compile found no graph in the forward: it would run eagerly")
    return Compiled(module, inputs, costs_s, made.facts(), made.breaks, messages)


def compilations() -> int:
    """How many functions dynamo has compiled, or given up, in this process so far."""
    return _counters().frames


def forget() -> None:
    """Nothing of a workload is left to the next one: neither its code nor how often it compiled."""
    import torch

    with quiet():
        torch._dynamo.reset()


@dataclass(frozen=True)
class _Counters:
    """What dynamo and inductor have counted so far in this process."""

    frames: int
    graphs: int
    breaks: int
    hits: int
    misses: int

    def since(self, before: _Counters) -> _Counters:
        return _Counters(
            frames=self.frames - before.frames,
            graphs=self.graphs - before.graphs,
            breaks=self.breaks - before.breaks,
            hits=self.hits - before.hits,
            misses=self.misses - before.misses,
        )

    def facts(self) -> dict[str, FactValue]:
        return {
            "graphs": self.graphs,
            "graph_breaks": self.breaks,
            # What compiling cost is no cost of compiling then.
            "compiled_before": self.hits > 0 and self.misses == 0,
        }


def _counters() -> _Counters:
    from torch._dynamo.utils import counters

    stored, inductor = counters["aot_autograd"], counters["inductor"]
    return _Counters(
        frames=counters["frames"]["total"],
        graphs=counters["stats"]["unique_graphs"],
        breaks=sum(counters["graph_break"].values()),
        hits=stored["autograd_cache_hit"] + inductor["fxgraph_cache_hit"],
        misses=inductor["fxgraph_cache_miss"] + inductor["fxgraph_cache_bypass"],
    )
