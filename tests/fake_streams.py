"""A stand-in for a CUDA stream, and for the few calls of torch that are made around one."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass
class FakeStream:
    """Notes what is asked of it. `still_busy` is what it answers a query with."""

    name: str = "ours"
    still_busy: bool = True
    cuda_stream: int = 4711
    device: Any = field(default_factory=lambda: types.SimpleNamespace(index=0))
    told: list[str] = field(default_factory=list)

    def synchronize(self) -> None:
        self.told.append("synchronize")

    def query(self) -> bool:
        self.told.append("query")
        return not self.still_busy

    def wait_stream(self, other: FakeStream) -> None:
        self.told.append(f"wait for {other.name}")


def use_fake_streams(monkeypatch: pytest.MonkeyPatch, told: list[str]) -> FakeStream:
    """Put fakes into torch.cuda; `told` is shared by the caller's stream, which is returned."""
    import torch

    caller = FakeStream(name="the caller's", told=told)

    @contextlib.contextmanager
    def entered(stream: FakeStream) -> Iterator[None]:
        told.append(f"enter {stream.name}")
        yield
        told.append(f"leave {stream.name}")

    monkeypatch.setattr(torch.cuda, "current_stream", lambda _device=None: caller)
    monkeypatch.setattr(torch.cuda, "stream", entered)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: told.append("busy"))
    return caller
