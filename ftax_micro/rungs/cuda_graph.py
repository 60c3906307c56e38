"""A node of a CUDA graph of null kernels, replayed."""

from __future__ import annotations

from ftax_micro.devices._extension import core
from ftax_micro.devices.cuda.loops import translated
from ftax_micro.rungs.contract import Place, Program, Rung
from ftax_micro.rungs.launching import LAUNCHES, null_spec, open_session


def _make(place: Place, _arguments: int) -> Program:
    session, cuda, spec = open_session(place), core().cuda, null_spec()

    def burst(count: int) -> float:
        # The extension counts the nodes that were captured, and fails where they are others.
        with translated():
            return float(cuda.graph_replay(session, spec, count, 1, 1).total_s[0])

    return Program(burst, LAUNCHES, facts={"until": "the replay has ended on the device"})


RUNG = Rung(
    name="cuda_graph",
    summary=(
        "A graph of null kernels in a straight line is launched by one cuGraphLaunch and waited "
        "for: unlike on every other rung the slope is the time of a node up to the end of the "
        "replay, on the device too. The intercept is the launch of the graph and the wait."
    ),
    source="https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html",
    operation={"cuda": "kernel"},
    below={"cuda": "driver"},
    make=_make,
)
