"""The runtime's launch path recovers the fake's costs, is found where it is named, and can fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_cuda import FakeCuda
from fake_cuda.build import Builder

from ftax_micro import _core

SAMPLES = 30
UNKNOWN = 999
VARIABLE = "FTAX_MICRO_CUDA_RUNTIME"

pytestmark = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")


@pytest.fixture
def session(fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A session on the fake driver whose stream always counts as active."""
    monkeypatch.delenv(VARIABLE, raising=False)
    fake_cuda.configure(active_window_ns=10**12)
    with _core.cuda.Session(driver_path=str(fake_cuda.path)) as session:
        yield session


@pytest.fixture
def runtime(fake_cuda_runtime: Path) -> str:
    """The path of the fake runtime that goes with the fake driver."""
    return str(fake_cuda_runtime)


def spec(**options: Any) -> Any:
    return _core.cuda.LaunchSpec(api=_core.cuda.LaunchApi.runtime, **options)


def submit(session: Any, runtime: str, burst: int = 2, **options: Any) -> Any:
    options = {"launch": spec(), "samples": SAMPLES, **options}
    session.use_runtime(runtime)
    return _core.cuda.submit(session, burst=burst, **options)


def launch_sync(session: Any, runtime: str, samples: int = SAMPLES) -> Any:
    session.use_runtime(runtime)
    return _core.cuda.launch_sync(session, launch=spec(), samples=samples)


def assert_near(seconds: float, expected_ns: float) -> None:
    """Within the larger of 5 % and 200 ns."""
    assert seconds * 1e9 == pytest.approx(expected_ns, rel=0.05, abs=200)


def test_the_slope_over_bursts_is_the_runtimes_launch(
    session: Any, fake_cuda: FakeCuda, runtime: str
) -> None:
    few, many = (submit(session, runtime, burst) for burst in (2, 8))
    assert [len(few), len(many)] == [SAMPLES, SAMPLES]
    # The fake never charges less than it says, so the least is undisturbed.
    assert_near((min(many) - min(few)) / 6, fake_cuda.cost("submit_runtime_ns"))


def test_a_launch_and_its_wait_are_timed_together(
    session: Any, fake_cuda: FakeCuda, runtime: str
) -> None:
    times = launch_sync(session, runtime)
    parts = ("submit_runtime_ns", "start_active_ns", "body_ns", "sync_spin_ns")
    assert len(times) == SAMPLES
    assert_near(min(times), sum(map(fake_cuda.cost, parts)))


def test_idling_is_not_timed(session: Any, fake_cuda: FakeCuda, runtime: str) -> None:
    times = submit(session, runtime, burst=1, idle=_core.cuda.Idle(0.002))
    assert_near(min(times), fake_cuda.cost("submit_runtime_ns"))


@pytest.mark.parametrize("argument_bytes", [8, 64, 256, 1024, 4096])
def test_arguments_reach_the_kernel(
    session: Any, fake_cuda: FakeCuda, runtime: str, argument_bytes: int
) -> None:
    fake_cuda.configure(submit_kib_ns=400_000)
    launch = spec(argument_bytes=argument_bytes)
    times = submit(session, runtime, burst=1, launch=launch)
    arguments = 400_000 * argument_bytes // 1024
    assert_near(min(times), fake_cuda.cost("submit_runtime_ns") + arguments)


@pytest.mark.parametrize("launch", [{"argument_bytes": 12}, {"grid": 0}, {"block": 0}])
def test_a_launch_it_does_not_have_is_refused(
    session: Any, runtime: str, launch: dict[str, Any]
) -> None:
    with pytest.raises(ValueError):
        submit(session, runtime, launch=spec(**launch))


def test_a_launch_through_a_runtime_that_nobody_named_is_refused(session: Any) -> None:
    with pytest.raises(ValueError, match="use_runtime"):
        _core.cuda.submit(session, launch=spec(), burst=1, samples=1)


