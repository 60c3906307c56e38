"""What this process is: interpreter, packages, the variables that change timing, who watches it."""

from __future__ import annotations

import os
import platform
import re
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from ftax_micro.environment.ranks import launch_facts
from ftax_micro.fact_reader import FactReader, Unreadable
from ftax_micro.facts import ProcessFacts

# Distributions whose version changes a number here. Asked by metadata, never imported: that would
# load CUDA libraries and start threads before anything is timed.
PACKAGES = (
    "cuda-bindings",
    "cuda-core",
    "cuda-python",
    "cupti-python",
    "cupy",
    "cupy-cuda11x",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "msgspec",
    "numba",
    "numba-cuda",
    "numpy",
    "nvidia-cuda-runtime",
    "nvidia-cuda-runtime-cu12",
    "nvidia-ml-py",
    "onnxruntime",
    "onnxruntime-gpu",
    "torch",
    "torchvision",
    "transformers",
    "triton",
)

# Only these are recorded, because a whole environment holds secrets and a result is published.
_VARIABLES = frozenset(
    {
        "COMPUTE_PROFILE",
        "DYLD_INSERT_LIBRARIES",
        "GOMP_CPU_AFFINITY",
        "GOMP_SPINCOUNT",
        "HSA_TOOLS_LIB",
        "INTEL_LIBITTNOTIFY64",
        "LD_AUDIT",
        "LD_BIND_NOW",
        "LD_PRELOAD",
        "NUMBA_CUDA_DRIVER",
        "NUMBA_ENABLE_CUDASIM",
        "NVIDIA_DRIVER_CAPABILITIES",
        "NVIDIA_TF32_OVERRIDE",
        "NVIDIA_VISIBLE_DEVICES",
        "NVPROF_ID",
        "NVTX_INJECTION64_PATH",
        "NV_COMPUTE_PROFILER_PERFWORKS_DIR",
        "OPENBLAS_NUM_THREADS",
        "PYTHONASYNCIODEBUG",
        "PYTHONDEVMODE",
        "PYTHONMALLOC",
        "PYTHON_GIL",
        "PYTHON_JIT",
        "ROCP_TOOL_LIB",
    }
)
_VARIABLE_PREFIXES = (
    "ASAN_OPTIONS",
    "CUDA_",
    "FTAX_MICRO_",
    "KMP_",
    "MALLOC_",
    "MKL_",
    "NSYS_",
    "NV_NSIGHT_",
    "NV_SANITIZER_",
    "OMP_",
    "PYTORCH_",
    "TORCH_",
    "TSAN_OPTIONS",
)
# A prefix can also match what must not be published (an API key, for one).
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)

# Beginnings of the file names of libraries that tracers, profilers and sanitizers map into a
# process: CUPTI; Nsight Systems; Nsight Compute and compute-sanitizer (they share the launcher);
# nvprof; ROCm's tracers; the compilers' sanitizers; valgrind; VTune; heap and event tracers.
WATCHER_MARKS = (
    "libcupti",
    "libToolsInjection",
    "libcuda-injection",
    "libInterceptorInjectionTarget",
    "libTreeLauncher",
    "libsanitizer-",
    "libcuinj",
    "libroctracer",
    "librocprofiler",
    "libasan",
    "libtsan",
    "libubsan",
    "liblsan",
    "libclang_rt.",
    "vgpreload_",
    "libittnotify_collector",
    "libheaptrack",
    "liblttng-ust",
)

_SCHEDULERS = {
    "SCHED_OTHER": "other",
    "SCHED_BATCH": "batch",
    "SCHED_IDLE": "idle",
    "SCHED_FIFO": "fifo",
    "SCHED_RR": "rr",
}


def typed_command(argv: Sequence[str]) -> list[str]:
    """The command line `argv` as one types it, without the folder its program lies in.

    A result is published, and where somebody installed the program is nobody's business; what
    repeats the run is its name. A module of this package becomes ``python -m``.
    """
    if not argv:
        return []
    program, *arguments = argv
    package = Path(__file__).resolve().parents[1]
    path = Path(program)
    if path.suffix != ".py" or package not in path.parents:
        return [path.name, *arguments]
    parts = path.relative_to(package.parent).with_suffix("").parts
    module = ".".join(part for part in parts if part != "__main__")
    return ["python", "-m", module, *arguments]


