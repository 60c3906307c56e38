"""torch.add as a node of a TorchScript graph, run by PyTorch's interpreter."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import PreparationError, preparing
from ftax_micro.rungs.contract import PACKAGE_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.torch_program import (
    COUNTS,
    Surroundings,
    called_program,
    load_torch,
)

# The profiling executor watches the first run and specialises for the second.
_MOST_RUNS = 6
# Whether it may fuse for a kind of device, as it does on CUDA by default, and what switches that.
# Not the fuser as a whole: without it the nodes that watched stay in the graph, and double what an
# addition costs.
_FUSERS = (
    ("_jit_can_fuse_on_cpu", "_jit_override_can_fuse_on_cpu"),
    ("_jit_can_fuse_on_gpu", "_jit_override_can_fuse_on_gpu"),
)


def _make(place: Place, _arguments: int) -> Program:
    around = Surroundings(place)
    torch = around.torch
    if not hasattr(getattr(torch, "jit", None), "trace"):
        raise Skip(f"torch {torch.__version__} has no TorchScript")
    profiler = _profiler(torch)
    with preparing("torch.jit.trace"), _no_fusers(torch), around.entered():
        start = around.number(0.0), around.number(1.0)
        functions = {count: _settled(torch, count, start) for count in COUNTS}
        around.wait()
    return called_program(around, functions, lambda run: _additions(profiler, run))


def _settled(torch: Any, count: int, start: tuple[Any, Any]) -> Callable[[Any, Any], Any]:
    """The graph of `count` additions, run until the executor has specialised it."""

    def dependent(x: Any, one: Any) -> Any:
        for _ in range(count):
            x = torch.add(x, one)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated since torch 2.13
        traced: Callable[[Any, Any], Any] = torch.jit.trace(dependent, start, check_trace=False)
    for _ in range(_MOST_RUNS):
        traced(*start)
        if "prim::profile" not in str(torch.jit.last_executed_optimized_graph()):
            return traced
    raise PreparationError(f"TorchScript has not specialised a graph after {_MOST_RUNS} runs")


@contextlib.contextmanager
def _no_fusers(torch: Any) -> Iterator[None]:
    """No graph that is specialised inside is fused."""
    switches = torch._C
    former = [
        (getattr(switches, switch), getattr(switches, state)())
        for state, switch in _FUSERS
        if hasattr(switches, state) and hasattr(switches, switch)
    ]
    try:
        for switch, _ in former:
            switch(False)
        yield
    finally:
        for switch, state in former:
            switch(state)


def _profiler(torch: Any) -> Any:
    """The profiler before the present one, which writes to stderr, and on a machine with a GPU
    attaches CUPTI to the process: nothing could be timed there any more.
    """
    try:
        from torch.autograd.profiler_legacy import profile
    except ImportError as error:
        reason = f"what ran in a graph cannot be counted with torch {torch.__version__}"
        raise Skip(reason) from error
    return profile


def _additions(profiler: Any, run: Callable[[], Any]) -> int:
    """How many additions the interpreter dispatches in `run`; a fused group has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated
        with profiler() as profile:
            run()
    return sum(event.name == "aten::add" for event in profile.function_events)


RUNG = Rung(
    name="torchscript",
    summary=(
        "PyTorch's TorchScript interpreter runs a traced graph of additions, its fusers off. A "
        "node costs the interpreter's step, the dispatcher, a new tensor and the kernel, without "
        "any Python."
    ),
    source="https://docs.pytorch.org/docs/stable/jit.html",
    operation={"cpu": "add", "cuda": "add"},
    below={"cpu": "raw_call", "cuda": "runtime"},
    make=_make,
    package="torch",
    load=load_torch,
    processes=PACKAGE_PROCESSES,
)
