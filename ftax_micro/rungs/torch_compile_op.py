"""An operation that torch.compile cannot look into, called by the code that Inductor generates."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from ftax_micro.collector import collector_off
from ftax_micro.errors import Skip
from ftax_micro.frameworks.compiler_tools import check_compiler, compile_errors, ended_workers
from ftax_micro.frameworks.preparation import PreparationError
from ftax_micro.frameworks.quiet import quiet
from ftax_micro.measurement import slope_counts
from ftax_micro.rungs.contract import PACKAGE_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.custom_add import counted, custom_add
from ftax_micro.rungs.torch_program import Surroundings, called_program, load_torch

# Each is compiled, in time that grows with its length.
_COUNTS = slope_counts(8, 24, levels=3)
# Making a program ready is to take a second, not ten. None of these changes what is generated for
# calls of an opaque operation: there is nothing to compile beside each other, no pattern to find,
# and to look a program up in the caches the sources of torch and Triton are read and hashed.
_INDUCTOR = {
    "compile_threads": 1,
    "fx_graph_cache": False,
    "pattern_matcher": False,
    "use_joint_graph_passes": False,
}
_FUNCTORCH = {"enable_autograd_cache": False}


def _make(place: Place, _arguments: int) -> Program:
    around = Surroundings(place)
    add = custom_add(around.torch)
    _check_switched_on()
    try:
        with quiet(), collector_off(), around.entered(), compile_errors():
            functions = _compiled(around, add)
    except PreparationError:
        # Python is all that is generated here, so that most machines need no other compiler.
        check_compiler(place.device)
        raise
    return called_program(around, functions, counted)


def _check_switched_on() -> None:
    """Errors: `Skip` where the user wants nothing to be compiled: calls would be Python's own."""
    from torch._dynamo import config

    if config.disable or os.environ.get("TORCHDYNAMO_DISABLE") == "1":
        raise Skip("torch.compile is switched off: TORCH_COMPILE_DISABLE or TORCHDYNAMO_DISABLE")


def _compiled(around: Surroundings, add: Any) -> dict[int, Callable[[Any, Any], Any]]:
    start = around.number(0.0), around.number(1.0)
    functions = {}
    with _quick(), ended_workers():
        from torch._dynamo.utils import counters

        for count in _COUNTS:
            before = counters["stats"]["unique_graphs"]
            program = around.torch.compile(_program(count, add), fullgraph=True, dynamic=False)
            program(*start)
            if counters["stats"]["unique_graphs"] != before + 1:
                raise PreparationError("torch.compile left a program as it was, and said nothing")
            functions[count] = program
        around.wait()
    return functions


def _program(count: int, add: Any) -> Callable[[Any, Any], Any]:
    """A function of its own code, since what is compiled is remembered by the code."""
    lines = ["def program(x, one):", *["    x = add(x, one)"] * count, "    return x"]
    namespace = {"add": add}
    exec("\n".join(lines), namespace)
    program: Callable[[Any, Any], Any] = namespace["program"]
    return program


@contextlib.contextmanager
def _quick() -> Iterator[None]:
    """What is compiled inside is compiled in the shortest way, and in this process."""
    # First, because what compiles starts its helpers when it is imported.
    from torch._functorch import config as functorch
    from torch._inductor import config as inductor

    with contextlib.ExitStack() as patches:
        for config, wanted in ((inductor, _INDUCTOR), (functorch, _FUNCTORCH)):
            known = {name: value for name, value in wanted.items() if hasattr(config, name)}
            patches.enter_context(config.patch(known))
        yield


RUNG = Rung(
    name="torch_compile_op",
    summary=(
        "torch.compile turns a function of custom operations, which it cannot fuse, into Python "
        "that Inductor generates and that calls one after the other. An operation costs that call "
        "by its registered name, and a check that the result has the shape it was compiled for."
    ),
    source="https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
    operation={"cpu": "add", "cuda": "add"},
    below={"cpu": "torch_custom_op", "cuda": "torch_custom_op"},
    make=_make,
    package="torch",
    load=load_torch,
    quick=False,
    processes=PACKAGE_PROCESSES,
)
