"""Takes from a process what Linux alone has, as it is on macOS: imported at the start of every
process of the environment that `run` makes. What the tests then cannot show is macOS itself.
"""

from __future__ import annotations

import errno
import functools
import os
import platform
import resource
import select
import signal
import sys
import sysconfig
import time
from collections.abc import Callable
from typing import Any

# Python's documentation names these for Linux, or has no macOS among where they are available.
_MISSING = {
    os: (
        *("sched_getaffinity", "sched_setaffinity", "sched_getscheduler", "sched_setscheduler"),
        *("sched_getparam", "sched_setparam", "sched_rr_get_interval", "sched_param"),
        *("SCHED_RESET_ON_FORK", "SCHED_BATCH", "SCHED_IDLE"),
        *("memfd_create", "pidfd_open", "eventfd", "eventfd_read", "eventfd_write", "pipe2"),
        *("posix_fadvise", "posix_fallocate", "copy_file_range", "splice", "fdatasync"),
        *("getrandom", "setns", "unshare", "getxattr", "setxattr", "listxattr", "removexattr"),
    ),
    signal: ("pidfd_send_signal", "sigtimedwait", "sigwaitinfo", "SIGRTMIN", "SIGRTMAX"),
    time: ("CLOCK_BOOTTIME", "pthread_getcpuclockid"),
    resource: ("prlimit", "RUSAGE_THREAD"),
    select: ("epoll",),
}
_HIDDEN = ("/proc", "/sys")


def _refuse_hidden(path: object) -> None:
    text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    if any(text == folder or text.startswith(f"{folder}/") for folder in _HIDDEN):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)


def _look_away(event: str, arguments: tuple[Any, ...]) -> None:
    if event in {"open", "os.listdir", "os.scandir"}:
        _refuse_hidden(arguments[0])


def _looking_away(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(path: object, *arguments: Any, **named: Any) -> Any:
        _refuse_hidden(path)
        return function(path, *arguments, **named)

    return wrapper


for _module, _names in _MISSING.items():
    for _name in _names:
        if hasattr(_module, _name):
            delattr(_module, _name)
sysconfig.get_config_vars()  # kept from now on: the file they come from is named by the platform
sys.platform = "darwin"
platform.system = lambda: "Darwin"
sys.addaudithook(_look_away)
for _name in ("stat", "lstat", "access", "readlink"):  # of which no audit hook hears
    setattr(os, _name, _looking_away(getattr(os, _name)))
