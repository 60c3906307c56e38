from __future__ import annotations

from pathlib import Path

import fake_trees
import pytest

from ftax_micro.environment import virtual
from ftax_micro.fact_reader import Unreadable


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"sys/fs/cgroup/a/b/cpu.max": "150000 100000"}, 1.5),
        ({"sys/fs/cgroup/a/b/cpu.max": "max 100000", "sys/fs/cgroup/a/cpu.max": "200000 50000"}, 4),
        ({"sys/fs/cgroup/a/b/cpu.max": "max 100000"}, None),
        # The tightest of a group and those it lies in.
        ({"sys/fs/cgroup/a/b/cpu.max": "3 1", "sys/fs/cgroup/a/cpu.max": "2 1"}, 2),
        # In a container the group's own files are the mount's root, whatever the path says.
        ({"sys/fs/cgroup/cpu.max": "50000 100000"}, 0.5),
        ({"sys/fs/cgroup/unified/a/cpu.max": "300000 100000"}, 3),
    ],
)
def test_cpu_quota_of_version_2(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    root = fake_trees.write(tmp_path, {"proc/self/cgroup": "0::/a/b\n", **files})
    (root / "sys/fs/cgroup").mkdir(parents=True, exist_ok=True)
    assert virtual.cpu_quota(root) == quota


def test_cpu_quota_of_version_1_without_a_limit(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:cpu,cpuacct:/../x\n",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        # Where the path leads if ".." is followed out of the controller's mount.
        "sys/fs/cgroup/x/cpu.max": "1 100000\n",
    }
    assert virtual.cpu_quota(fake_trees.write(tmp_path, files)) is None


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, None),
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
        ({"proc/self/cgroup": "0::/lxc.payload.box\n"}, "lxc"),
        ({"proc/self/cgroup": "0::/kubepods/x/cri-containerd-1\n"}, "kubernetes"),
    ],
)
def test_container_kinds(tmp_path: Path, files: dict[str, str], kind: str | None) -> None:
    root = fake_trees.write(tmp_path, {"proc/self/cgroup": "0::/\n", **files})
    assert virtual.container(root) == kind


def test_bare_metal_of_a_cloud_is_not_taken_for_virtual(tmp_path: Path) -> None:
    root = fake_trees.write(
        tmp_path,
        {
            "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
            "sys/class/dmi/id/product_name": "c7g.metal\n",
        },
    )
    with pytest.raises(Unreadable):
        virtual.is_virtualised(root, {})
    assert virtual.is_virtualised(root, {"flags": "fpu tsc"}) is False
    assert virtual.hypervisor(root, False) is None
    assert virtual.machine_model(root) == "Amazon EC2 c7g.metal"


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"sys/hypervisor/type": "xen\n"}, "xen"),
        ({"sys/class/dmi/id/sys_vendor": "QEMU\n"}, "QEMU"),
        ({"sys/class/dmi/id/product_name": "VMware7,1\n"}, "VMware"),
        ({"proc/device-tree/hypervisor/compatible": "linux,kvm\x00"}, "linux,kvm"),
    ],
)
def test_hypervisors_by_evidence(tmp_path: Path, files: dict[str, str], name: str) -> None:
    root = fake_trees.write(tmp_path, files)
    assert virtual.is_virtualised(root, {}) is True
    assert virtual.hypervisor(root, True) == name


def test_pid_namespace(tmp_path: Path) -> None:
    assert virtual.private_pid_namespace(fake_trees.write(tmp_path / "host", {})) is False
    other = fake_trees.write(tmp_path / "box", {}, pid_namespace="pid:[4026532500]")
    assert virtual.private_pid_namespace(other) is True
