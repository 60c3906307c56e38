"""What is stored: frozen records, raw samples first.

All times are seconds; a time's field name ends in ``_s``. What is not known is ``None``, what could
not run is a record with its reason. Statistics are not stored: `analysis.summary` derives them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Setting = dict[str, str | int | float]
FactValue = str | int | float | bool | None | list[float]

Status = Literal["ok", "skipped", "failed"]
Estimate = Literal["median", "slope", "intercept"]
# The fact that says what the worker did while it was handed a task: it was busy or, in results of
# before schema 8, polling the queue.
WORKER, BUSY, POLLING = "worker", "busy", "polling"
StopReason = Literal[
    "interval", "noise_stable", "max_samples", "timeout", "fixed_count", "interrupted"
]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all stored records: immutable, and strict about unknown fields when read.

    `frozen` and `kw_only` are repeated in every record: `kw_only` is not inherited, and type
    checkers want to see both.
    """


class Plan(Record, frozen=True, kw_only=True):
    """When sampling starts to count and when it ends: minimum first, timeout last.

    `half_width` is relative to the median (0.01 = 1 %), `min_time_s` and `timeout_s` bound one
    measurement's wall time, `patience_s` is how long a measurement whose noise no longer changes
    may go on in the hope of reaching `half_width`.
    """

    min_samples: int = 100
    min_time_s: float = 0.5
    timeout_s: float = 15.0
    patience_s: float = 1.5
    half_width: float = 0.01
    confidence: float = 0.95
    max_samples: int = 20_000
    warmup_time_s: float = 0.05
    quick: bool = False


# Some 60 rows of a GPU are measured in 15 s, also where a few of them are noisy to the end.
QUICK_PLAN = Plan(
    min_samples=30,
    min_time_s=0.1,
    timeout_s=0.5,
    patience_s=0.2,
    half_width=0.03,
    max_samples=5_000,
    warmup_time_s=0.01,
    quick=True,
)


class ClockFacts(Record, frozen=True, kw_only=True):
    """The measuring clock, measured: smallest step and the cost of one read (seconds)."""

    name: str
    tick_s: float
    read_cost_s: float


class Level(Record, frozen=True, kw_only=True):
    """One rung of a slope: bursts of `count` operations, `samples_s` seconds per whole burst."""

    count: int
    samples_s: list[float]


class CoreSpeeds(Record, frozen=True, kw_only=True):
    """How fast the cores that a row uses were, from one end of its sampling to the other.

    `work_s` has for each core seconds per round of the fixed work (`DeviceState.fixed_work_s`), one
    value per glance; `samples` says how many samples (bursts of each level) were taken between a
    glance and the next, so that it has one value less. What an interruption left behind the last
    glance is in none. `hop_s` has for a row of two cores, also per glance, seconds for a cache line
    from one to the other and back; it is empty for others.
    """

    work_s: dict[str, list[float]]
    samples: list[int]
    hop_s: list[float] = []


class Data(Record, frozen=True, kw_only=True):
    """All values of one probe and why sampling stopped.

    `estimate` says what the headline is: the median of `samples` (seconds per operation, or a plain
    count where `unit` is ``"count"``), or the slope or intercept of `levels` (seconds per
    operation, seconds). `warmup` holds the values taken first and kept apart. `loops` is the number
    of operations inside one sample. `censored` counts shots whose value could not be observed.
    `core_speeds` is None where nobody looked at the cores in between.
    """

    estimate: Estimate
    stop_reason: StopReason
    unit: Literal["s", "count"] = "s"
    loops: int = 1
    samples: list[float] = []
    levels: list[Level] = []
    warmup: list[float] = []
    censored: int = 0
    elapsed_s: float = 0.0
    core_speeds: CoreSpeeds | None = None


class Correction(Record, frozen=True, kw_only=True):
    """A known part of every raw value that is not the thing measured.

    The headline is the raw estimate less `value_s`; the truth of the correction lies between
    `low_s` and `high_s`, a systematic uncertainty that no number of samples reduces.
    """

    name: str
    value_s: float
    low_s: float
    high_s: float
    source: str


class Verdict(Record, frozen=True, kw_only=True):
    """Something a reader of this row has to know, in a code and a sentence."""

    code: str
    sentence: str


class DeviceState(Record, frozen=True, kw_only=True):
    """A device's state at one moment; None where it could not be read.

    Of a GPU its clock, of the host `fixed_work_s`: seconds per round of the same piece of work on
    each core that is measured on, by core (``-1`` where threads cannot be pinned); a core that is
    shared takes longer.
    """

    sm_clock_hz: float | None = None
    throttle_reasons: list[str] | None = None
    temperature_c: float | None = None
    fixed_work_s: dict[str, float] | None = None


class Measurement(Record, frozen=True, kw_only=True):
    """One row of the result: a probe at one setting on one device in one process."""

    device: str
    name: str
    status: Status
    setting: Setting = {}
    process: int = 0
    reason: str | None = None
    data: Data | None = None
    corrections: list[Correction] = []
    verdicts: list[Verdict] = []
    facts: dict[str, FactValue] = {}
    state_before: DeviceState | None = None
    state_after: DeviceState | None = None


