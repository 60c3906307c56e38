"""What runs on a node of a cluster: measurements, each in an ordinary process of its own.

Engines send this module by value, to nodes that may have no ftax_micro or another: it imports the
standard library alone. A measuring process has none of an engine's threads, its end by a crash, by
lack of memory or after too long a time is one answer among others, and it goes when this process
does.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# In a process of its own: importing the package here would tie this process to one version.
_REPORT = """
import json, platform, sys
found = {"python": platform.python_version()}
try:
    import ftax_micro
    found["version"] = ftax_micro.__version__
    if found["version"] == sys.argv[1]:
        from ftax_micro.devices import cuda_unavailable_reason, resolve_devices
        from ftax_micro.devices._extension import core
        found["build"] = core().source_digest
        found["devices"] = resolve_devices("all")
        found["no_cuda"] = cuda_unavailable_reason()
except Exception as error:
    found["error"] = f"{type(error).__name__}: {error}"
    found["absent"] = getattr(error, "name", None) == "ftax_micro"
print(json.dumps(found))
"""
_REPORT_S = 120.0
_MEASURING = "ftax_micro.orchestration.fleet.measuring"
_RESULT = "result.json"
# What a process that was told to go may take to end those it started.
_GRACE_S = 15.0
_LONGEST = 300


def work(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Measure on this node what `job` says, and tell of it as it happens.

    `job`: the `command` and its `arguments`; `files` that these name, by name; the `device`, or
    ``auto`` for every GPU and the cpu where there is none, or ``all`` for the cpu as well; devices
    that are `done`; `together`, all at a time; `limit_s` of one measurement; the `version` and
    `build` to have. Told are, by ``what``: ``report`` (of the node), ``refused`` (the node, or one
    device, with the reason), ``plan`` (the devices), ``begins`` and ``ended`` (of a device: exit
    code, last words, result).
    """
    _take_back_priority()
    report = _report(job["version"])
    yield {"what": "report", **report}
    reason = _why_not(job, report)
    if reason is not None:
        yield {"what": "refused", "reason": reason}
        return
    known = report["devices"]
    wanted = [name for name in _wanted(job["device"], known) if name not in job["done"]]
    yield {"what": "plan", "devices": wanted}
    for name in wanted:
        if name not in known:
            why = report["no_cuda"] or f"this node has {', '.join(known)}"
            reason = f"{name} is not available: {why}"
            yield {"what": "refused", "device": name, "reason": reason}
    present = [name for name in wanted if name in known]
    if job["together"] and len(present) > 1:
        yield from _together(job, present)
        return
    for name in present:
        yield {"what": "begins", "device": name}
        yield _measured(job, name)


def _together(job: dict[str, Any], devices: list[str]) -> Iterator[dict[str, Any]]:
    """All at a time, told of in the order of their ends."""
    answers: queue.Queue[dict[str, Any]] = queue.Queue()
    for name in devices:
        yield {"what": "begins", "device": name}
    for name in devices:
        put = threading.Thread(target=lambda name=name: answers.put(_measured(job, name)))
        put.start()
    for _ in devices:
        yield answers.get()


def _wanted(device: str, known: list[str]) -> list[str]:
    gpus = [name for name in known if name != "cpu"]
    named = {"auto": gpus or ["cpu"], "all": known, "cuda": ["cuda:0"]}
    return named.get(device, [device])


def _report(version: str) -> dict[str, Any]:
    """What this node has, or what went wrong when it was asked."""
    found: dict[str, Any] = {"host_niceness": _niceness(os.getppid()), "niceness": _niceness(0)}
    with tempfile.TemporaryDirectory(prefix="ftax-micro-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-c", _REPORT, version],
                cwd=folder,
                env=_environment(),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_REPORT_S,
                check=False,
            )
            return {**found, **json.loads(done.stdout.splitlines()[-1])}
        except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
            return {**found, "error": f"it could not be asked: {error}"}


def _why_not(job: dict[str, Any], report: dict[str, Any]) -> str | None:
    """Why this node's numbers could not stand beside those of the others; None where they can."""
    expected, version = job["version"], report.get("version")
    python = f"Python {report['python']} there" if "python" in report else "its Python"
    if report.get("absent"):
        return f"ftax_micro is not installed: pip install ftax-micro=={expected} for {python}"
    if version is not None and version != expected:
        return f"it has ftax_micro {version}, and {expected} is what measures here"
    if "error" in report:
        return f"ftax_micro cannot be used: {report['error']}"
    if report["build"] != job["build"]:
        build, other = report["build"][:12], job["build"][:12]
        return f"its ftax_micro {expected} was built from other sources: {build}, here {other}"
    return None


def _measured(job: dict[str, Any], device: str) -> dict[str, Any]:
    """The command's end on one device."""
    with tempfile.TemporaryDirectory(prefix="ftax-micro-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for each, content in job["files"].items():
            (folder / each).write_bytes(content)
        tail = ["--device", device, "-o", _RESULT]
        command = [sys.executable, "-m", _MEASURING, job["command"], *job["arguments"], *tail]
        code, said = _run(command, folder, job["limit_s"])
        result = folder / _RESULT
        content = result.read_bytes() if result.exists() else None
    return {"what": "ended", "device": device, "code": code, "said": said, "result": content}


def _run(command: list[str], folder: Path, limit_s: float) -> tuple[int, str]:
    """Exit code and last words of a process in `folder`, whose stdin ends with this process."""
    messages = folder / "stderr"
    with messages.open("wb") as stream:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            start_new_session=True,
        )
    try:
        code = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        _end(process)
        return 128 + signal.SIGTERM, f"it took longer than {limit_s:g} s and was ended"
    finally:
        _end(process)
        if process.stdin is not None:
            process.stdin.close()
    if code < 0:
        return code, f"it was killed by signal {-code} ({_signal_name(-code)})"
    return code, _last_words(messages.read_text(errors="replace"))


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return "unknown"


def _last_words(text: str) -> str:
    """The last line that is about the run: warnings on the machine are in the result."""
    lines = [line.strip() for line in text.splitlines() if any(map(str.isalnum, line))]
    about = [line for line in lines if not line.startswith(("warning: ", "saved "))]
    last = about[-1] if about else ""
    for prefix in ("ftax-micro: ", "error: "):
        last = last.removeprefix(prefix)
    return last if len(last) <= _LONGEST else f"{last[: _LONGEST - 1]}…"


def _environment() -> dict[str, str]:
    """Variables as this process got them, beside those that say which GPUs are its own: an engine
    may set the number of OpenMP's threads in its processes, where by hand there is none.
    """
    names = dict(os.environ)
    try:
        began_with = Path("/proc/self/environ").read_bytes()
    except OSError:
        return names
    if not any(each.startswith(b"OMP_NUM_THREADS=") for each in began_with.split(b"\0")):
        names.pop("OMP_NUM_THREADS", None)
    return names


def _take_back_priority() -> None:
    """An engine may run jobs at a lower priority than its own process; only some users can undo
    that, and the report tells.
    """
    wanted = _niceness(os.getppid())
    if wanted is not None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, wanted)


def _niceness(process: int) -> int | None:
    try:
        return os.getpriority(os.PRIO_PROCESS, process)
    except OSError:
        return None
