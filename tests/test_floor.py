"""Measuring the launch floor as a library call: what is selected, what fails, what is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from stand_in import StandIn, outcome, row

import ftax_micro
from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.errors import (
    BusyError,
    DeviceUnavailableError,
    FtaxError,
    Interrupted,
    OutputError,
    Skip,
    UnknownNameError,
    UsageError,
)
from ftax_micro.orchestration import floor
from ftax_micro.orchestration.exclusive import exclusive
from ftax_micro.orchestration.floor import FloorRun, measure_launch_floor
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.plans import check_plan
from ftax_micro.orchestration.point.measure import measure_point
from ftax_micro.orchestration.point.selection import Selection, select_points
from ftax_micro.records import (
    QUICK_PLAN,
    Correction,
    Data,
    DeviceState,
    Measurement,
    Plan,
    Setting,
)
from ftax_micro.results import Result, decode_result, encode_result

TINY = Plan(min_samples=5, max_samples=5, min_time_s=0, timeout_s=0.2, warmup_time_s=0)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[StandIn], StandIn]:
    """Puts a stand-in in the place of the cpu."""

    def use(device: StandIn) -> StandIn:
        monkeypatch.setattr(floor, "open_device", device.open)
        return device

    return use


def raises(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def statuses(result: Result) -> list[tuple[str, str, str | None]]:
    return [(m.name, m.status, m.reason) for m in result.measurements]


def test_the_cpu_is_measured() -> None:
    result = measure_launch_floor("cpu", probes=["call_direct", "call_python"], plan=TINY)
    assert statuses(result) == [("call_direct", "ok", None), *[("call_python", "ok", None)] * 5]
    assert result.complete
    assert result.plan == TINY
    assert [device.name for device in result.devices] == ["cpu"]
    assert result.tool_version == ftax_micro.__version__
    assert decode_result(encode_result(result)) == result
    direct, python, *_ = (m.data for m in result.measurements)
    assert direct is not None
    assert python is not None
    assert len(direct.samples) == 5
    assert all(0 < sample_s < 1e-3 for sample_s in direct.samples)
    assert len(python.levels) > 1


def test_it_is_the_public_name() -> None:
    assert ftax_micro.measure_launch_floor is measure_launch_floor


def test_the_plan_is_the_full_one_the_quick_one_or_the_caller_s(
    use: Callable[[StandIn], StandIn],
) -> None:
    use(StandIn(row("submit")))
    assert measure_launch_floor("cpu").plan == Plan()
    assert measure_launch_floor("cpu", quick=True).plan == QUICK_PLAN
    assert measure_launch_floor("cpu", quick=True, plan=TINY).plan == TINY


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"min_samples": 0}, "min_samples"),
        ({"min_samples": -1}, "min_samples"),
        ({"max_samples": 10**9}, "max_samples"),
        ({"min_samples": "5"}, r"Expected `int`, got `str` - at `\$\.min_samples`"),
        ({"timeout_s": -1.0}, "timeout_s"),
        ({"timeout_s": 0.4}, r"timeout_s \(0.4\) is below min_time_s \(0.5\)"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"timeout_s": float("inf")}, "timeout_s"),
        ({"min_time_s": float("nan")}, "min_time_s"),
        ({"warmup_time_s": 1e9}, "warmup_time_s"),
        ({"patience_s": -0.1}, "patience_s"),
        ({"half_width": 0.0}, "half_width"),
        ({"half_width": float("nan")}, "half_width"),
        ({"half_width": float("inf")}, "half_width"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 95.0}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
    ],
)
def test_absurd_plans_are_refused_before_a_device_is_opened(
    use: Callable[[StandIn], StandIn], change: dict[str, Any], words: str
) -> None:
    device = use(StandIn(row("submit")))
    with pytest.raises(UsageError, match=words):
        measure_launch_floor("cpu", plan=msgspec.structs.replace(Plan(), **change))
    assert device.opened == 0


@pytest.mark.parametrize("plan", [Plan(), QUICK_PLAN, TINY])
def test_sensible_plans_are_not(plan: Plan) -> None:
    assert check_plan(plan) is plan


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"device": "gpu"}, "unknown device 'gpu'; did you mean cpu"),
        ({"device": "cuda:-1"}, "unknown device 'cuda:-1'; did you mean cuda"),
        ({"probes": ["submitt"]}, "unknown probe 'submitt'; did you mean submit"),
        ({"axes": ["placment"]}, "unknown axis 'placment'; did you mean placement"),
    ],
)
def test_unknown_names_suggest_the_nearest(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UnknownNameError, match=words) as caught:
        measure_launch_floor(**{"device": "cpu", **arguments})
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"probes": []}, "no row chosen"),
        ({"probes": ["call_direct"], "axes": ["idle"]}, "none of these rows varies by idle"),
    ],
)
def test_measuring_nothing_is_a_mistake(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        measure_launch_floor("cpu", **arguments)


def varied(name: str, **axes: list[Setting]) -> FloorRow:
    return FloorRow(name, name, lambda _, __: outcome(1e-6), ({"wait": "spin"},), axes)


def test_axes_are_varied_one_at_a_time_and_once() -> None:
    idle: list[Setting] = [{"idle_ns": 0}, {"idle_ns": 10}]
    block: list[Setting] = [{"block": 1}]
    device = StandIn(varied("submit", idle=idle), varied("sync", idle=idle, block=block))

    def points(*axes: str, probes: list[str] | None = None) -> list[tuple[str, Setting]]:
        chosen = select_points([device], Selection(["cpu"], probes, axes))
        return [(each.name, setting) for _, each, setting in chosen]

    spin: Setting = {"wait": "spin"}
    assert points() == [("submit", spin), ("sync", spin)]
    assert points(probes=["sync"]) == [("sync", spin)]
    assert points("block") == [("sync", {"block": 1})]
    all_idle = [("submit", each) for each in idle] + [("sync", each) for each in idle]
    assert points("idle") == points("idle", "idle") == all_idle
    both = [("sync", {"block": 1}), ("sync", {"idle_ns": 0}), ("sync", {"idle_ns": 10})]
    assert points("block", "idle", probes=["sync"]) == both


def test_a_row_that_cannot_run_is_skipped_and_one_that_goes_wrong_has_failed(
    use: Callable[[StandIn], StandIn],
) -> None:
    device = use(
        StandIn(
            row("first"),
            row("second", raises(Skip("one core only"))),
            row("third", raises(RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS:\n  in sync"))),
            row("fourth", raises(FtaxError("no number of loops is measurable"))),
            row("fifth", raises(MemoryError())),
            row("last"),
        )
    )
    result = measure_launch_floor("cpu", plan=TINY)
    assert statuses(result) == [
        ("first", "ok", None),
        ("second", "skipped", "one core only"),
        ("third", "failed", "RuntimeError: CUDA_ERROR_ILLEGAL_ADDRESS: in sync"),
        ("fourth", "failed", "no number of loops is measurable"),
        ("fifth", "failed", "MemoryError: no message"),
        ("last", "ok", None),
    ]
    assert result.complete
    assert device.opened == device.closed == 1


@pytest.mark.parametrize(
    "nonsense",
    [
        outcome(1e-6, float("nan")),
        outcome(float("inf")),
        outcome(),
        Outcome(
            Data(estimate="median", stop_reason="interval", samples=[1e-6]),
            [Correction(name="leg", value_s=float("nan"), low_s=0, high_s=1e-6, source="x")],
        ),
    ],
)
def test_a_row_of_nonsense_has_failed_and_the_result_stays_readable(
    use: Callable[[StandIn], StandIn], nonsense: Outcome
) -> None:
    use(StandIn(row("good"), FloorRow("bad", "", lambda _, __: nonsense)))
    result = measure_launch_floor("cpu", plan=TINY)
    assert [(m.name, m.status) for m in result.measurements] == [("good", "ok"), ("bad", "failed")]
    assert str(result.measurements[1].reason).startswith("measured nonsense: ")
    assert decode_result(encode_result(result)) == result


def test_a_device_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> StandIn:
        raise RuntimeError("exclusive mode")

    monkeypatch.setattr(floor, "open_device", broken)
    with pytest.raises(DeviceUnavailableError, match="cpu is not available: RuntimeError: exclus"):
        measure_launch_floor("cpu")


def test_a_device_that_cannot_be_closed_costs_nothing(use: Callable[[StandIn], StandIn]) -> None:
    use(StandIn(row("submit"), close=raises(RuntimeError("sticky"))))
    result = measure_launch_floor("cpu", plan=TINY)
    assert statuses(result) == [("submit", "ok", None)]
    assert not result.complete
    assert result.incomplete_reason == "cpu could not be closed: RuntimeError: sticky"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_the_caller_s_own_interruption_is_the_caller_s(
    use: Callable[[StandIn], StandIn], error: BaseException
) -> None:
    device = use(StandIn(row("submit", raises(error))))
    with pytest.raises(type(error)):
        measure_launch_floor("cpu", plan=TINY)
    assert device.closed == 1
    use(StandIn(row("submit")))
    assert measure_launch_floor("cpu", plan=TINY).complete


def test_an_interruption_ends_the_run_and_keeps_the_rows(
    use: Callable[[StandIn], StandIn],
) -> None:
    device = use(
        StandIn(row("first"), row("second", raises(Interrupted("SIGINT", 130))), row("third"))
    )
    result = measure_launch_floor("cpu", plan=TINY)
    assert statuses(result) == [("first", "ok", None)]
    assert result.incomplete_reason == "stopped by SIGINT"
    assert device.closed == 1


def test_an_interruption_of_a_row_that_is_just_done_keeps_it() -> None:
    class Late(Interrupts):
        """The signal comes between the row's last step and the end of `raised`."""

        def __init__(self) -> None:
            super().__init__()
            self.error = Interrupted("SIGINT", 130)

        def raised(self) -> Any:
            return self

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            raise self.error

    measurement = measure_point((StandIn(), row("submit"), {}), TINY, interrupts=Late())
    assert measurement.status == "ok"


