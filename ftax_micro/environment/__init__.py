"""Captures the environment of a run: `capture_environment`, and which recorded GPU is CUDA's."""

from __future__ import annotations

import os
import platform
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ftax_micro.environment.gpu import read_gpus
from ftax_micro.environment.host import ProcessTimes, linux_host_facts
from ftax_micro.environment.macos import macos_host_facts, read_sysctl
from ftax_micro.environment.process import process_facts, typed_command
from ftax_micro.fact_reader import FactReader, Unreadable, read_text
from ftax_micro.facts import Environment, GpuFacts, HostFacts
from ftax_micro.gpu.nvml import uuid_texts

# Other processes' CPU time is read twice, at least this far apart: five ticks of the kernel's 10 ms
# accounting, so that one tick more or less is not taken for a busy process.
_BUSY_WINDOW_S = 0.05


def capture_environment(
    *,
    command: Sequence[str],
    build_id: str | None,
    gpus: bool = True,
    together: int = 1,
    root: Path | str = "/",
    environ: Mapping[str, str] | None = None,
    system: str | None = None,
    machine: str | None = None,
    nvml: Any = None,
) -> Environment:
    """Everything about this run that is not a measurement, in about 0.1 s.

    Never raises for a fact that cannot be read: its reason is recorded. Call it before any CUDA
    context exists, so that this process is not among the GPU's, and before the measurement, whose
    own load would show. `command` is the command line, of which `typed_command` is kept, `build_id`
    the extension's; with `gpus` false NVML is left alone; `together` ranks of a launcher measure on
    this node at the same time. The other arguments stand for the real
    machine in tests: `root` for ``/``, `environ` for the process's variables, `system` and
    `machine` for what `platform` says, `nvml` for the ``pynvml`` module.
    """
    root = Path(root)
    system = platform.system() if system is None else system
    machine = platform.machine() if machine is None else machine
    read, earlier = FactReader(), ProcessTimes(root)
    process = process_facts(root, os.environ if environ is None else environ, together)
    found: list[GpuFacts] | None = []
    if gpus:
        found = read(
            "gpus",
            lambda: read_gpus(
                root=root, own_pid=os.getpid(), process_names=earlier.names(), module=nvml
            ),
        )
    return Environment(
        captured_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=typed_command(command),
        build_id=build_id,
        hostname=read("hostname", lambda: _hostname(root)),
        os=read("os", lambda: _os_name(root, system)),
        kernel=read("kernel", lambda: _kernel(root)),
        machine=machine or None,
        process=process,
        host=_host(root, system, machine, earlier),
        gpus=found,
        unknown=read.unknown,
    )


def _host(root: Path, system: str, machine: str, earlier: ProcessTimes) -> HostFacts:
    if system == "Darwin":
        read = FactReader()
        return macos_host_facts(read("sysctl", read_sysctl) or "")
    missing_s = _BUSY_WINDOW_S - (time.perf_counter() - earlier.at_s)
    if missing_s > 0 and earlier.by_pid:
        time.sleep(missing_s)
    return linux_host_facts(root, machine, os.getpid(), earlier)


def _hostname(root: Path) -> str:
    file = root / "proc/sys/kernel/hostname"
    name = read_text(file) if file.exists() else socket.gethostname()
    if not name:
        raise Unreadable("this machine has no name")
    return name


def _os_name(root: Path, system: str) -> str:
    if system == "Darwin":
        return f"macOS {platform.mac_ver()[0]}"
    for line in read_text(root / "etc/os-release").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip("\"'")
    raise Unreadable("/etc/os-release has no PRETTY_NAME")


def _kernel(root: Path) -> str:
    folder = root / "proc/sys/kernel"
    if folder.exists():  # the version part tells the preemption model
        return f"{read_text(folder / 'osrelease')} {read_text(folder / 'version')}"
    return f"{platform.system()} {platform.release()}"


def find_gpu(
    gpus: Iterable[GpuFacts], *, uuid: str | bytes | None = None, pci_bus_id: str | None = None
) -> GpuFacts | None:
    """The recorded GPU that CUDA knows by `uuid` or by `pci_bus_id`; None if there is none.

    Never by index: CUDA's follows `CUDA_VISIBLE_DEVICES` and its own ordering, NVML's the PCI bus.
    `uuid` may be CUDA's 16 bytes, bare hexadecimal, or NVML's text.
    """
    names = set(uuid_texts(uuid)) if uuid is not None else set()
    for gpu in gpus:
        if gpu.uuid is not None and gpu.uuid in names:
            return gpu
        if pci_bus_id and gpu.pci_bus_id and _same_bus(gpu.pci_bus_id, pci_bus_id):
            return gpu
    return None


def _same_bus(one: str, other: str) -> bool:
    def key(text: str) -> tuple[int, str]:
        domain, _, rest = text.lower().partition(":")
        return int(domain, 16), rest

    return key(one) == key(other)
