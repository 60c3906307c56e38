from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import fake_trees
import pytest

from ftax_micro.environment import process as module
from ftax_micro.environment.process import (
    process_facts,
    timing_variables,
    typed_command,
    watching_libraries,
)

# What macOS does not tell of a process.
NOT_TOLD = set() if hasattr(os, "sched_getscheduler") else {"scheduler"}


def test_only_variables_of_the_list_and_no_secret() -> None:
    environ = {
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "LD_PRELOAD": "/x/liba.so",
        "HOME": "/home/someone",
        "AWS_SECRET_ACCESS_KEY": "s",
        "NVIDIA_API_KEY": "s",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "CUDA_REGISTRY_TOKEN": "s",
        "NV_NSIGHT_INJECTION_PORT_BASE": "49152",
        "FTAX_MICRO_CUDA_DRIVER": "/x/libcuda.so",
    }
    assert list(timing_variables(environ).items()) == [
        ("CUDA_VISIBLE_DEVICES", ""),
        ("FTAX_MICRO_CUDA_DRIVER", "/x/libcuda.so"),
        ("LD_PRELOAD", "/x/liba.so"),
        ("NVIDIA_VISIBLE_DEVICES", "all"),
        ("NV_NSIGHT_INJECTION_PORT_BASE", "49152"),
        ("OMP_NUM_THREADS", "1"),
    ]


def test_watching_libraries_by_file_name(tmp_path: Path) -> None:
    lines = [
        "7f00-7f01 r-xp 00000000 08:01 11   /opt/a b/libToolsInjection64.so",
        "7f01-7f02 r--p 00000000 08:01 11   /opt/a b/libToolsInjection64.so",
        "7f02-7f03 r-xp 00000000 08:01 12   /usr/lib/libcupti.so.13 (deleted)",
        "7f03-7f04 r-xp 00000000 08:01 13   /opt/libcupti-docs/libc.so.6",
        "7f04-7f05 rw-p 00000000 00:00 0",
        "7f05-7f06 rw-p 00000000 00:00 0    [heap]",
    ]
    root = fake_trees.write(tmp_path, {"proc/self/maps": "\n".join(lines)})
    assert watching_libraries(root) == [
        "/opt/a b/libToolsInjection64.so",
        "/usr/lib/libcupti.so.13 (deleted)",
    ]


def test_facts_of_a_watched_process(tmp_path: Path) -> None:
    root = fake_trees.write(
        tmp_path,
        {
            "proc/self/status": "TracerPid:\t77\n",
            "proc/77/comm": "strace\n",
            "proc/self/maps": "",
            "etc/ld.so.preload": "# none\n/lib/libb.so  # here\n",
        },
    )
    facts = process_facts(root, {"LD_PRELOAD": "/x/liba.so:/y/libc.so"})
    assert facts.debugger == "strace (pid 77)"
    assert facts.preloaded == ["/x/liba.so", "/y/libc.so", "/lib/libb.so"]
    assert facts.watchers == []
    assert set(facts.unknown) == NOT_TOLD


def test_facts_without_proc(tmp_path: Path) -> None:
    facts = process_facts(tmp_path, {})
    assert facts.watchers is None
    assert facts.debugger is None
    assert set(facts.unknown) == {"watchers", "debugger"} | NOT_TOLD
    assert facts.preloaded == []


def test_versions_are_read_without_importing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGES", ("msgspec", "surely-not-installed-here"))
    versions = module.package_versions()
    assert versions["msgspec"]
    assert "surely-not-installed-here" not in versions


def test_a_profile_function_is_a_hook(tmp_path: Path) -> None:
    def watch(frame: FrameType, event: str, arg: object) -> None:
        return None

    before: Callable[..., object] | None = sys.getprofile()
    sys.setprofile(watch)
    try:
        hooks = process_facts(tmp_path, {}).python_hooks
    finally:
        sys.setprofile(before)
    assert any("profile: test_environment_process." in hook for hook in hooks)


@pytest.mark.parametrize(
    ("program", "typed"),
    [
        ("{package}/launch_floor.py", ["python", "-m", "ftax_micro.launch_floor"]),
        ("{package}/__main__.py", ["python", "-m", "ftax_micro"]),
        ("/home/someone/.venv/bin/ftax-micro", ["ftax-micro"]),
        ("/home/someone/study.py", ["study.py"]),
        ("-c", ["-c"]),
    ],
)
def test_a_command_line_is_kept_without_where_its_program_lies(
    program: str, typed: list[str]
) -> None:
    package = Path(module.__file__).resolve().parents[1]
    argv = [program.format(package=package), "--quick", "-o", "floor.json"]
    assert typed_command(argv) == [*typed, "--quick", "-o", "floor.json"]


def test_no_command_line_stays_none() -> None:
    assert typed_command([]) == []
