"""The extension's CUDA loops, called with settings: the one place that knows their signatures.

All times are seconds. A setting names a launch by `api` (``kernel``, ``kernel_ex``,
``cooperative``, ``dependent``, ``runtime``), `argument_bytes`, `grid`, `block`, `stream` (``own``,
``legacy``, ``per_thread``); how long the host idles before it by `idle_ns` and `idle_by` (``spin``
or ``sleep``).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import Outcome
from ftax_micro.devices.cuda.runtime_library import runtime_path
from ftax_micro.errors import Hung, NeedsOwnProcess, Skip
from ftax_micro.records import Plan, Setting, Verdict

# A device that has not done a microsecond's work after this long is not going to.
DEADLINE_S = 20.0
# The holder of a held stream ends by itself after this long, whatever becomes of the host.
HOLD_DEADLINE_S = 2.0
# Longer than a blocked thread needs to be asleep for sure.
SYNC_LEAD_S = 100e-6
_KNEE_CAP = 8192
_KNEE_SPIN_S = 50e-3
_KNEE_FALLBACK = 256
# A launch that was preempted passes for one that blocked: a knee is never found too high, so it is
# the largest that was found twice, within this share of it.
_KNEE_TRIES, _KNEE_AGREEING = 9, 2
_KNEE_SPREAD = 0.05
# The SM clock of a device that does not tell it.
_NOMINAL_KHZ = 1_500_000
# How the context waits in rows that do not ask for a style: the cheapest, and the most repeatable.
DEFAULT_WAIT = "spin"


class Loops:
    """A device's session, reopened where a row needs another wait style."""

    def __init__(self, ordinal: int) -> None:
        self._ordinal = ordinal
        self._session: Any = None
        self._wait: str | None = None
        self._hung: str | None = None
        self._knees: dict[tuple[str, int], int] = {}
        self._clock_khz: int | None = None

    @property
    def extension(self) -> Any:
        """``_core.cuda``."""
        return core().cuda

    def session(self, wait: str | None = None) -> Any:
        """The session with the context's wait style `wait`; one with another style is closed.

        Without `wait`, with the default style, or whatever another user of the context keeps.
        Errors: what opening raises; `NeedsOwnProcess` where another user of the context keeps its
        style; `Hung` where the device did not answer before: it would not now, and each try takes
        long.
        """
        if self._session is not None and self._session.abandoned:
            self._hung = "the device did not answer in a row before this one"
        if self._hung is not None:
            raise Hung(self._hung)
        if self._session is None or self._wait != (wait or DEFAULT_WAIT):
            self._reopen(wait or DEFAULT_WAIT)
        style, effective = self._style(wait or DEFAULT_WAIT), self._session.wait_style
        if wait is not None and effective != style:
            raise NeedsOwnProcess(
                f"the context waits by {effective.name.rstrip('_')} and cannot be changed: "
                "another part of this process uses it"
            )
        return self._session

    def session_for(self, setting: Setting, wait: str | None = None) -> Any:
        """The session, ready for the launches that a setting describes. Errors: as `session`;
        `Skip` and the extension's where they go through the runtime and none will do here.
        """
        session = self.session(wait)
        if setting.get("api") == "runtime":
            session.use_runtime(self.runtime)
        return session

    def _reopen(self, wait: str) -> None:
        self.close()
        try:
            self._session = self.extension.Session(self._ordinal, "", self._style(wait), DEADLINE_S)
        except self.extension.CudaTimeout as error:
            self._hung = str(error)
            raise
        self._wait = wait

    def _style(self, wait: str) -> Any:
        return getattr(self.extension.WaitStyle, "yield_" if wait == "yield" else wait)

    def close(self) -> None:
        """Give the context back."""
        session, self._session, self._wait = self._session, None, None
        if session is not None:
            session.close()

    @functools.cached_property
    def runtime(self) -> str:
        """Path of the CUDA runtime library; empty where the loader knows better."""
        version, _ = self.extension.driver_facts("")
        return runtime_path(int(version), str(self.extension.loaded_runtime(int(version))))

    def spec(self, setting: Setting) -> Any:
        """The launch a setting describes."""
        return self.extension.LaunchSpec(
            api=getattr(self.extension.LaunchApi, str(setting.get("api", "kernel"))),
            argument_bytes=int(setting.get("argument_bytes", 0)),
            grid=int(setting.get("grid", 1)),
            block=int(setting.get("block", 1)),
            stream=getattr(self.extension.StreamKind, str(setting.get("stream", "own"))),
        )

    def idle(self, setting: Setting) -> Any:
        """What the host does before each timed launch."""
        idle_s = float(setting.get("idle_ns", 0)) * 1e-9
        return self.extension.Idle(idle_s, setting.get("idle_by", "spin") == "sleep")

    def knee(self) -> int:
        """Launches that fit into the queue (256 where no launch ever blocked), found once."""
        return self._found_knee("kernel", 0)

    def knee_for(self, setting: Setting) -> int:
        """The same for launches like those of a setting: arguments fill the queue too, and every
        call of the driver has its own way into it (the runtime takes that of the plain call).
        """
        api = str(setting.get("api", "kernel"))
        api = "kernel" if api == "runtime" else api
        size = int(setting.get("argument_bytes", 0))
        return self.knee() if (api, size) == ("kernel", 0) else self._found_knee(api, size)

    def _found_knee(self, api: str, argument_bytes: int) -> int:
        key = api, argument_bytes
        if key not in self._knees:
            like: Setting = {"api": api, "argument_bytes": argument_bytes}
            self._knees[key] = self._largest_knee(like) or _KNEE_FALLBACK
        return self._knees[key]

    def _largest_knee(self, setting: Setting) -> int:
        largest = agreeing = 0
        for _ in range(_KNEE_TRIES):
            found = self.find_knee(setting) or 0
            if abs(found - largest) <= _KNEE_SPREAD * largest:
                agreeing += 1
            elif found > largest:
                agreeing = 1
            largest = max(largest, found)
            if agreeing == _KNEE_AGREEING:
                break
        return largest

    def find_knee(self, setting: Setting) -> int | None:
        """Launches that fit behind a kernel of 50 ms; None where 8,192 did."""
        found = self.extension.queue_knee(
            self.session_for(setting), self.spec(setting), _KNEE_CAP, _KNEE_SPIN_S
        )
        return None if found.launches is None else int(found.launches)

    def submit(self, setting: Setting, burst: int) -> float:
        """Host seconds of one burst of launches; with `threads`, the median over the threads."""
        session, spec = self.session_for(setting), self.spec(setting)
        if "threads" in setting:
            cores = core().host.allowed_cores()[: int(setting["threads"])]
            bursts = self.extension.submit_threads(session, spec, len(cores), burst, 1, cores)
            return float(np.median([samples[0] for samples in bursts.seconds]))
        return float(self.extension.submit(session, spec, burst, 1, self.idle(setting))[0])

    def launch_sync(self, setting: Setting, shots: int) -> list[float]:
        """One launch and one wait, each shot."""
        session = self.session_for(setting, str(setting["wait"]))
        return list(
            self.extension.launch_sync(session, self.spec(setting), shots, self.idle(setting))
        )

    def to_start(self, setting: Setting, shots: int) -> list[float]:
        """Launch call begins to the host sees the kernel's store; NaN for censored shots."""
        starts = self.extension.to_start(
            self.session_for(setting), self.spec(setting), shots, self.idle(setting)
        )
        pairs = zip(starts.seconds, starts.censored, strict=True)
        return [math.nan if censored else float(value) for value, censored in pairs]

    def round_trips(self, shots: int) -> list[float]:
        """In-kernel reads of a host word, cycles turned into seconds by the loop's two clocks."""
        trips = self.extension.round_trip(self.session(), shots)
        if not trips.total_ns:
            raise Skip("the device's nanosecond clock did not move during the reads")
        seconds_per_cycle = trips.total_ns * 1e-9 / trips.total_cycles
        return [float(value) * seconds_per_cycle for value in trips.cycles]

    def spin_spacing(self, spin_ns: int, kernels: int) -> float:
        """Seconds of `kernels` queued kernels that spin `spin_ns` each, from release to store."""
        session, cycles = self.session(), self._cycles(spin_ns)
        spacing = self.extension.spin_spacing(session, cycles, kernels, 1, HOLD_DEADLINE_S)
        return float(spacing[0])

    def _cycles(self, spin_ns: int) -> int:
        """SM clock cycles for a spin of `spin_ns`, by the device's highest clock.

        By a fixed rate, and not the clock of the moment: the same kernels must spin in every
        process. Where the clock is lower they spin longer, which changes nothing of what is
        between them.
        """
        if self._clock_khz is None:
            facts = self.extension.device_facts(self._ordinal, "")
            self._clock_khz = int(facts.attributes.get("clock_rate", 0)) or _NOMINAL_KHZ
        return spin_ns * self._clock_khz // 1_000_000

    @functools.cached_property
    def round_trip_s(self) -> float:
        """Median round trip, the measure of the way between device and host."""
        return float(np.median(self.round_trips(1000)))


