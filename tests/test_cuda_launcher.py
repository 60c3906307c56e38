"""Launches that a loop in Python makes: what they call, take, refuse, and leave behind."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import pytest
from fake_cuda import FakeCuda

from ftax_micro import _core

pytestmark = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")

UNKNOWN = 999
with_each_number = pytest.mark.parametrize("arguments", [0, 5, 19])


@pytest.fixture
def session(fake_cuda: FakeCuda) -> Iterator[Any]:
    """A session on the fake driver."""
    with _core.cuda.Session(driver_path=str(fake_cuda.path)) as session:
        yield session


def launcher(session: Any, arguments: int = 0, **more: Any) -> Any:
    return _core.cuda.Launcher(session, _core.cuda.LaunchSpec(arguments=arguments, **more))


def current_context(fake: FakeCuda) -> int | None:
    current = ctypes.c_void_p()
    assert fake.driver.cuCtxGetCurrent(ctypes.byref(current)) == 0
    return current.value


@with_each_number
def test_each_call_is_one_launch(session: Any, fake_cuda: FakeCuda, arguments: int) -> None:
    made = launcher(session, arguments)
    before = fake_cuda.calls("cuLaunchKernel")
    for round_ in (1, 2):
        with made:
            for _ in range(3):
                made.launch(*range(arguments))
            made.wait()
            assert fake_cuda.driver.cuStreamQuery(ctypes.c_void_p(made.stream)) == 0
        # One more, the first time: a driver may load a kernel when it is first launched.
        assert fake_cuda.calls("cuLaunchKernel") - before == 1 + 3 * round_


def test_a_launch_calls_nothing_else_of_the_driver(session: Any, fake_cuda: FakeCuda) -> None:
    made = launcher(session, 5)
    with made:
        made.wait()
        before = fake_cuda.calls()
        for _ in range(4):
            made.launch(1, 2, 3, 4, 5)
        assert fake_cuda.calls() - before == 4


@with_each_number
def test_the_handles_can_be_launched_by_others(
    session: Any, fake_cuda: FakeCuda, arguments: int
) -> None:
    made = launcher(session, arguments)
    values = (ctypes.c_uint64 * 19)()
    pointers = (ctypes.c_void_p * 19)(*[ctypes.addressof(values) + 8 * i for i in range(19)])
    kernel, stream = ctypes.c_void_p(made.kernel), ctypes.c_void_p(made.stream)
    with made:
        launch = fake_cuda.driver.cuLaunchKernel
        assert launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, pointers, None) == 0


def test_the_context_is_current_inside_alone(session: Any, fake_cuda: FakeCuda) -> None:
    assert current_context(fake_cuda) is None
    with launcher(session):
        assert current_context(fake_cuda) is not None
    assert current_context(fake_cuda) is None


@with_each_number
def test_other_arguments_than_the_kernels_are_refused_before_a_launch(
    session: Any, fake_cuda: FakeCuda, arguments: int
) -> None:
    made = launcher(session, arguments)
    with made:
        before = fake_cuda.calls("cuLaunchKernel")
        with pytest.raises(TypeError, match=f"takes {arguments} integers"):
            made.launch(*range(arguments + 1))
        if arguments:
            with pytest.raises(TypeError):
                made.launch(*range(1, arguments), "word")
            with pytest.raises(OverflowError):
                made.launch(*range(1, arguments), 2**63)
        assert fake_cuda.calls("cuLaunchKernel") == before


@pytest.mark.parametrize("arguments", [1, 4, 20, -5])
def test_there_is_no_null_kernel_with_another_number(session: Any, arguments: int) -> None:
    with pytest.raises(ValueError, match="0, 5 and 19"):
        launcher(session, arguments)
    with pytest.raises(ValueError, match="0, 5 and 19"):
        _core.cuda.submit(session, _core.cuda.LaunchSpec(arguments=arguments), 1, 1)


def test_arguments_come_one_way_or_the_other(session: Any) -> None:
    both = _core.cuda.LaunchSpec(arguments=5, argument_bytes=8)
    with pytest.raises(ValueError, match="not both"):
        _core.cuda.submit(session, both, 1, 1)
    with pytest.raises(ValueError, match="separate arguments"):
        launcher(session, argument_bytes=8)


@pytest.mark.parametrize("api", ["kernel_ex", "cooperative", "dependent", "runtime"])
def test_only_the_plain_call_is_launched_from_python(session: Any, api: str) -> None:
    with pytest.raises(ValueError, match="cuLaunchKernel"):
        launcher(session, api=getattr(_core.cuda.LaunchApi, api))


@pytest.mark.parametrize("arguments", [5, 19])
def test_separate_arguments_are_handed_over_by_every_launch(
    session: Any, fake_cuda: FakeCuda, arguments: int
) -> None:
    """The fake charges by the bytes it was given."""
    fake_cuda.configure(submit_ns=20_000, submit_ex_ns=20_000, submit_kib_ns=4_000_000)
    wanted_s = (20_000 + 4_000_000 * 8 * arguments // 1024) * 1e-9
    for api in ("kernel", "kernel_ex"):
        spec = _core.cuda.LaunchSpec(getattr(_core.cuda.LaunchApi, api), arguments=arguments)
        assert (spec.arguments, spec.argument_bytes) == (arguments, 0)
        assert min(_core.cuda.submit(session, spec, 1, 20)) == pytest.approx(wanted_s, rel=0.05)


def test_a_launch_outside_is_refused(session: Any, fake_cuda: FakeCuda) -> None:
    made = launcher(session)
    launch = made.launch
    with pytest.raises(RuntimeError, match="right to measure"):
        launch()
    with pytest.raises(RuntimeError, match="right to measure"):
        made.wait()
    with made:
        launch()
    del made
    gc.collect()
    with pytest.raises(RuntimeError, match="right to measure"):
        launch()


def test_nothing_else_is_measured_meanwhile(session: Any) -> None:
    made, other = launcher(session), launcher(session, 5)
    with made:
        for attempt in (
            lambda: other.__enter__(),
            lambda: made.__enter__(),
            lambda: session.close(),
            lambda: _core.cuda.submit(session, _core.cuda.LaunchSpec(), 1, 1),
        ):
            with pytest.raises(_core.cuda.CudaBusy):
                attempt()
        made.launch()
    with other:
        other.launch(1, 2, 3, 4, 5)


def test_a_failing_launch_is_named(session: Any, fake_cuda: FakeCuda) -> None:
    made = launcher(session)
    with made:
        fake_cuda.fail("cuLaunchKernel", 2, UNKNOWN)
        made.launch()
        with pytest.raises(_core.cuda.CudaError, match="cuLaunchKernel failed") as raised:
            made.launch()
        assert (raised.value.code, raised.value.name) == (UNKNOWN, "CUDA_ERROR_UNKNOWN")
        made.launch()


@pytest.mark.parametrize("function", ["cuLaunchKernel", "cuCtxSetCurrent", "cuStreamQuery"])
def test_what_fails_on_entering_leaves_nothing_taken(
    session: Any, fake_cuda: FakeCuda, function: str
) -> None:
    made = launcher(session)
    fake_cuda.fail(function, 1, UNKNOWN)
    with pytest.raises(_core.cuda.CudaError, match=function):
        made.__enter__()
    assert current_context(fake_cuda) is None
    with made:
        made.launch()


def test_leaving_gives_back_whatever_the_wait_says(session: Any, fake_cuda: FakeCuda) -> None:
    made = launcher(session)
    made.__enter__()
    fake_cuda.fail("cuStreamQuery", 1, UNKNOWN)
    with pytest.raises(_core.cuda.CudaError, match="cuStreamQuery"):
        made.__exit__(None, None, None)
    assert current_context(fake_cuda) is None
    with made:
        made.launch()


def test_a_closed_session_is_not_launched_into(fake_cuda: FakeCuda) -> None:
    session = _core.cuda.Session(driver_path=str(fake_cuda.path))
    made = launcher(session)
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        made.__enter__()
    with pytest.raises(RuntimeError, match="right to measure"):
        made.launch()
    with pytest.raises(RuntimeError, match="closed"):
        launcher(session)
