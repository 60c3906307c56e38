"""Graphs and first launches recover what the fake driver charges, and name the call that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake_cuda import FakeCuda

from ftax_micro import _core

SAMPLES = 30
UNKNOWN = 999
UNJOINED = "cuStreamEndCapture: a forked stream was not joined"

pytestmark = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")


@pytest.fixture
def session(fake_cuda: FakeCuda) -> Iterator[Any]:
    """A session on the fake driver whose stream always counts as active."""
    fake_cuda.configure(active_window_ns=10**12)
    with _core.cuda.Session(driver_path=str(fake_cuda.path)) as session:
        yield session


def assert_near(seconds: float, expected_ns: float) -> None:
    """Within the larger of 5 % and 200 ns."""
    assert seconds * 1e9 == pytest.approx(expected_ns, rel=0.05, abs=200)


def replay(session: Any, nodes: int, width: int = 1, samples: int = SAMPLES) -> Any:
    launch = _core.cuda.LaunchSpec()
    return _core.cuda.graph_replay(
        session, launch=launch, nodes=nodes, width=width, samples=samples
    )


def create(session: Any, nodes: int, width: int = 1, samples: int = SAMPLES) -> Any:
    launch = _core.cuda.LaunchSpec()
    return _core.cuda.graph_create(
        session, launch=launch, nodes=nodes, width=width, samples=samples
    )


def first_launch(session: Any, image: str = "cubin", samples: int = SAMPLES) -> Any:
    which = getattr(_core.cuda.Image, image)
    return _core.cuda.first_launch(session, image=which, samples=samples)


def slope(few: list[float], many: list[float], difference: int) -> float:
    """Seconds per node. The fake never charges less than it says, so the least is undisturbed."""
    return (min(many) - min(few)) / difference


def test_a_replay_is_a_launch_and_its_nodes(session: Any, fake_cuda: FakeCuda) -> None:
    fake_cuda.configure(graph_launch_node_ns=20_000)
    few, many = (replay(session, nodes) for nodes in (2, 18))
    assert [len(few.launch_s), len(few.total_s)] == [SAMPLES, SAMPLES]
    call, node = fake_cuda.cost("graph_launch_ns"), fake_cuda.cost("graph_launch_node_ns")
    assert_near(slope(few.launch_s, many.launch_s, 16), node)
    assert_near(min(few.launch_s), call + 2 * node)
    # Host and device take turns here, so that both are in it.
    assert_near(slope(few.total_s, many.total_s, 16), fake_cuda.cost("graph_node_ns"))


@pytest.mark.parametrize(("nodes", "width"), [(1, 1), (12, 1), (12, 4), (8, 8)])
def test_a_replay_ends_when_its_longest_branch_does(
    session: Any, fake_cuda: FakeCuda, nodes: int, width: int
) -> None:
    total = replay(session, nodes, width).total_s
    path = nodes // width
    device = path * fake_cuda.cost("body_ns") + (path - 1) * fake_cuda.cost("graph_gap_ns")
    host = fake_cuda.cost("graph_launch_ns") + nodes * fake_cuda.cost("graph_launch_node_ns")
    around = fake_cuda.cost("graph_start_ns") + fake_cuda.cost("sync_spin_ns")
    assert_near(min(total), host + around + device)


def test_an_upload_and_a_launch_come_before_the_timed_ones(
    session: Any, fake_cuda: FakeCuda
) -> None:
    fake_cuda.configure(graph_upload_ns=5_000_000)
    replays = replay(session, 1)
    assert fake_cuda.calls("cuGraphUpload") == 1
    assert fake_cuda.calls("cuGraphLaunch") > SAMPLES
    launch = fake_cuda.cost("graph_launch_ns") + fake_cuda.cost("graph_launch_node_ns")
    assert_near(min(replays.launch_s), launch)


@pytest.mark.parametrize(("nodes", "width"), [(0, 1), (-3, 1), (4, 0), (4, 5)])
def test_a_shape_that_cannot_be_is_refused(session: Any, nodes: int, width: int) -> None:
    with pytest.raises(ValueError):
        replay(session, nodes, width, samples=1)


@pytest.mark.parametrize("loop", [replay, create])
def test_no_samples_are_refused(session: Any, loop: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="samples"):
        loop(session, nodes=1, samples=0)


def test_each_step_of_making_a_graph_is_timed_alone(session: Any, fake_cuda: FakeCuda) -> None:
    steps = ("instantiate", "upload", "update")
    fake_cuda.configure(**{f"graph_{step}_node_ns": 20_000 + i for i, step in enumerate(steps)})
    few, many = (create(session, nodes) for nodes in (2, 12))
    assert_near(slope(few.capture_s, many.capture_s, 10), fake_cuda.cost("capture_node_ns"))
    ends = fake_cuda.cost("capture_begin_ns") + fake_cuda.cost("capture_end_ns")
    assert_near(min(few.capture_s), ends + 2 * fake_cuda.cost("capture_node_ns"))
    for step in steps:
        name = f"{step}_s"
        assert len(getattr(few, name)) == SAMPLES
        per_node = slope(getattr(few, name), getattr(many, name), 10)
        assert_near(per_node, fake_cuda.cost(f"graph_{step}_node_ns"))
    for step in ("instantiate", "update"):
        per_graph = fake_cuda.cost(f"graph_{step}_ns") + 2 * fake_cuda.cost(f"graph_{step}_node_ns")
        assert_near(min(getattr(few, f"{step}_s")), per_graph)


@pytest.mark.parametrize(
    ("fake_cuda", "symbol"),
    [("11.4", "cuGraphExecUpdate"), ("12.0", "cuGraphExecUpdate_v2")],
    indirect=["fake_cuda"],
)
def test_updates_use_the_signature_the_driver_has(
    session: Any, fake_cuda: FakeCuda, symbol: str
) -> None:
    create(session, 3, width=3, samples=2)
    calls = {name: count for name, count in fake_cuda.all_calls().items() if "Update" in name}
    assert calls == {symbol: 2}


@pytest.mark.parametrize(("image", "compiles"), [("ptx", True), ("cubin", False)])
def test_loading_and_first_launch_are_told_apart(
    session: Any, fake_cuda: FakeCuda, image: str, compiles: bool
) -> None:
    # Longer than the fake takes to read the text, which it does whatever it charges.
    fake_cuda.configure(lazy=1, module_load_ns=2_000_000)
    times = first_launch(session, image)
    cost = fake_cuda.cost
    assert (times.link_s == 0) is compiles
    assert_near(min(times.load_s), cost("module_load_ns") + compiles * cost("jit_ns"))
    assert_near(min(times.first_launch_s), cost("submit_ns") + cost("first_launch_ns"))
    rest = cost("start_active_ns") + cost("body_ns") + cost("sync_spin_ns")
    assert_near(min(times.second_total_s), cost("submit_ns") + rest)
    assert_near(min(times.first_total_s), cost("submit_ns") + cost("first_launch_ns") + rest)
    assert {len(times.load_s), len(times.get_function_s), len(times.first_total_s)} == {SAMPLES}


def test_each_sample_has_a_module_of_its_own(session: Any, fake_cuda: FakeCuda) -> None:
    before = {name: fake_cuda.calls(name) for name in ("cuModuleLoadDataEx", "cuModuleUnload")}
    first_launch(session, samples=3)
    assert {name: fake_cuda.calls(name) - count for name, count in before.items()} == {
        "cuModuleLoadDataEx": 3,
        "cuModuleUnload": 3,
    }


# What each loop calls, so that each can fail; what only frees is below.
CAPTURE_CALLS = (
    "cuStreamCreate",
    "cuEventCreate",
    "cuStreamBeginCapture_v2",
    "cuLaunchKernel",
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuStreamEndCapture",
    "cuGraphGetNodes",
    "cuGraphInstantiateWithFlags",
    "cuGraphUpload",
    "cuStreamSynchronize",
    "cuStreamQuery",
)
FIRST_CALLS = (
    "cuLinkCreate_v2",
    "cuLinkAddData_v2",
    "cuLinkComplete",
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuLaunchKernel",
    "cuStreamSynchronize",
    "cuStreamQuery",
)
# In the middle, where a capture is open, a kernel runs, or a graph is already there.
LATER_CALLS = (
    ("graph_replay", "cuLaunchKernel", 4),
    ("graph_replay", "cuStreamWaitEvent", 2),
    ("graph_replay", "cuGraphLaunch", 3),
    ("graph_create", "cuStreamBeginCapture_v2", 2),
    ("graph_create", "cuStreamEndCapture", 2),
    ("graph_create", "cuGraphInstantiateWithFlags", 2),
    ("graph_create", "cuGraphUpload", 2),
    ("graph_create", "cuGraphExecUpdate_v2", 2),
    ("first_launch", "cuLaunchKernel", 2),
    ("first_launch", "cuModuleLoadDataEx", 2),
)


def run(loop: str, session: Any) -> None:
    if loop == "first_launch":
        first_launch(session, samples=2)
    else:
        {"graph_replay": replay, "graph_create": create}[loop](session, 6, width=2, samples=2)


@pytest.mark.parametrize(
    ("loop", "function", "nth"),
    [
        *(("graph_replay", name, 1) for name in (*CAPTURE_CALLS, "cuGraphLaunch")),
        *(("graph_create", name, 1) for name in (*CAPTURE_CALLS, "cuGraphExecUpdate_v2")),
        *(("first_launch", name, 1) for name in FIRST_CALLS),
        *LATER_CALLS,
    ],
)
def test_a_failing_call_is_named_and_leaves_nothing(
    session: Any, fake_cuda: FakeCuda, loop: str, function: str, nth: int
) -> None:
    fake_cuda.fail(function, nth, UNKNOWN)
    with pytest.raises(_core.cuda.CudaError, match="CUDA_ERROR_UNKNOWN") as caught:
        run(loop, session)
    assert (caught.value.function, caught.value.code) == (function, UNKNOWN)
    run(loop, session)
    session.close()
    assert fake_cuda.leaks() == []
    # Giving up a capture whose branches cannot be joined any more is what the driver calls misuse.
    assert set(fake_cuda.misuse()) <= {UNJOINED}
    fake_cuda.reset()


@pytest.mark.parametrize(
    ("loop", "function"),
    [
        ("graph_replay", "cuGraphDestroy"),
        ("graph_replay", "cuGraphExecDestroy"),
        ("graph_replay", "cuEventDestroy_v2"),
        ("graph_replay", "cuStreamDestroy_v2"),
        ("first_launch", "cuModuleUnload"),
        ("first_launch", "cuLinkDestroy"),
    ],
)
def test_a_failing_clean_up_is_reported(
    session: Any, fake_cuda: FakeCuda, loop: str, function: str
) -> None:
    before = _core.cuda.cleanup_errors().count
    fake_cuda.fail(function, 1, UNKNOWN)
    run(loop, session)
    errors = _core.cuda.cleanup_errors()
    assert errors.count == before + 1
    assert function in errors.last
    assert "CUDA_ERROR_UNKNOWN" in errors.last
