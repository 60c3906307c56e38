"""Stand-ins for the libraries that launch kernels: they note what they are asked, in order.

Each takes only what the real one takes where our rungs use it, and nothing is launched.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Calls = list[tuple[Any, ...]]


def module(name: str, **members: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__dict__.update(members)
    return made


def install(patch: pytest.MonkeyPatch, *modules: types.ModuleType) -> None:
    """`modules` instead of whatever has their names, and instead of parts of theirs."""
    tops = {each.__name__.partition(".")[0] for each in modules}
    for known in [name for name in sys.modules if name.partition(".")[0] in tops]:
        patch.delitem(sys.modules, known)
    for each in modules:
        patch.setitem(sys.modules, each.__name__, each)


def noting(calls: Calls, what: str, result: Any = None) -> Callable[..., Any]:
    """A function that notes its positional arguments under the name `what`."""

    def call(*arguments: Any) -> Any:
        calls.append((what, *arguments))
        return result

    return call


def failing(error: Exception) -> Callable[..., Any]:
    def call(*_arguments: Any, **_named: Any) -> Any:
        raise error

    return call


# cuda.core


class Buffer:
    def __init__(self, calls: Calls) -> None:
        self.close = noting(calls, "free")


def cuda_core(calls: Calls, version: str = "1.2.2", **changed: Any) -> dict[str, Any]:
    """The members of cuda.core (before 0.5, of its part `experimental`)."""
    stream = types.SimpleNamespace(sync=noting(calls, "sync"), close=noting(calls, "end stream"))

    class Device:
        def __init__(self, index: int) -> None:
            calls.append(("device", index))

        set_current = staticmethod(noting(calls, "current"))
        create_stream = staticmethod(noting(calls, "stream", stream))

        def allocate(self, size: int, *, stream: Any) -> Buffer:
            calls.append(("allocate", size))
            return Buffer(calls)

    class ObjectCode:
        @staticmethod
        def from_ptx(module: bytes) -> Any:
            calls.append(("ptx", module))
            return types.SimpleNamespace(get_kernel=lambda name: f"kernel {name}")

    def launch_config(*, grid: int, block: int) -> str:
        return f"grid {grid} block {block}"

    members = {
        "Device": Device,
        "ObjectCode": ObjectCode,
        "LaunchConfig": launch_config,
        "launch": noting(calls, "launch"),
        "__version__": version,
    }
    return members | changed


# CuPy


def cupy(calls: Calls, version: str = "14.2.0", **changed: Any) -> types.ModuleType:
    class Device(contextlib.AbstractContextManager[None]):
        def __init__(self, index: int) -> None:
            self.index = index

        def __enter__(self) -> None:
            calls.append(("enter device", self.index))

        def __exit__(self, *_: object) -> None:
            calls.append(("leave device", self.index))

    class Stream(contextlib.AbstractContextManager[None]):
        def __init__(self, *, non_blocking: bool) -> None:
            calls.append(("stream", non_blocking))

        synchronize = staticmethod(noting(calls, "sync"))

        def __enter__(self) -> None:
            calls.append(("enter stream",))

        def __exit__(self, *_: object) -> None:
            calls.append(("leave stream",))

    class RawModule:
        def __init__(self, *, path: str) -> None:
            calls.append(("ptx", Path(path).read_bytes()))

        def get_function(self, name: str) -> Any:
            calls.append(("kernel", name))
            return noting(calls, "launch")

    members = {
        "__version__": version,
        "float32": "float32",
        "empty": lambda size, dtype: f"array of {size} {dtype}",
        "RawModule": RawModule,
        "cuda": types.SimpleNamespace(
            Device=Device,
            Stream=Stream,
            runtime=types.SimpleNamespace(getDeviceCount=lambda: 1),
        ),
    }
    return module("cupy", **(members | changed))


# Numba


def numba(
    calls: Calls, available: bool = True, why: str | None = None, simulated: bool = False
) -> list[types.ModuleType]:
    """numba, numba_cuda and the numba.cuda that comes with it."""
    stream = types.SimpleNamespace(synchronize=noting(calls, "sync"))

    class Kernel:
        def __init__(self, function: Callable[..., None]) -> None:
            self.name = function.__name__

        def __getitem__(self, configuration: tuple[Any, ...]) -> Callable[..., Any]:
            calls.append(("configure", self.name, configuration[:2]))
            assert configuration[2] is stream
            return noting(calls, "launch")

    return [
        module(
            "numba",
            __version__="0.68.1",
            config=types.SimpleNamespace(ENABLE_CUDASIM=simulated, DISABLE_JIT=False),
        ),
        module("numba_cuda", __version__="0.30.4"),
        module(
            "numba.cuda",
            is_available=lambda: available,
            cuda_error=lambda: why,
            select_device=noting(calls, "device"),
            stream=lambda: stream,
            device_array=lambda size, dtype: f"array of {size} {dtype}",
            jit=Kernel,
        ),
    ]


# Triton, and as much of torch as it is used with


def torch(calls: Calls, available: bool = True) -> types.ModuleType:
    class Stream:
        def __init__(self, index: int) -> None:
            calls.append(("stream", index))

        synchronize = staticmethod(noting(calls, "sync"))

    @contextlib.contextmanager
    def on_stream(_stream: Stream) -> Iterator[None]:
        calls.append(("enter stream",))
        yield
        calls.append(("leave stream",))

    return module(
        "torch",
        __version__="2.11.0+cu130",
        set_num_threads=lambda _count: None,
        empty=lambda size, device: f"tensor of {size} on {device}",
        cuda=types.SimpleNamespace(
            is_available=lambda: available,
            Stream=Stream,
            stream=on_stream,
            synchronize=noting(calls, "sync device"),
        ),
    )


class CompiledKernel:
    """Launches through the attribute `_run`, as Triton's do, which `launcher` names otherwise."""

    def __init__(self, launch: Callable[..., Any], launcher: str = "_run") -> None:
        setattr(self, launcher, launch)


def triton(
    calls: Calls,
    version: str = "3.6.0",
    launcher: str = "_run",
    hands: Callable[..., tuple[Any, ...]] = lambda *own: (1, 1, 1, "stream", "function", *own),
) -> types.ModuleType:
    """A Triton whose JIT hands ``hands(*arguments)`` to the launcher called `launcher`."""

    class JITFunction:
        def __init__(self, function: Callable[..., None]) -> None:
            calls.append(("jit", function.__name__))
            self.compiled = CompiledKernel(noting(calls, "launch"), launcher)

        def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., CompiledKernel]:
            def run(*arguments: Any) -> CompiledKernel:
                calls.append(("look up", grid, *arguments))
                getattr(self.compiled, launcher)(*hands(*arguments))
                return self.compiled

            return run

    return module(
        "triton",
        __version__=version,
        jit=JITFunction,
        runtime=types.SimpleNamespace(JITFunction=JITFunction),
    )
