"""The fake driver captures streams into graphs and replays them at a + b per node."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p

import pytest
from fake_cuda import FakeCuda
from fake_cuda.client import DriverError, Session, elapsed_ns

RELAXED = 2
ACTIVE, INVALIDATED = 1, 2
UNSUPPORTED, ERROR_INVALIDATED, UNJOINED, UPDATE_FAILURE = 900, 901, 904, 910


class Graphs(Session):
    """A session that captures null kernels into graphs."""

    def __init__(self, fake: FakeCuda) -> None:
        super().__init__(fake)
        self.others = [self.handle("cuStreamCreate", c_uint(1)) for _ in range(2)]
        self.events = [self.handle("cuEventCreate", c_uint(2)) for _ in range(3)]

    def close(self) -> None:
        for event in self.events:
            self.ok("cuEventDestroy_v2", event)
        for stream in self.others:
            self.ok("cuStreamDestroy_v2", stream)
        super().close()

    def begin(self) -> None:
        self.ok("cuStreamBeginCapture_v2", self.stream, RELAXED)

    def end(self) -> c_void_p:
        graph = c_void_p()
        self.ok("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        return graph

    def line(self, count: int) -> c_void_p:
        """A graph of null kernels in a straight line."""
        self.begin()
        for _ in range(count):
            self.launch(self.null, self.stream)
        return self.end()

    def fork_join(self, *lengths: int) -> c_void_p:
        """One kernel, a branch of each length in a stream of its own, and one kernel after them."""
        self.begin()
        self.launch(self.null, self.stream)
        self.ok("cuEventRecord", self.events[0], self.stream)
        branches = zip(self.others, self.events[1:], lengths, strict=True)
        for stream, event, length in branches:
            self.ok("cuStreamWaitEvent", stream, self.events[0], c_uint(0))
            for _ in range(length):
                self.launch(self.null, stream)
            self.ok("cuEventRecord", event, stream)
            self.ok("cuStreamWaitEvent", self.stream, event, c_uint(0))
        self.launch(self.null, self.stream)
        return self.end()

    def instantiate(self, graph: c_void_p) -> c_void_p:
        executable = self.handle("cuGraphInstantiateWithFlags", graph, c_uint64(0))
        self.ok("cuGraphDestroy", graph)
        return executable

    def replay(self, executable: c_void_p) -> None:
        self.ok("cuGraphLaunch", executable, self.stream)

    def nodes(self, graph: c_void_p) -> int:
        count = c_size_t()
        self.ok("cuGraphGetNodes", graph, None, ctypes.byref(count))
        return count.value

    def path_ns(self, length: int) -> int:
        """Device time of a graph with a longest path of so many nodes, after another operation."""
        fake = self.fake
        between = (length - 1) * fake.cost("graph_gap_ns")
        return fake.cost("gap_ns") + length * fake.cost("body_ns") + between


@pytest.fixture
def graphs(fake_cuda: FakeCuda) -> Iterator[Graphs]:
    graphs = Graphs(fake_cuda)
    yield graphs
    graphs.close()


@pytest.mark.parametrize("count", [1, 5, 30])
def test_a_line_takes_a_gap_and_a_body_per_node(graphs: Graphs, count: int) -> None:
    graph = graphs.line(count)
    assert graphs.nodes(graph) == count
    executable = graphs.instantiate(graph)
    assert graphs.device_ns(lambda: graphs.replay(executable)) == graphs.path_ns(count)
    graphs.ok("cuGraphExecDestroy", executable)


def test_branches_run_side_by_side(graphs: Graphs) -> None:
    graph = graphs.fork_join(3, 7)
    assert graphs.nodes(graph) == 12
    executable = graphs.instantiate(graph)
    assert graphs.device_ns(lambda: graphs.replay(executable)) == graphs.path_ns(1 + 7 + 1)
    graphs.ok("cuGraphExecDestroy", executable)


def test_each_step_costs_a_plus_b_per_node(graphs: Graphs) -> None:
    fake, count = graphs.fake, 8

    def cost(name: str) -> int:
        return fake.cost(f"graph_{name}_ns") + count * fake.cost(f"graph_{name}_node_ns")

    capture = sum(fake.cost(f"capture_{part}_ns") for part in ("begin", "end"))
    capture += count * fake.cost("capture_node_ns")
    assert elapsed_ns(lambda: graphs.ok("cuGraphDestroy", graphs.line(count))) >= capture
    graph = graphs.line(count)
    out, info = c_void_p(), (c_uint64 * 3)()
    instantiate = (ctypes.byref(out), graph, c_uint64(0))
    assert elapsed_ns(lambda: graphs.ok("cuGraphInstantiateWithFlags", *instantiate)) >= cost(
        "instantiate"
    )
    # Not uploaded yet, so that the first launch does it.
    assert elapsed_ns(lambda: graphs.replay(out)) >= cost("launch") + cost("upload")
    graphs.sync()
    assert elapsed_ns(lambda: graphs.ok("cuGraphUpload", out, graphs.stream)) >= cost("upload")
    assert elapsed_ns(lambda: graphs.replay(out)) >= cost("launch")
    update = (out, graph, info)
    assert elapsed_ns(lambda: graphs.ok("cuGraphExecUpdate_v2", *update)) >= cost("update")
    graphs.ok("cuGraphDestroy", graph)
    graphs.ok("cuGraphExecDestroy", out)


def test_update_needs_the_same_topology(graphs: Graphs) -> None:
    executable = graphs.instantiate(graphs.line(3))
    longer, info, result = graphs.line(4), (c_uint64 * 3)(), c_int(0)
    assert graphs.call("cuGraphExecUpdate_v2", executable, longer, info) == UPDATE_FAILURE
    old = (executable, longer, None, ctypes.byref(result))
    assert graphs.call("cuGraphExecUpdate", *old) == UPDATE_FAILURE
    assert result.value == 2  # CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
    graphs.ok("cuGraphDestroy", longer)
    graphs.ok("cuGraphExecDestroy", executable)


def test_kernels_in_graphs_have_their_effects(graphs: Graphs) -> None:
    graphs.begin()
    graphs.launch(graphs.store, graphs.stream, graphs.at(0), c_uint32(3))
    graphs.ok("cuMemsetD8Async", graphs.at(1), 0x11, c_size_t(4), graphs.stream)
    assert graphs.word[0] == 0
    executable = graphs.instantiate(graphs.end())
    graphs.replay(executable)
    graphs.sync()
    assert list(graphs.word) == [3, 0x11111111]
    graphs.ok("cuGraphExecDestroy", executable)


def test_a_held_graph_waits_for_its_word(graphs: Graphs) -> None:
    graphs.begin()
    graphs.hold(value=5)
    graphs.launch(graphs.null, graphs.stream)
    executable = graphs.instantiate(graphs.end())
    graphs.replay(executable)
    assert graphs.call("cuStreamQuery", graphs.stream) == 600
    graphs.set(0, 5)
    graphs.sync()
    assert graphs.word[1] == 1
    graphs.ok("cuGraphExecDestroy", executable)


def test_synchronising_spoils_a_capture(fake_cuda: FakeCuda) -> None:
    graphs = Graphs(fake_cuda)
    graphs.begin()
    status = c_int()
    graphs.ok("cuStreamIsCapturing", graphs.stream, ctypes.byref(status))
    assert status.value == ACTIVE
    assert graphs.call("cuStreamSynchronize", graphs.stream) == UNSUPPORTED
    graphs.ok("cuStreamIsCapturing", graphs.stream, ctypes.byref(status))
    assert status.value == INVALIDATED
    with pytest.raises(DriverError, match=str(ERROR_INVALIDATED)):
        graphs.end()
    graphs.close()
    assert fake_cuda.misuse() == ["cuStreamSynchronize: the stream is being captured"]
    fake_cuda.reset()


def test_forks_must_be_joined(fake_cuda: FakeCuda) -> None:
    graphs = Graphs(fake_cuda)
    graphs.begin()
    graphs.ok("cuEventRecord", graphs.events[0], graphs.stream)
    graphs.ok("cuStreamWaitEvent", graphs.others[0], graphs.events[0], c_uint(0))
    graphs.launch(graphs.null, graphs.others[0])
    with pytest.raises(DriverError, match=str(UNJOINED)):
        graphs.end()
    graphs.close()
    assert fake_cuda.misuse() == ["cuStreamEndCapture: a forked stream was not joined"]
    fake_cuda.reset()