def test_facts_name_the_library_in_use(
    session: Any, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = _core.cuda.runtime_facts(session, runtime_path=runtime)
    assert (facts.path, facts.version) == (runtime, 13000)
    monkeypatch.setenv(VARIABLE, runtime)
    assert _core.cuda.runtime_facts(session).path == runtime


def test_the_argument_wins_over_the_variable(
    session: Any, runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "absent.so"))
    assert _core.cuda.runtime_facts(session, runtime_path=runtime).path == runtime
    with pytest.raises(_core.cuda.CudaUnsupported, match="absent"):
        _core.cuda.runtime_facts(session)


def test_a_runtime_before_12_8_lacks_kernel_handles(
    session: Any, fake_cuda_builder: Builder
) -> None:
    old = str(fake_cuda_builder.runtime("13.0", library_calls=False))
    with pytest.raises(_core.cuda.CudaMissingFunction, match="cudaLibraryLoadData") as caught:
        submit(session, old)
    assert caught.value.version == "12.8"
    assert isinstance(caught.value, _core.cuda.CudaUnsupported)


def test_another_library_is_no_runtime(session: Any, fake_cuda: FakeCuda) -> None:
    with pytest.raises(_core.cuda.CudaUnsupported, match="cudaRuntimeGetVersion"):
        _core.cuda.runtime_facts(session, runtime_path=str(fake_cuda.path))


@pytest.mark.parametrize("fake_cuda", ["11.4"], indirect=True)
def test_a_driver_too_old_for_the_runtime_is_no_failure(session: Any, runtime: str) -> None:
    with pytest.raises(_core.cuda.CudaUnsupported, match="needs a newer driver"):
        launch_sync(session, runtime)
    with pytest.raises(_core.cuda.CudaUnsupported, match="driver"):
        _core.cuda.runtime_facts(session)


# The runtime's call, and what of the fake driver is behind it. The session has initialised before,
# so that the first cuInit is the runtime's own.
CALLS = (
    ("cudaFree", "cuInit", 1),
    ("cudaLibraryLoadData", "fake_cuda_runtime_load", 1),
    ("cudaLibraryGetKernel", "cuModuleGetFunction", 1),
    ("cudaLaunchKernel", "fake_cuda_runtime_launch", 1),
    ("cudaLaunchKernel", "fake_cuda_runtime_launch", 3),
)


@pytest.mark.parametrize(("function", "behind", "nth"), CALLS)
def test_a_failing_call_is_named_and_leaves_nothing(
    session: Any, fake_cuda: FakeCuda, runtime: str, function: str, behind: str, nth: int
) -> None:
    _core.cuda.runtime_facts(session, runtime_path=runtime)
    fake_cuda.fail(behind, nth, UNKNOWN)
    with pytest.raises(_core.cuda.CudaError, match="CUDA_ERROR_UNKNOWN") as caught:
        submit(session, runtime)
    assert (caught.value.function, caught.value.code) == (function, UNKNOWN)
    assert len(submit(session, runtime)) == SAMPLES
    session.close()
    assert fake_cuda.leaks() == []


def test_a_failing_wait_is_named(session: Any, fake_cuda: FakeCuda, runtime: str) -> None:
    fake_cuda.fail("cuStreamSynchronize", 2, UNKNOWN)
    with pytest.raises(_core.cuda.CudaError) as caught:
        launch_sync(session, runtime)
    assert caught.value.function == "cudaStreamSynchronize"


def test_a_failing_unload_is_reported(session: Any, fake_cuda: FakeCuda, runtime: str) -> None:
    before = _core.cuda.cleanup_errors().count
    fake_cuda.fail("cuModuleUnload", 1, UNKNOWN)
    submit(session, runtime)
    session.close()
    errors = _core.cuda.cleanup_errors()
    assert errors.count == before + 1
    assert "cudaLibraryUnload" in errors.last
