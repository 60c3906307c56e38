"""Shared by all tests."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = [
    *("fake_cuda.fixtures", "cuda_rows", "floor_command", "replayed_time", "diagnosing"),
]

# A deadline would assert wall time. Derandomised: a failure is one for everybody.
settings.register_profile("ftax_micro", deadline=None, derandomize=True)
settings.load_profile("ftax_micro")