def process_facts(root: Path, environ: Mapping[str, str], together: int = 1) -> ProcessFacts:
    """Facts of the calling process; `root` stands for ``/`` where files are read. `together` ranks
    of its node measure at the same time.
    """
    read = FactReader()
    return ProcessFacts(
        python_version=platform.python_version(),
        python_implementation=platform.python_implementation(),
        python_debug_build=hasattr(sys, "gettotalrefcount"),
        python_free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        packages=read("packages", package_versions) or {},
        variables=timing_variables(environ),
        preloaded=read("preloaded", lambda: preloaded_libraries(root, environ)),
        watchers=read("watchers", lambda: watching_libraries(root)),
        debugger=read("debugger", lambda: _debugger(root)),
        python_hooks=read("python_hooks", _python_hooks) or [],
        scheduler=read("scheduler", _scheduler),
        nice=read("nice", lambda: os.getpriority(os.PRIO_PROCESS, 0)),
        launch=launch_facts(environ, together),
        unknown=read.unknown,
    )


def package_versions() -> dict[str, str]:
    """Version by distribution name, for those of `PACKAGES` that are installed, and ftax-micro."""
    from importlib import metadata  # costs more than all else here: only when asked

    def version(name: str) -> str | None:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    found = {name: version(name) for name in ("ftax-micro", *PACKAGES)}
    versions = {name: text for name, text in found.items() if text is not None}
    if "ftax-micro" not in versions:  # a checkout on the path has no metadata
        own = getattr(sys.modules.get("ftax_micro"), "__version__", None)
        if isinstance(own, str):
            versions["ftax-micro"] = own
    return versions


def timing_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of the fixed list that are set, sorted, nothing that may be a secret."""
    return {
        name: environ[name]
        for name in sorted(environ)
        if (name in _VARIABLES or name.startswith(_VARIABLE_PREFIXES)) and not _SECRET.search(name)
    }


def preloaded_libraries(root: Path, environ: Mapping[str, str]) -> list[str]:
    """Libraries the loader puts before all others, by variable or by the system's file."""
    listed = re.split(r"[:\s]+", environ.get("LD_PRELOAD", ""))
    listed += environ.get("DYLD_INSERT_LIBRARIES", "").split(":")
    file = root / "etc/ld.so.preload"
    if file.exists():
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        listed += re.split(r"[:\s]+", " ".join(line.partition("#")[0] for line in lines))
    return [name for name in listed if name]


def watching_libraries(root: Path) -> list[str]:
    """Paths of mapped libraries whose names carry one of `WATCHER_MARKS`, sorted."""
    text = (root / "proc/self/maps").read_text(encoding="utf-8", errors="replace")
    # A mapping's line: address, permissions, offset, device, inode, path (may hold spaces).
    fields = (line.split(maxsplit=5) for line in text.splitlines())
    paths = {parts[5] for parts in fields if len(parts) == 6}
    return sorted(p for p in paths if p.rpartition("/")[2].startswith(WATCHER_MARKS))


def _debugger(root: Path) -> str | None:
    status = (root / "proc/self/status").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^TracerPid:\s*(\d+)$", status, re.MULTILINE)
    if found is None:
        raise Unreadable("the kernel does not tell who traces a process")
    pid = int(found[1])
    if pid == 0:
        return None
    try:
        name = (root / f"proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        name = "a process out of sight"
    return f"{name} (pid {pid})"


def _python_hooks() -> list[str]:
    hooks = []
    for label, hook in (("trace", sys.gettrace()), ("profile", sys.getprofile())):
        if hook is not None:
            kind = hook if hasattr(hook, "__qualname__") else type(hook)
            hooks.append(f"{label}: {kind.__module__}.{kind.__qualname__}")
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    if monitoring is not None:
        tools = (monitoring.get_tool(number) for number in range(6))
        hooks += [f"monitoring: {tool}" for tool in tools if tool is not None]
    return hooks


def _scheduler() -> str:
    if not hasattr(os, "sched_getscheduler"):
        raise Unreadable("this system does not tell its scheduling policy")
    policy = os.sched_getscheduler(0) & ~getattr(os, "SCHED_RESET_ON_FORK", 0)
    for constant, name in _SCHEDULERS.items():
        if getattr(os, constant, None) == policy:
            return name
    return f"policy {policy}"
