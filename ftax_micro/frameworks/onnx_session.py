"""An ONNX Runtime session for a device: certain to run there, silent, with our threads.

ONNX Runtime does not raise where it cannot load the CUDA provider: it says so on stderr and runs on
the cpu. What a session runs on is known only once it is made, so it is asked then.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftax_micro.errors import FtaxError
from ftax_micro.frameworks.onnx_packages import import_onnxruntime

_LOG = logging.getLogger("ftax_micro.frameworks")
CPU_PROVIDER, CUDA_PROVIDER = "CPUExecutionProvider", "CUDAExecutionProvider"
_STDERR = 2


class ProviderError(FtaxError):
    """A session that does not run on the device it was made for."""


@dataclass(frozen=True)
class Target:
    """Where and how a session runs.

    `stream` is the handle of the CUDA stream that everything is launched on, None on the cpu.
    `profile` is what the name of a profile of its runs begins with.
    """

    threads: int
    device_index: int = 0
    stream: int | None = None
    tf32: bool = False
    cuda_graph: bool = False
    profile: Path | None = None

    @property
    def provider(self) -> str:
        """The execution provider that must run it."""
        return CPU_PROVIDER if self.stream is None else CUDA_PROVIDER

    @property
    def device_type(self) -> str:
        """What ONNX Runtime calls the memory of the device."""
        return "cpu" if self.stream is None else "cuda"


def open_session(model: Path, target: Target) -> Any:
    """The session of `model` on `target`.

    Errors: `ProviderError` where it would run somewhere else; `Skip` without onnxruntime; whatever
    ONNX Runtime raises for a model that it cannot load.
    """
    library = import_onnxruntime()
    options = _options(library, target)
    if target.stream is None:
        return library.InferenceSession(str(model), options, providers=[CPU_PROVIDER])
    _preload_cuda()
    library.set_default_logger_severity(3)  # errors: they say why CUDA cannot be had
    said: list[str] = []
    try:
        with _captured_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # providers that are not in this build
            session = library.InferenceSession(
                str(model), options, providers=[(CUDA_PROVIDER, _cuda_options(target))]
            )
    finally:
        library.set_default_logger_severity(4)
        for line in said:
            _LOG.info("onnxruntime: %s", line)
    check_provider(session, target, said)
    return session


def check_provider(session: Any, target: Target, said: list[str]) -> None:
    """Errors: `ProviderError` where `session` runs elsewhere, with the first line it `said`."""
    providers = session.get_providers()
    if target.provider not in providers:
        why = f": {said[0]}" if said else ""
        raise ProviderError(
            f"ONNX Runtime did not take {target.provider} and would run on "
            f"{', '.join(providers)}{why}"
        )


def run_options(asynchronous: bool, graph: int | None = None) -> Any:
    """Options of one run: `asynchronous` returns before the device is done.

    `graph` tells CUDA graphs of one session apart; they are replayed at fixed addresses.
    """
    options = import_onnxruntime().RunOptions()
    options.log_severity_level = 4
    if asynchronous:
        options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    if graph is not None:
        options.add_run_config_entry("gpu_graph_id", str(graph))
    return options


def _options(library: Any, target: Target) -> Any:
    options = library.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = target.threads
    options.inter_op_num_threads = 1
    options.execution_mode = library.ExecutionMode.ORT_SEQUENTIAL
    # Threads that spin on after a run would disturb the mode that is timed next.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if target.profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(target.profile)
    return options


def _cuda_options(target: Target) -> dict[str, str]:
    return {
        "device_id": str(target.device_index),
        "user_compute_stream": str(target.stream),
        "use_tf32": str(int(target.tf32)),
        "enable_cuda_graph": str(int(target.cuda_graph)),
    }


@functools.cache
def _preload_cuda() -> None:
    """CUDA's libraries from their packages, which ONNX Runtime does not look into by itself."""
    preload = getattr(import_onnxruntime(), "preload_dlls", None)
    if preload is None:
        return
    with tempfile.TemporaryFile("w+") as said, contextlib.redirect_stdout(said):
        preload()
        said.seek(0)
        for line in said:
            _LOG.info("onnxruntime: %s", line.rstrip())


@contextlib.contextmanager
def _captured_stderr(said: list[str]) -> Iterator[None]:
    """What anything writes to the process's stderr inside, as lines in `said` at the end."""
    with tempfile.TemporaryFile() as sink:
        sys.stderr.flush()
        saved = os.dup(_STDERR)
        os.dup2(sink.fileno(), _STDERR)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, _STDERR)
            os.close(saved)
            sink.seek(0)
            text = sink.read().decode(errors="replace")
            said += [line.strip() for line in text.splitlines() if line.strip()]