def test_progress_is_told_of_each_row(use: Callable[[StandIn], StandIn]) -> None:
    told: list[object] = []

    class Listener:
        def row_begins(
            self, index: int, total: int, device: str, name: str, setting: Setting
        ) -> None:
            told.append((index, total, device, name))

        def row_ends(self, measurement: Measurement) -> None:
            told.append(measurement.status)

    use(StandIn(row("submit"), row("sync", raises(Skip("no")))))
    measure_launch_floor("cpu", plan=TINY, progress=Listener())
    assert told == [(0, 2, "cpu", "submit"), "ok", (1, 2, "cpu", "sync"), "skipped"]


def test_a_fall_of_the_clock_is_a_verdict(use: Callable[[StandIn], StandIn]) -> None:
    class Slowing(StandIn):
        clocks = (2.0e9, 1.8e9, 1.8e9, 1.75e9, 1.8e9, None)

        def __init__(self, *rows: FloorRow) -> None:
            super().__init__(*rows)
            self._next = iter(self.clocks)

        def state(self) -> DeviceState:
            return DeviceState(sm_clock_hz=next(self._next))

    use(Slowing(row("falls"), row("holds"), row("unread")))
    result = measure_launch_floor("cpu", plan=TINY)
    falls, holds, unread = result.measurements
    assert [(v.code, v.sentence) for v in falls.verdicts] == [
        ("clock_fell", "the SM clock fell by 10% during this row")
    ]
    assert holds.verdicts == unread.verdicts == []
    assert falls.state_after == DeviceState(sm_clock_hz=1.8e9)


