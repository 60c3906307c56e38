"""What lies between this process and the metal: hypervisor, container, CPU quota, namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ftax_micro.fact_reader import Unreadable, read_text

# The initial PID namespace has this fixed inode (PROC_PID_INIT_INO in Linux's proc_ns.h).
_INITIAL_PID_NAMESPACE = "pid:[4026531836]"

# Marks in the board's vendor and product names. Only virtual machines carry these words; names that
# clouds give to bare metal too (Amazon EC2) count only where something else says hypervisor.
_VIRTUAL_BOARDS = {
    "QEMU": "QEMU",
    "KVM": "KVM",
    "VMware": "VMware",
    "VirtualBox": "VirtualBox",
    "Virtual Machine": "Hyper-V",
    "Google Compute Engine": "KVM (Google)",
    "HVM domU": "Xen",
    "OpenStack": "KVM (OpenStack)",
    "Apple Virtualization": "Apple Virtualization",
    "Parallels": "Parallels",
}
_CLOCKS_OF_HYPERVISORS = {
    "kvm-clock": "KVM",
    "hyperv_clocksource_tsc_page": "Hyper-V",
    "hyperv_clocksource": "Hyper-V",
    "xen": "Xen",
}
# Marks in the control-group path of a process in a container.
_CONTAINER_PATHS = {
    "kubepods": "kubernetes",
    "docker": "docker",
    "libpod": "podman",
    "containerd": "containerd",
    "lxc": "lxc",
}
_CONTAINER_FILES = {
    ".dockerenv": "docker",
    "run/.containerenv": "podman",
    ".singularity.d": "apptainer",
}


def _board(root: Path) -> str | None:
    files = (root / "sys/class/dmi/id" / name for name in ("sys_vendor", "product_name"))
    names = (file.read_text(errors="replace").strip() for file in files if file.exists())
    return " ".join(filter(None, names)) or None


def machine_model(root: Path) -> str:
    """Vendor and product of the board or the instance; `Unreadable` where nothing says it."""
    board = _board(root)
    if board is not None:
        return board
    tree = root / "proc/device-tree/model"
    if tree.exists():
        return read_text(tree)
    raise Unreadable("neither DMI nor a device tree names this machine")


def _hypervisor_name(root: Path) -> str | None:
    for file in ("sys/hypervisor/type", "proc/device-tree/hypervisor/compatible"):
        if (root / file).exists():
            return read_text(root / file)
    board = _board(root) or ""
    for mark, name in _VIRTUAL_BOARDS.items():
        if mark in board:
            return name
    clocks = root / "sys/devices/system/clocksource/clocksource0/available_clocksource"
    if clocks.exists():
        for clock in clocks.read_text(encoding="ascii").split():
            if clock in _CLOCKS_OF_HYPERVISORS:
                return _CLOCKS_OF_HYPERVISORS[clock]
    return None


def is_virtualised(root: Path, cpu_info: Mapping[str, str]) -> bool:
    """Whether a hypervisor runs this kernel.

    x86 has a CPU flag for it; elsewhere only evidence counts, and its absence proves nothing.
    """
    if "flags" in cpu_info:
        return "hypervisor" in cpu_info["flags"].split()
    if _hypervisor_name(root) is not None:
        return True
    raise Unreadable("this CPU has no flag for it, and nothing else says so")


def hypervisor(root: Path, virtualised: bool | None) -> str | None:
    """The hypervisor's name; None on bare metal."""
    if virtualised is False:
        return None
    name = _hypervisor_name(root)
    if name is None:
        raise Unreadable("nothing names a hypervisor")
    return name


def container(root: Path) -> str | None:
    """The kind of container this process is in; None if there is no sign of one."""
    for file, kind in _CONTAINER_FILES.items():
        if (root / file).exists():
            return kind
    systemd = root / "run/systemd/container"
    if systemd.exists():
        return read_text(systemd)
    path = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
    for mark, kind in _CONTAINER_PATHS.items():
        if mark in path:
            return kind
    return None


def private_pid_namespace(root: Path) -> bool:
    """Whether processes outside this one's PID namespace are out of sight."""
    return str((root / "proc/self/ns/pid").readlink()) != _INITIAL_PID_NAMESPACE


def cpu_quota(root: Path) -> float | None:
    """The tightest CPU limit of this process's control groups, in CPUs; None without a limit."""
    groups = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
    mount = root / "sys/fs/cgroup"
    if not mount.exists():
        raise Unreadable("control groups are not mounted here (no /sys/fs/cgroup)")
    quotas = []
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            bases = [mount, mount / "unified"]
        elif "cpu" in controllers.split(","):
            bases = [mount / controllers, mount / "cpu"]
        else:
            continue
        for base in bases:
            quotas += [q for folder in _with_parents(base, path) for q in _quota_of(folder)]
    return min(quotas, default=None)


def _with_parents(base: Path, path: str) -> Iterator[Path]:
    # A container often sees its own group as the mount's root while the path is the host's: the
    # root is looked at in any case. ".." stands for groups outside the namespace.
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for count in range(len(parts), -1, -1):
        yield base.joinpath(*parts[:count])


def _quota_of(folder: Path) -> Iterator[float]:
    if (folder / "cpu.max").exists():  # version 2: "max 100000" or "150000 100000"
        quota, _, period = read_text(folder / "cpu.max").partition(" ")
        if re.fullmatch(r"\d+", quota):
            yield int(quota) / int(period or 100_000)
    elif (folder / "cpu.cfs_quota_us").exists():  # version 1: -1 is no limit
        micros = int(read_text(folder / "cpu.cfs_quota_us"))
        if micros > 0:
            yield micros / int(read_text(folder / "cpu.cfs_period_us"))