class DeviceFacts(Record, frozen=True, kw_only=True):
    """A device as it was measured: its name here, what it is, and what it could not say."""

    name: str
    kind: Literal["cpu", "cuda"]
    model: str | None
    facts: dict[str, FactValue] = {}


class KernelShape(Record, frozen=True, kw_only=True):
    """What a kernel asks for: its sizes, a thread's registers, a block's shared memory."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    shared_bytes: int


class HostCall(Record, frozen=True, kw_only=True):
    """One call that caused operations of the device, at the same place of every forward.

    `begin_s` (after the forward's begin) and `duration_s` have one value per forward.
    """

    name: str
    begin_s: list[float]
    duration_s: list[float]


class DeviceOperation(Record, frozen=True, kw_only=True):
    """One kernel, copy or set, at the same place of every forward.

    `call` is the index of the host call it came from, None where the trace has none; one call of a
    graph launch has many. `start_s` (after the forward's begin) and `duration_s` have one value per
    forward. `stream` is the tracer's number of its stream, in the first forward; None where it does
    not say.
    """

    kind: Literal["kernel", "copy", "set"]
    name: str
    call: int | None
    start_s: list[float]
    duration_s: list[float]
    shape: KernelShape | None = None
    stream: int | None = None


class DevicePass(Record, frozen=True, kw_only=True):
    """What the device did in each of some steady forwards, from a tracer's records.

    `busy_s` (the time covered by at least one operation), `latency_s` and `host_s` have one value
    per forward, all of them under the tracer. `other_calls` counts, by name, the calls of the first
    forward that caused no operation.
    """

    operations: list[DeviceOperation]
    calls: list[HostCall]
    busy_s: list[float]
    latency_s: list[float]
    host_s: list[float]
    other_calls: dict[str, int] = {}
    facts: dict[str, FactValue] = {}


class GpuLoad(Record, frozen=True, kw_only=True):
    """What a GPU said of itself while forwards followed each other without a wait.

    `forwards` of them took `seconds` and `energy_j` joules; `idle_power_w` is its power just
    before, at rest with its context open. `sm_activity` is the share of time that SMs had a warp,
    `sm_occupancy` the share of their warp slots in use, both from 0 to 1, over all SMs and the
    whole time (NVML's GPM). `reasons` says why a field is None, by its name.
    """

    forwards: int
    seconds: float
    energy_j: float | None = None
    idle_power_w: float | None = None
    sm_activity: float | None = None
    sm_occupancy: float | None = None
    reasons: dict[str, str] = {}


class Roofline(Record, frozen=True, kw_only=True):
    """One measured peak of a device: a large matrix product or a large copy, over and over.

    `work` is what one operation does, in FLOPs (``matmul``) or bytes moved (``copy``: read and
    written); `data` has seconds per operation: the peak is `work` over its median.
    """

    device: str
    operation: Literal["matmul", "copy"]
    dtype: str
    work: float
    status: Status
    reason: str | None = None
    data: Data | None = None
    facts: dict[str, FactValue] = {}


class Case(Record, frozen=True, kw_only=True):
    """A workload in one mode on one device: its times, or why it has none.

    A workload is `model` (as asked for, with its settings) at `batch` and the sizes its input has
    (`sequence` tokens, `image` pixels a side, `audio` values), in `dtype`; with `lengths`, the
    sequences are padded from lengths so distributed; with `twin`, it is the model's zero-work twin;
    with `steps` above 1, a forward is so many steps, each on the outputs of the one before.

    `latency`, `host` and `pipelined` are seconds per forward (`interleaving`); `blocks` says how
    many samples of `latency` each block has, `states` what device and host were like just before
    and after each, where read; `solo` is the latency in a process without other modes,
    `device_pass` what the device did in a traced one, `gpu_load` what the GPU says of itself.
    `costs_s` is what making it ready took, step by step. `relative_norm` and `largest_difference`
    say how far its outputs are from eager's.

    `macs` are multiply-accumulates of one forward, `activation_bytes` what its operations write,
    `executed` the operations of one forward by name, `peak_memory_bytes` the most that the mode
    needed beyond what the process had before the model was built. `reasons` says why a field has no
    value, by its name. `tool_version` and `measured_at` (UTC): a resumed result is of several runs.
    """

    model: str
    mode: str
    device: str
    dtype: str
    status: Status
    reason: str | None = None
    batch: int = 1
    sequence: int | None = None
    image: int | None = None
    audio: int | None = None
    lengths: str | None = None
    twin: bool = False
    steps: int = 1
    parameters: int | None = None
    weight_bytes: int | None = None
    macs: int | None = None
    activation_bytes: int | None = None
    peak_memory_bytes: int | None = None
    executed: dict[str, int] = {}
    latency: Data | None = None
    host: Data | None = None
    pipelined: Data | None = None
    blocks: list[int] = []
    states: list[tuple[DeviceState, DeviceState]] = []
    solo: Data | None = None
    device_pass: DevicePass | None = None
    gpu_load: GpuLoad | None = None
    costs_s: dict[str, float] = {}
    relative_norm: float | None = None
    largest_difference: float | None = None
    verdicts: list[Verdict] = []
    facts: dict[str, FactValue] = {}
    reasons: dict[str, str] = {}
    tool_version: str | None = None
    measured_at: str | None = None
