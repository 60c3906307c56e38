"""CUDA graph: the kernels of one eager forward, recorded once and replayed by a single launch."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import PreparationError, preparing
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.outputs import on_cpu, tensors_of
from ftax_micro.modes.waiting import waiting_for

if TYPE_CHECKING:
    import torch

    from ftax_micro.models.workload import Workload

# So many forwards as PyTorch's own documentation warms up with: libraries choose their algorithms
# and allocate their workspace, which must not happen while a stream is captured.
_WARMUPS = 3


class CudaGraph:
    """`torch.cuda.CUDAGraph`: captured on a stream of its own, replayed on the current one."""

    def prepare(self, workload: Workload) -> Prepared:
        """Warm up, capture, instantiate, and replay once."""
        import torch

        if torch.device(workload.device).type != "cuda":
            raise Skip("CUDA graphs exist on a CUDA device only")
        captured = _Captured(workload)
        return Prepared(
            captured.graph.replay,
            lambda _replayed: on_cpu(captured.outputs),
            costs_s=captured.costs_s,
            close=captured.close,
            synchronise=waiting_for(workload),
            run=captured.run,
            executed=_untold,
        )


class _Captured:
    """One forward as a graph: its inputs and outputs keep their places in memory."""

    def __init__(self, workload: Workload) -> None:
        import torch

        # Copies of ours, so that `run` may write into them and the workload's stay as they are.
        self.inputs = {name: value.clone() for name, value in workload.inputs.items()}
        self.graph: Any = torch.cuda.CUDAGraph(keep_graph=True)
        self.outputs: list[torch.Tensor] = []
        self.costs_s: dict[str, float] = {}
        wait = waiting_for(workload)
        assert wait is not None
        with torch.cuda.device(workload.device):
            begin_s = time.perf_counter()
            stream = _warmed_up(workload.module, self.inputs)
            warm_s = time.perf_counter()
            self._capture(workload.module, stream)
            captured_s = time.perf_counter()
            with preparing("instantiating the CUDA graph"):
                self.graph.instantiate()
            instantiated_s = time.perf_counter()
            with preparing("the first replay of the CUDA graph"):
                self.graph.replay()
                wait()
        self.costs_s = {
            "warm_up": warm_s - begin_s,
            "capture": captured_s - warm_s,
            "instantiate": instantiated_s - captured_s,
            "first_runs": time.perf_counter() - instantiated_s,
        }

    def _capture(self, module: torch.nn.Module, stream: Any) -> None:
        import torch

        with preparing("capturing a CUDA graph"):
            try:
                # Other threads, such as another runtime's, may use the device meanwhile.
                with torch.cuda.graph(self.graph, stream=stream, capture_error_mode="thread_local"):
                    self.outputs = tensors_of(module(**self.inputs))
            except Exception as error:
                _clear(self.graph)
                raise first_cause(error) from None
        if not self.outputs:
            raise PreparationError("the forward returns no tensor that a graph could write")

    def run(self, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        for own, given in zip(self.inputs.values(), inputs, strict=True):
            own.copy_(given)
        self.graph.replay()
        return self.outputs

    def close(self) -> None:
        """The memory that the graph holds given back."""
        self.outputs = []
        self.inputs = {}
        self.graph.reset()


def first_cause(error: BaseException) -> BaseException:
    """The first of a chain of exceptions raised while handling one another.

    A call that may not be captured ends the capture, and ending an ended capture is one more error,
    which says nothing of the call.
    """
    seen = {id(error)}
    while (before := error.__cause__ or error.__context__) and id(before) not in seen:
        seen.add(id(before))
        error = before
    return error


def _warmed_up(module: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> Any:
    """A new stream on which the forward has run a few times."""
    import torch

    stream = torch.cuda.Stream()
    with preparing("warming up for a CUDA graph"):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARMUPS):
                module(**inputs)
        torch.cuda.current_stream().wait_stream(stream)
        stream.synchronize()
    return stream


def _clear(graph: Any) -> None:
    """Leave nothing of a failed capture to whoever asks the device next."""
    import torch

    with contextlib.suppress(Exception):
        graph.reset()
    with contextlib.suppress(Exception):  # reports what is still pending, once
        torch.cuda.synchronize()


def _untold() -> dict[str, int]:
    raise Skip("a replayed graph calls no operation; what the device runs is traced")