def test_a_state_that_cannot_be_read_costs_no_row(use: Callable[[StandIn], StandIn]) -> None:
    class Silent(StandIn):
        def state(self) -> DeviceState:
            raise RuntimeError("NVML: GPU is lost")

    use(Silent(row("submit"), row("sync", raises(Skip("no")))))
    result = measure_launch_floor("cpu", plan=TINY)
    assert statuses(result) == [("submit", "ok", None), ("sync", "skipped", "no")]
    assert result.measurements[0].state_before == DeviceState()


def test_two_threads_do_not_measure_at_once(use: Callable[[StandIn], StandIn]) -> None:
    measuring, enough = threading.Event(), threading.Event()

    def body() -> None:
        measuring.set()
        assert enough.wait(60)

    use(StandIn(row("submit", body)))
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(measure_launch_floor("cpu", plan=TINY)))
    thread.start()
    try:
        assert measuring.wait(60)
        with pytest.raises(BusyError, match="is measuring"):
            measure_launch_floor("cpu", plan=TINY)
    finally:
        enough.set()
        thread.join(60)
    assert [statuses(result) for result in results] == [[("submit", "ok", None)]]
    assert measure_launch_floor("cpu", plan=TINY).complete


def test_a_failed_run_lets_the_next_one_measure() -> None:
    with pytest.raises(OutputError), exclusive():
        raise OutputError("x")
    with exclusive(), pytest.raises(BusyError), exclusive():
        pass
    with exclusive():
        pass


def test_a_run_that_is_not_over_is_not_complete() -> None:
    environment = measure_launch_floor("cpu", probes=["call_direct"], plan=TINY).environment
    run = FloorRun(Selection(["cpu"]), TINY, environment)
    assert run.result().incomplete_reason == "the run has not finished"
    run.abandon("cpu submit did not end")
    assert run.result().incomplete_reason == "cpu submit did not end"
    assert run.result().measurements == []
