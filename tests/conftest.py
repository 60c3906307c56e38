"""Shared by all tests."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

pytest_plugins = [
    *("bench_scripts", "fake_cuda.fixtures", "cuda_rows", "floor_command", "replayed_time"),
    "diagnosing",
]

# The files that take longest begin first: of workers that share the files, one that had the longest
# left at the end would let the others wait.
LONGEST = [
    *("test_docs.py", "test_traced_floor.py", "test_cuda_device.py", "test_cuda_poses.py"),
    *("test_families.py", "test_bench.py", "test_cuda_axis_faults.py", "test_workload_child.py"),
]

# A deadline would assert wall time. Derandomised: a failure is one for everybody.
settings.register_profile("ftax_micro", deadline=None, derandomize=True)
settings.load_profile("ftax_micro")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests and the processes they start share a cache of their own, and leave the user's alone."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FTAX_MICRO_CACHE", str(tmp_path_factory.mktemp("ftax_micro_cache")))
        yield


@pytest.fixture(scope="module", autouse=True)
def imports_set_aside() -> None:
    """What was imported so far is no garbage. To go through all of it at every collection, of which
    each block of forwards has one, takes more time than the tests that ask for it.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def nothing_set_aside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The collector as Python starts with it, but nobody makes it go through all imports."""
    monkeypatch.setattr(gc, "collect", lambda *_: 0)
    gc.unfreeze()
    yield
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """pytest-xdist would hand out the files with the most tests first, whatever their order. And
    what a shell starts in the background ignores Ctrl-C, as would all that the tests start.
    """
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first. Tests that need a GPU are skipped, with the reason, without one."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))
    marked = [item for item in items if item.get_closest_marker("cuda")]
    if not marked:
        return
    from ftax_micro.devices.cuda import unavailable_reason
    from ftax_micro.errors import FtaxError

    try:
        reason = unavailable_reason()
    except FtaxError as error:  # the extension: all other tests will tell
        reason = str(error)
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"no NVIDIA GPU: {reason}"))
