"""What the rungs in torch share: one-element tensors, and where their programs run."""

from __future__ import annotations

import contextlib
import functools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ftax_micro.collector import collector_off
from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import preparing
from ftax_micro.frameworks.quiet import quiet
from ftax_micro.measurement import slope_counts
from ftax_micro.rungs.chained import Chain
from ftax_micro.rungs.contract import Place, Program
from ftax_micro.rungs.packages import require

# Some tens of operations of some microseconds; fewer than a quarter of what a stream takes before a
# launch blocks.
COUNTS = slope_counts(16, 96)


def load_torch(_kind: str) -> Any:
    """torch, imported. Errors: `Skip` where it is missing or too old.

    Without its compiler, which the rungs above it import when they are made: what stands below
    them is measured as it is in a process that has none.
    """
    with collector_off():
        return require("torch", "models", (2, 6))


def import_torch(place: Place) -> Any:
    """torch, ready for `place`. Errors: `Skip` where it is missing or cannot use the device."""
    torch = load_torch(place.kind)
    torch.set_num_threads(1)  # one element is not for sharing
    if place.kind == "cuda":
        with warnings.catch_warnings():  # of a driver that is too old
            warnings.simplefilter("ignore")
            usable = torch.cuda.is_available()
        if not usable:
            raise Skip(f"this torch ({torch.__version__}) cannot use a CUDA device here")
    return torch


class Surroundings:
    """torch at `place`, in which gradient mode its programs run (the name of torch's context
    manager), and on a CUDA device the stream they run on, which is not the default one.

    Errors: as `import_torch`; `PreparationError` where torch has no code for the device.
    """

    def __init__(self, place: Place, mode: str = "inference_mode") -> None:
        self.torch = import_torch(place)
        self.facts = {"torch": self.torch.__version__}
        self._place, self._mode = place, mode
        self._stream: Any = None
        if place.kind == "cuda":
            with quiet(), preparing(f"torch on {place.device}"):
                self._stream = self.torch.cuda.Stream(place.device)
                self.number(0.0)
                self.wait()

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """In that mode and on that stream, whose device becomes the current one."""
        stream = self._stream
        on = contextlib.nullcontext() if stream is None else self.torch.cuda.stream(stream)
        with getattr(self.torch, self._mode)(), on:
            yield

    def number(self, value: float, **options: Any) -> Any:
        """A new tensor of one element; `options` are torch's."""
        return self.torch.full((1,), value, device=self._place.device, **options)

    def wait(self) -> None:
        """Until the device is idle."""
        if self._stream is not None:
            self.torch.cuda.synchronize(self._place.index)


def python_program(
    place: Place,
    mode: str = "inference_mode",
    operation_of: Callable[[Any], Callable[[Any, Any], Any]] = lambda torch: torch.add,
    recorded: bool = False,
) -> Program:
    """Programs that call `operation_of(torch)` from Python, in torch's gradient mode `mode`.

    What is added wants a gradient where that is `recorded`.
    """
    around = Surroundings(place, mode)
    with around.entered():
        one = around.number(1.0, requires_grad=recorded)
    chain = Chain(
        "x = add(x, one)",
        {"add": operation_of(around.torch), "one": one},
        start=functools.partial(around.number, 0.0),
        before=around.wait,
    )

    def burst(count: int) -> float:
        with around.entered():
            return chain.burst(count)

    def executed(count: int) -> int:
        with around.entered():
            result = chain.result(count)
        return _recorded(result) if recorded else round(float(result))

    return Program(burst, COUNTS, executed, around.facts)


def called_program(
    around: Surroundings,
    functions: Mapping[int, Callable[[Any, Any], Any]],
    counted: Callable[[Callable[[], Any]], int],
) -> Program:
    """Programs that were made into one function each, of the number to begin with and of one.

    `counted(run)` is how many operations ran while it ran `run`.
    """
    with around.entered():
        one = around.number(1.0)

    def burst(count: int) -> float:
        function = functions[count]
        with around.entered():
            x = around.number(0.0)
            around.wait()
            begin = time.perf_counter_ns()
            x = function(x, one)
            return (time.perf_counter_ns() - begin) / 1e9

    def executed(count: int) -> int:
        with around.entered():
            x = around.number(0.0)
            return counted(lambda: functions[count](x, one))

    return Program(burst, tuple(functions), executed, around.facts)


def _recorded(result: Any) -> int:
    """The additions in the graph that `result` hangs from."""
    number, node = 0, result.grad_fn
    while node is not None and node.name() == "AddBackward0":
        number += 1
        node = node.next_functions[0][0]
    return number
