"""The words of every environment warning: severity and sentence by code.

A sentence says what is wrong, why it matters for launch latency, and what to do. Names in braces
are filled in by `trust`.
"""

from __future__ import annotations

from typing import Literal

Severity = Literal["info", "warn", "refuse"]

TEXTS: dict[str, tuple[Severity, str]] = {
    # This process.
    "launch_blocking": (
        "refuse",
        "CUDA_LAUNCH_BLOCKING is set: every launch waits for its kernel, so the cost of launching "
        "cannot be told from the kernel's; unset it.",
    ),
    "sanitizer": (
        "refuse",
        "a sanitizer is attached ({names}): it checks memory accesses and calls, and launches cost "
        "many times more; run without it.",
    ),
    "tracer": (
        "refuse",
        "a tracer is injected ({names}): it records every call and adds up to microseconds to each "
        "launch; run outside the profiler and unset its variables.",
    ),
    "debugger": (
        "refuse",
        "{names} traces this process: system calls and signals stop for it, and every wait that "
        "enters the kernel is too long; run without it.",
    ),
    "cupti_loaded": (
        "warn",
        "CUPTI is loaded ({names}): once used it stays attached and slows launches; measure in a "
        "process that does not import what loads it.",
    ),
    "preload": (
        "warn",
        "libraries are preloaded ({names}): they can stand between a call and the driver or the "
        "allocator and add to each launch; unset LD_PRELOAD unless you measure it.",
    ),
    "audit": (
        "warn",
        "LD_AUDIT is set: the loader routes calls between libraries through an auditor, which "
        "every launch passes; unset it.",
    ),
    "python_hooks": (
        "warn",
        "Python runs with hooks ({names}) that are called on every line or function, which rows "
        "timed from Python pay for; run without coverage or debugger.",
    ),
    "python_debug": (
        "warn",
        "this is a debug build of Python, several times slower per call, which rows timed from "
        "Python pay for; use a release build.",
    ),
    "ranks_together": (
        "warn",
        "{count} ranks measured on this node at the same time: they share its cores, caches and "
        "links, and a GPU unless each has its own, and delay each other's launches; start one rank "
        "a node unless it is this that you measure.",
    ),
    # The host.
    "clock_source": (
        "warn",
        "the kernel's clock source is {clock}, not {good}: a reading may cost a system call or a "
        "trap, as much as what is timed; choose {good} "
        "(/sys/devices/system/clocksource) or another machine.",
    ),
    "governor": (
        "warn",
        "the CPU frequency governor is {names}: clocks rise only under lasting load, and short "
        "bursts are timed at a low clock; set it to performance (cpupower frequency-set -g).",
    ),
    "governor_dynamic": (
        "info",
        "the CPU frequency governor is {names}: clocks follow the load, and what is timed after an "
        "idle time is timed at a lower clock; performance is steadier.",
    ),
    "one_core": (
        "warn",
        "this process may use one CPU only: the thread that waits and the one it waits for take "
        "turns, so hand-offs measure the scheduler; give it at least two (taskset, the job's "
        "request).",
    ),
    "cpu_quota": (
        "warn",
        "a control group limits this process to {quota:g} of its {cpus} CPUs: once spinning "
        "threads have used that up, all stop until the next period; raise or remove the limit.",
    ),
    "load": (
        "warn",
        "the load average is {load:.2f} on {cpus} CPUs: other work takes cores and caches and "
        "preempts the timing thread; wait until the machine is idle.",
    ),
    "busy_processes": (
        "warn",
        "other processes are busy ({names}), and of {cpus} CPUs measuring wants {wanted}: they "
        "preempt the timing thread or the one it waits for; stop them.",
    ),
    "wsl": (
        "warn",
        "this is WSL: launches go through a paravirtual driver that batches them, so submit and "
        "start times are not the GPU's; measure on native Linux.",
    ),
    "virtualised": (
        "info",
        "a hypervisor ({names}) runs this machine: cores may be shared, and wake-ups and writes to "
        "the GPU may trap; compare only with machines of the same kind.",
    ),
    "mitigations": (
        "info",
        "CPU vulnerabilities concern this machine ({names}): mitigations slow system calls and "
        "indirect calls, which launches make; note it when comparing machines.",
    ),
    # One GPU.
    "gpu_processes": (
        "warn",
        "{gpu} also serves {names}: contexts take turns, and a launch may wait for another's time "
        "slice; stop them or use another GPU.",
    ),
    "throttling": (
        "warn",
        "{gpu} holds its clocks down ({names}): everything on the device takes longer than it "
        "would; let it cool, or lift the power limit.",
    ),
    "wddm": (
        "warn",
        "{gpu} runs under the WDDM driver model, which queues launches and submits them in "
        "batches: submit and start times are not the GPU's; use native Linux or the TCC model.",
    ),
    "persistence": (
        "warn",
        "{gpu} has persistence mode off: the driver unloads with its last client, and first "
        "launches pay for its start; switch it on (nvidia-smi -pm 1).",
    ),
    "mig": (
        "warn",
        "{gpu} is cut into MIG slices: launches go to a part of it, and others may work beside; "
        "compare only with the same slice.",
    ),
    "mps": (
        "warn",
        "an MPS server runs for {gpu}: its clients' launches share one context's queues and delay "
        "each other; stop it (echo quit | nvidia-cuda-mps-control).",
    ),
    "confidential_compute": (
        "warn",
        "{gpu} is in confidential-computing mode: commands and copies pass encrypted bounce "
        "buffers, and each launch costs more; switch it off, or compare like with like.",
    ),
    "vgpu": (
        "warn",
        "{gpu} is shared by virtual machines ({names}): its scheduler gives time slices, and a "
        "launch may wait for one; use the whole GPU.",
    ),
    # What could not be looked at.
    "unchecked": (
        "info",
        "could not be checked here: {names}. A disturbance of launches there would go unseen; look "
        "yourself before you publish.",
    ),
}
