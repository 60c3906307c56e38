"""Fixtures to import in conftest.py: the fake driver built once, and clean for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fake_cuda import FakeCuda
from fake_cuda.build import Builder, NotBuildable

__all__ = ["fake_cuda", "fake_cuda_builder", "fake_cuda_path", "fake_cuda_runtime"]


@pytest.fixture(scope="session")
def fake_cuda_builder(request: pytest.FixtureRequest) -> Builder:
    """Builds into pytest's cache folder, where the next run finds it done."""
    cache = request.config.cache
    assert cache is not None
    try:
        return Builder(cache.mkdir("fake_cuda"))
    except NotBuildable as reason:
        pytest.skip(f"the fake driver can't be built: {reason}")


@pytest.fixture(scope="session")
def fake_cuda_path(fake_cuda_builder: Builder) -> Callable[[str], Path]:
    """The fake driver library of a version ("11.4", "12.0", "12.4", "13.0"), or "stub"."""

    def path(version: str = "13.0") -> Path:
        if version == "stub":
            return fake_cuda_builder.driver(stub=True)
        return fake_cuda_builder.driver(version)

    return path


@pytest.fixture
def fake_cuda(
    request: pytest.FixtureRequest, fake_cuda_path: Callable[[str], Path]
) -> Iterator[FakeCuda]:
    """A fresh fake driver, 13.0 or as parametrized indirectly; it must be left tidy.

    A test that provokes misuse or leaks on purpose ends with `fake_cuda.reset()`.
    """
    fake = FakeCuda(fake_cuda_path(getattr(request, "param", "13.0")))
    fake.reset()
    yield fake
    misuse, leaks = fake.misuse(), fake.leaks()
    fake.reset()
    assert not misuse
    assert not leaks


@pytest.fixture
def fake_cuda_runtime(fake_cuda: FakeCuda, fake_cuda_builder: Builder) -> Path:
    """The fake runtime library that goes with the fixture `fake_cuda`."""
    version = fake_cuda.path.name.split("-")[1]
    return fake_cuda_builder.runtime(version)
