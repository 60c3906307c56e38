"""Small ``/proc`` and ``/sys`` trees of machines the tests need, as relative path -> text."""

from __future__ import annotations

from pathlib import Path

Tree = dict[str, str]

_CPU = "sys/devices/system/cpu"
_CLOCK = "sys/devices/system/clocksource/clocksource0"
INITIAL_PID_NAMESPACE = "pid:[4026531836]"


def write(root: Path, tree: Tree, *, pid_namespace: str = INITIAL_PID_NAMESPACE) -> Path:
    """Writes `tree` under `root` and returns it."""
    for path, text in tree.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    namespace = root / "proc/self/ns/pid"
    namespace.parent.mkdir(parents=True, exist_ok=True)
    namespace.symlink_to(pid_namespace)
    return root


def stat_line(pid: int, name: str, user_ticks: int, system_ticks: int = 0) -> str:
    """``/proc/<pid>/stat`` as far as it is read: 15 fields of proc(5)."""
    return f"{pid} ({name}) R 1 1 1 0 -1 0 0 0 0 0 {user_ticks} {system_ticks} 0 0 20"


def _kernel(release: str, version: str, hostname: str) -> Tree:
    return {
        "proc/sys/kernel/osrelease": release + "\n",
        "proc/sys/kernel/version": version + "\n",
        "proc/sys/kernel/hostname": hostname + "\n",
        "proc/loadavg": "0.10 0.20 0.30 1/100 4711\n",
        "proc/meminfo": "MemTotal:       16384 kB\nMemFree:        1 kB\n",
        "proc/self/maps": "7f00-7f01 r-xp 00000000 08:01 1234   /usr/lib/libc.so.6\n",
        "etc/os-release": 'NAME="Example"\nPRETTY_NAME="Example Linux 1"\n',
    }


def x86_server() -> Tree:
    """Bare metal, two sockets of one core with two threads each, performance governor."""
    tree = _kernel("6.8.0-60-generic", "#63 SMP PREEMPT_DYNAMIC", "node1")
    block = (
        "processor\t: {n}\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9999\n"
        "cpu MHz\t\t: 3700.0\nflags\t\t: fpu tsc nonstop_tsc\n\n"
    )
    tree |= {
        "proc/cpuinfo": "".join(block.format(n=n) for n in range(4)),
        "proc/self/status": "Name:\tpython\nTracerPid:\t0\nCpus_allowed_list:\t0-7\n",
        "proc/self/cgroup": "0::/user.slice/job\n",
        "sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
        f"{_CPU}/online": "0-3\n",
        f"{_CPU}/isolated": "\n",
        f"{_CPU}/smt/active": "1\n",
        f"{_CPU}/cpufreq/boost": "1\n",
        f"{_CPU}/cpuidle/current_driver": "acpi_idle\n",
        f"{_CPU}/cpu0/cpuidle/state0/name": "POLL\n",
        f"{_CPU}/cpu0/cpuidle/state0/disable": "0\n",
        f"{_CPU}/cpu0/cpuidle/state1/name": "C1\n",
        f"{_CPU}/cpu0/cpuidle/state1/disable": "0\n",
        f"{_CPU}/cpu0/cpuidle/state2/name": "C2\n",
        f"{_CPU}/cpu0/cpuidle/state2/disable": "1\n",
        f"{_CPU}/vulnerabilities/meltdown": "Not affected\n",
        f"{_CPU}/vulnerabilities/spectre_v2": "Mitigation: Retpolines\n",
        f"{_CLOCK}/current_clocksource": "tsc\n",
        f"{_CLOCK}/available_clocksource": "tsc hpet acpi_pm\n",
        "sys/devices/system/node/node0/cpulist": "0,2\n",
        "sys/devices/system/node/node1/cpulist": "1,3\n",
        "sys/class/dmi/id/sys_vendor": "Example Corp\n",
        "sys/class/dmi/id/product_name": "Server 1\n",
    }
    for n in range(4):
        tree |= {
            f"{_CPU}/cpu{n}/topology/thread_siblings_list": f"{n % 2},{n % 2 + 2}\n",
            f"{_CPU}/cpu{n}/cpufreq/scaling_governor": "performance\n",
            f"{_CPU}/cpu{n}/cpufreq/scaling_driver": "amd-pstate-epp\n",
            f"{_CPU}/cpu{n}/cpufreq/energy_performance_preference": "performance\n",
            f"{_CPU}/cpu{n}/cpufreq/scaling_min_freq": f"{1500000 + n}\n",
            f"{_CPU}/cpu{n}/cpufreq/scaling_max_freq": f"{3700000 + n}\n",
            f"{_CPU}/cpu{n}/cpufreq/scaling_cur_freq": f"{3600000 + n}\n",
        }
    return tree


def grace() -> Tree:
    """An aarch64 server: no vendor_id, no flags, no DMI, two of its cores."""
    tree = _kernel("6.11.0-64k", "#1 SMP PREEMPT_DYNAMIC", "grace")
    block = "processor\t: {n}\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\n"
    tree |= {
        "proc/cpuinfo": "".join(block.format(n=n) for n in range(2)),
        "proc/self/status": "TracerPid:\t0\nCpus_allowed_list:\t0-1\n",
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/cgroup.procs": "",
        "proc/device-tree/model": "NVIDIA Grace Board\x00",
        f"{_CPU}/online": "0-1\n",
        f"{_CPU}/isolated": "\n",
        f"{_CPU}/cpu0/topology/thread_siblings_list": "0\n",
        f"{_CPU}/cpu1/topology/thread_siblings_list": "1\n",
        f"{_CLOCK}/current_clocksource": "arch_sys_counter\n",
        f"{_CLOCK}/available_clocksource": "arch_sys_counter\n",
    }
    return tree


def container_without_sys() -> Tree:
    """A container that hides ``/sys`` and shows its group's path on the host."""
    tree = _kernel("5.15.0", "#1 SMP", "pod-1")
    tree |= {
        "proc/cpuinfo": (
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some Xeon\n"
            "flags\t\t: fpu hypervisor\n\nprocessor\t: 1\n"
        ),
        "proc/self/status": "TracerPid:\t0\nCpus_allowed_list:\t0-1\n",
        "proc/self/cgroup": "0::/kubepods.slice/pod1\n",
    }
    return tree


def one_core_with_quota() -> Tree:
    """A KVM guest held to one CPU, with control groups of version 1 and half a CPU of quota."""
    tree = container_without_sys()
    tree |= {
        "proc/self/status": "TracerPid:\t0\nCpus_allowed_list:\t1\n",
        "proc/self/cgroup": "5:memory:/a\n3:cpu,cpuacct:/docker/abc\n0::/\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        f"{_CPU}/online": "0-1\n",
        f"{_CLOCK}/current_clocksource": "kvm-clock\n",
        f"{_CLOCK}/available_clocksource": "kvm-clock tsc\n",
        ".dockerenv": "",
    }
    return tree


def wsl() -> Tree:
    """WSL 2: Microsoft's kernel on Hyper-V."""
    tree = container_without_sys()
    tree |= _kernel("5.15.167.4-microsoft-standard-WSL2", "#1 SMP", "laptop")
    tree |= {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/cgroup.procs": "",
        f"{_CLOCK}/current_clocksource": "hyperv_clocksource_tsc_page\n",
        f"{_CLOCK}/available_clocksource": "hyperv_clocksource_tsc_page acpi_pm\n",
    }
    return tree
