"""A workload made ready in ONNX Runtime: exported or found, loaded, bound, run once."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ftax_micro.frameworks.onnx_packages import import_onnxruntime
from ftax_micro.frameworks.onnx_profile import executed_nodes
from ftax_micro.frameworks.onnx_session import Target, open_session
from ftax_micro.frameworks.preparation import preparing
from ftax_micro.modes import onnx_cache
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.onnx_binding import Binding
from ftax_micro.modes.onnx_exchange import Copied, Rebound
from ftax_micro.modes.onnx_export import export
from ftax_micro.modes.onnx_identity import UnidentifiableError, identify
from ftax_micro.modes.onnx_stream import new_stream, returns_early
from ftax_micro.modes.outputs import on_cpu
from ftax_micro.records import FactValue

if TYPE_CHECKING:
    import torch

    from ftax_micro.models.workload import Workload
    from ftax_micro.modes.onnx_cache import Obtained

# Which captured graph is whose, where a session has several.
_OWN_GRAPH, _EXCHANGED_GRAPH = 0, 1
_WAITS = "ONNX Runtime's run waits for the device before it returns"


def prepare(workload: Workload, cuda_graph: bool = False) -> Prepared:
    """`workload` in ONNX Runtime on its own device; with `cuda_graph`, captured and replayed.

    Errors: `Skip` where a package is missing, `PreparationError` where no exporter can take the
    model or ONNX Runtime cannot run it, `ProviderError` where it would run on another device.
    """
    library = import_onnxruntime()
    costs_s: dict[str, float] = {}
    with contextlib.ExitStack() as undo:
        found = _obtain(workload, costs_s)
        undo.callback(found.close)
        stream = new_stream(workload.device) if workload.device != "cpu" else None
        target = _target(workload, stream, cuda_graph)
        with preparing("loading the exported model"), _timed(costs_s, "load"):
            session = open_session(found.model, target)
        ready = _Ready(workload, session, target, stream, found)
        step = "capture" if cuda_graph else "first_run"
        with preparing(f"the {step.replace('_', ' ')} of the exported model"):
            with _timed(costs_s, step):
                ready.first_run()
            ready.try_waiting()
        facts = _facts(library.__version__, session, target, found)
        return ready.prepared(costs_s, facts, undo.pop_all())


@dataclass
class _Ready:
    """A loaded model with its inputs and outputs bound."""

    workload: Workload
    session: Any
    target: Target
    stream: Any
    found: Obtained
    waits: bool = False
    binding: Binding = field(init=False)

    def __post_init__(self) -> None:
        with preparing("binding inputs and outputs"):
            own = _OWN_GRAPH if self.target.cuda_graph else None
            self.binding = Binding(self.session, self.target, self.workload.inputs, own)

    def first_run(self) -> None:
        self.binding.call()()
        self.synchronise()

    def synchronise(self) -> None:
        if self.stream is not None:
            self.stream.synchronize()

    def try_waiting(self) -> None:
        """Learn whether a run waits for the device."""
        if self.stream is not None:
            import torch

            self.waits = not returns_early(self.binding.call(), self.stream, torch.cuda._sleep)

    def outputs(self, _value: Any) -> list[torch.Tensor]:
        self.synchronise()
        return on_cpu(self.binding.outputs)

    def executed(self) -> dict[str, int]:
        def run(session: Any) -> None:
            like = self.binding.outputs
            Binding(session, self.target, self.workload.inputs, like=like).call()()
            self.synchronise()

        return executed_nodes(self.found.model, self.target, run)

    def exchanged(self) -> Copied | Rebound:
        """Forwards on other inputs; those of `binding` stay as they are."""
        names, like = tuple(self.workload.inputs), self.binding.outputs
        session, target = self.session, self.target
        if target.cuda_graph:
            return Copied(
                names,
                lambda inputs: Binding(session, target, inputs, _EXCHANGED_GRAPH, like),
                self.stream,
            )
        return Rebound(
            names, lambda inputs: Binding(session, target, inputs, None, like), self.stream
        )

    def prepared(
        self,
        costs_s: dict[str, float],
        facts: dict[str, FactValue],
        undo: contextlib.ExitStack,
    ) -> Prepared:
        # A replay that waits does so at its end; a run that waits for a node on the cpu goes on.
        done_on_return = self.stream is None or (self.waits and self.target.cuda_graph)
        return Prepared(
            forward=self.binding.call(),
            outputs=self.outputs,
            costs_s=costs_s,
            facts=facts,
            close=undo.close,
            synchronise=None if done_on_return else self.synchronise,
            host=not self.waits,
            unpipelined=_WAITS if self.waits else None,
            run=self.exchanged(),
            executed=self.executed,
        )


def _obtain(workload: Workload, costs_s: dict[str, float]) -> Obtained:
    """The export that was kept for this very workload, or a new one."""
    key, why_not = None, ""
    with _timed(costs_s, "identify"):
        try:
            key = identify(workload)
            found = onnx_cache.find(key)
        except UnidentifiableError as error:
            why_not, found = f"what it depends on cannot be told: {error}", None
    if found is not None:
        return found
    with _timed(costs_s, "export"):
        return onnx_cache.make(key, lambda folder: export(workload, folder), why_not)


def _target(workload: Workload, stream: Any, cuda_graph: bool) -> Target:
    import torch

    if stream is None:
        return Target(threads=torch.get_num_threads())
    return Target(
        threads=torch.get_num_threads(),
        device_index=stream.device.index,
        stream=stream.cuda_stream,
        tf32=_tf32(workload),
        cuda_graph=cuda_graph,
    )


def _tf32(workload: Workload) -> bool:
    """Whether eager computes fp32 in TF32: torch has a switch for convolutions and one for matrix
    products, ONNX Runtime has one in all.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's switches are being renamed
        if any(hasattr(each, "kernel_size") for each in workload.module.modules()):
            return bool(torch.backends.cudnn.allow_tf32)
        return bool(torch.get_float32_matmul_precision() != "highest")


def _facts(version: str, session: Any, target: Target, found: Obtained) -> dict[str, FactValue]:
    exported = found.exported
    facts: dict[str, FactValue] = {
        "onnxruntime": version,
        "providers": ", ".join(session.get_providers()),
        "exporter": exported.exporter,
        "opset": exported.opset,
        "exported_nodes": exported.nodes,
        "export_cached": found.cached,
    }
    if exported.refused:
        facts["exporter_refused"] = "; ".join(exported.refused)
    if found.not_kept is not None:
        facts["export_not_kept"] = found.not_kept
    if target.stream is not None:
        facts["tf32"] = target.tf32
    return facts


@contextlib.contextmanager
def _timed(costs_s: dict[str, float], step: str) -> Iterator[None]:
    begin_s = time.perf_counter()
    yield
    costs_s[step] = time.perf_counter() - begin_s