@contextmanager
def translated() -> Iterator[None]:
    """The extension's exceptions as this package's: what the device cannot do is skipped."""
    cuda = core().cuda
    try:
        yield
    except cuda.CudaUnsupported as error:
        raise Skip(str(error)) from error
    except cuda.CudaTimeout as error:
        raise Hung(str(error)) from error


def row_measure(
    measure: Callable[[Setting, Plan], Outcome],
) -> Callable[[Setting, Plan], Outcome]:
    """`measure` with the extension's exceptions translated, and a verdict on failed clean-ups."""

    @functools.wraps(measure)
    def translating(setting: Setting, plan: Plan) -> Outcome:
        before = core().cuda.cleanup_errors().count
        with translated():
            outcome = measure(setting, plan)
        complaint = cleanup_complaint(before)
        if complaint is None:
            return outcome
        verdict = Verdict(code="clean_up_failed", sentence=complaint)
        return replace(outcome, verdicts=[*outcome.verdicts, verdict])

    return translating


def cleanup_complaint(before: int) -> str | None:
    """What went wrong in giving things back since there were `before` such errors, in a sentence.

    The extension's destructors cannot raise: what was measured stands, but something may be held.
    """
    errors = core().cuda.cleanup_errors()
    count = int(errors.count) - before
    if count == 0:
        return None
    more = f" (and {count - 1} more)" if count > 1 else ""
    return f"something could not be given back to the driver: {errors.last}{more}"
