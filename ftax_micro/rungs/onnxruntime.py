"""A node of a graph that ONNX Runtime executes: a chain of additions, in one run."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ftax_micro.devices._extension import core
from ftax_micro.devices.cuda.loops import translated
from ftax_micro.errors import FtaxError, Skip
from ftax_micro.frameworks.onnx_packages import import_onnxruntime
from ftax_micro.frameworks.onnx_profile import executed_nodes
from ftax_micro.frameworks.onnx_session import (
    CUDA_PROVIDER,
    ProviderError,
    Target,
    open_session,
    run_options,
)
from ftax_micro.frameworks.preparation import preparing
from ftax_micro.measurement import slope_counts
from ftax_micro.records import FactValue
from ftax_micro.rungs.contract import PACKAGE_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.launching import null_spec
from ftax_micro.rungs.launching import open_session as open_driver_session
from ftax_micro.rungs.packages import require

# Each is a session of its own. On a GPU, fewer than half of what a stream takes before a launch
# blocks.
_COUNTS = slope_counts(96, 384, levels=4)
_INPUTS, _OUTPUT = ("start", "one"), "sum"
# The oldest that every ONNX Runtime for the Pythons that we support can read.
_OPSET, _IR_VERSION = 17, 8


class AddedNodesError(FtaxError):
    """ONNX Runtime put other nodes between those of the program."""


class _Chains:
    """Graphs of so many additions at one place, each with a session, made when first asked for.

    On a GPU runs go to the stream of `launcher`, which is entered around them.
    """

    def __init__(self, library: Any, folder: Path, place: Place, launcher: Any = None) -> None:
        self._library, self._folder, self._place = library, folder, place
        self._launcher = launcher
        stream = None if launcher is None else launcher.stream
        self.target = Target(threads=1, device_index=place.index, stream=stream)
        self._options = run_options(asynchronous=stream is not None)
        self._runs: dict[int, Callable[[], Any]] = {}
        self.providers = ""

    def burst(self, count: int) -> float:
        """Seconds of one run of `count` additions."""
        run = self._runs.get(count)
        if run is None:
            run = self._runs[count] = self._run(open_session(self._model(count), self.target))
        with self._entered() as wait:
            wait()
            begin = time.perf_counter_ns()
            run()
            return (time.perf_counter_ns() - begin) / 1e9

    def executed(self, count: int) -> int:
        """Additions that one run executes, by ONNX Runtime's own profile.

        Errors: `AddedNodesError` where it executes others too, such as copies between devices.
        """

        def run(session: Any) -> None:
            with self._entered():
                self._run(session)()

        nodes = executed_nodes(self._model(count), self.target, run)
        others = sorted(set(nodes) - {"Add"})
        if others:
            raise AddedNodesError(f"ONNX Runtime also executes {', '.join(others)}")
        return nodes.get("Add", 0)

    def _model(self, count: int) -> Path:
        path = self._folder / f"{count}.onnx"
        if not path.exists():
            with preparing("writing a chain of additions for ONNX Runtime"):
                write_chain(path, count)
        return path

    def _run(self, session: Any) -> Callable[[], Any]:
        self.providers = ", ".join(session.get_providers())
        binding = session.io_binding()
        for name in _INPUTS:
            binding.bind_ortvalue_input(name, self._value(name == "one"))
        binding.bind_ortvalue_output(_OUTPUT, self._value(False))
        run, options = session.run_with_iobinding, self._options
        return lambda: run(binding, options)

    def _value(self, one: bool) -> Any:
        array = np.full(1, one, np.float32)
        where = self.target.device_type, self._place.index
        return self._library.OrtValue.ortvalue_from_numpy(array, *where)

    @contextlib.contextmanager
    def _entered(self) -> Iterator[Callable[[], None]]:
        """In the driver's context, where there is one; gives what waits until it is idle."""
        if self._launcher is None:
            yield lambda: None
            return
        with translated(), self._launcher:
            yield self._launcher.wait


def write_chain(path: Path, count: int) -> None:
    """An ONNX file of ``sum = start + one + one …`` with `count` additions, all of them inputs:
    what is constant would be computed when the graph is loaded.
    """
    onnx = require("onnx", "models")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    names = [_INPUTS[0], *(f"x{i}" for i in range(1, count)), _OUTPUT]
    nodes = [helper.make_node("Add", [names[i], "one"], [names[i + 1]]) for i in range(count)]
    inputs = [helper.make_tensor_value_info(name, kind, [1]) for name in _INPUTS]
    output = helper.make_tensor_value_info(_OUTPUT, kind, [1])
    graph = helper.make_graph(nodes, "chain", inputs, [output])
    opset = helper.make_opsetid("", _OPSET)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION), path)


def _load(_kind: str) -> None:
    require("onnx", "models")
    import_onnxruntime()


def _make(place: Place, _arguments: int) -> Program:
    require("onnxruntime", "models")  # a broken one fails the rung, as every other package does
    library = import_onnxruntime()
    version = str(library.__version__)
    launcher = None
    if place.kind == "cuda":
        if CUDA_PROVIDER not in library.get_available_providers():
            raise Skip(f"this onnxruntime ({version}) is built without {CUDA_PROVIDER}")
        launcher = core().cuda.Launcher(open_driver_session(place), null_spec())
    with contextlib.ExitStack() as undo:
        prefix = "ftax-micro-onnx-"
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
        chains = _Chains(library, folder, place, launcher)
        try:
            with preparing("loading a chain of additions into ONNX Runtime"):
                for count in _COUNTS:
                    chains.burst(count)
        except ProviderError as error:
            raise Skip(str(error)) from error
        facts: dict[str, FactValue] = {"onnxruntime": version, "providers": chains.providers}
        return Program(chains.burst, _COUNTS, chains.executed, facts, undo.pop_all().close)


RUNG = Rung(
    name="onnxruntime",
    summary=(
        "ONNX Runtime executes a graph of additions of one-element tensors, which was ordered and "
        "assigned to kernels when it was loaded, in one run on one thread. For each node its "
        "executor gathers the inputs, finds memory for the output and calls the kernel, all in C++."
    ),
    source="https://onnxruntime.ai/docs/reference/high-level-design.html",
    operation={"cpu": "add", "cuda": "add"},
    below={"cpu": "raw_call", "cuda": "runtime"},
    make=_make,
    package="onnxruntime",
    load=_load,
    processes=PACKAGE_PROCESSES,
)
