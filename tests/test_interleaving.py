"""Blocks that take turns, against a clock that only moves when the work says so."""

from __future__ import annotations

import gc
import itertools
import random
import time
from collections.abc import Callable

import pytest

from ftax_micro.errors import Interrupted
from ftax_micro.interleaving import Block, ForwardProbe, Watch, measure_interleaved, times_of
from ftax_micro.records import Plan

PLAN = Plan(min_samples=20, min_time_s=0.0, timeout_s=100.0, half_width=0.01, patience_s=0.0)
QUICK = Plan(min_samples=4, min_time_s=0.0, timeout_s=100.0, half_width=0.01, quick=True)


class Clock:
    """Time as the tests want it, in nanoseconds."""

    def __init__(self) -> None:
        self.ns = 0

    def spend(self, milliseconds: float) -> None:
        self.ns += round(milliseconds * 1e6)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "perf_counter_ns", lambda: made.ns)
    monkeypatch.setattr(time, "perf_counter", lambda: made.ns * 1e-9)
    return made


def device_probe(
    clock: Clock, host_ms: float, device_ms: float, host: bool = True, pipelined: bool = True
) -> ForwardProbe:
    """A forward whose host part returns before its device part is done."""
    due = [0]

    def forward() -> None:
        clock.spend(host_ms)
        due[0] = max(clock.ns, due[0]) + round(device_ms * 1e6)

    def synchronise() -> None:
        clock.ns = max(clock.ns, due[0])

    return ForwardProbe(forward, synchronise, host, pipelined)


def test_host_time_latency_and_pipelined_interval_are_told_apart(clock: Clock) -> None:
    times = measure_interleaved({"one": device_probe(clock, 2.0, 3.0)}, PLAN)["one"]
    assert times.host is not None
    assert times.pipelined is not None
    assert times.host.samples == pytest.approx([0.002] * len(times.host.samples))
    assert times.latency.samples == pytest.approx([0.005] * len(times.latency.samples))
    # The device is always busy but for the first forward's host part.
    per_block = times.blocks[0]
    assert times.pipelined.samples[0] == pytest.approx((0.002 + 0.003 * per_block) / per_block)
    assert times.latency.stop_reason == "interval"
    assert sum(times.blocks) == len(times.latency.samples) >= 20


def test_without_a_device_host_time_is_the_latency(clock: Clock) -> None:
    times = measure_interleaved({"one": ForwardProbe(lambda: clock.spend(4.0))}, PLAN)["one"]
    assert times.host is not None
    assert times.host.samples == times.latency.samples
    assert times.latency.samples == pytest.approx([0.004] * len(times.latency.samples))


def test_what_a_mode_cannot_tell_is_none(clock: Clock) -> None:
    probe = device_probe(clock, 1.0, 1.0, host=False, pipelined=False)
    times = measure_interleaved({"one": probe}, PLAN)["one"]
    assert (times.host, times.pipelined) == (None, None)


def test_blocks_take_turns_and_turn_round(clock: Clock) -> None:
    turns: list[str] = []

    def probe(name: str, noise: list[float]) -> ForwardProbe:
        costs = itertools.cycle(noise)

        def forward() -> None:
            turns.append(name)
            clock.spend(next(costs))

        return ForwardProbe(forward, pipelined=False)

    noisy = {"a": probe("a", [40.0, 80.0]), "b": probe("b", [50.0, 90.0])}
    measure_interleaved(noisy, Plan(min_samples=12, min_time_s=0.0, patience_s=0.0, timeout_s=9.0))
    assert "".join(turns).startswith("a" * 10 + "b" * 10)  # warm-up
    blocks = [name for name, _ in itertools.groupby(turns[20:])]
    assert blocks[:2] in (["a", "b"], ["b"])  # warm-up's last block may join the first
    assert blocks.count("a") > 1
    joined = "".join(turns[20:])
    assert "bb" in joined.replace("a", "")
    assert "aba" not in joined  # never forward by forward


def test_a_probe_that_is_done_takes_no_further_turn(clock: Clock) -> None:
    calls = {"steady": 0, "wild": 0}
    draw = random.Random(0)

    def steady() -> None:
        calls["steady"] += 1
        clock.spend(10.0)

    def varied() -> None:
        calls["wild"] += 1
        clock.spend(10.0 * draw.lognormvariate(0, 1))

    probes = {"steady": ForwardProbe(steady), "wild": ForwardProbe(varied)}
    plan = Plan(min_samples=20, min_time_s=0.0, timeout_s=20.0, patience_s=100.0)
    times = measure_interleaved(probes, plan)
    assert times["steady"].latency.stop_reason == "interval"
    assert times["wild"].latency.stop_reason == "timeout"
    assert calls["steady"] < calls["wild"]
    # The timeout counts a probe's own blocks, not those of the others.
    assert times["wild"].latency.elapsed_s >= 20.0


@pytest.mark.parametrize(("plan", "warmups"), [(PLAN, 10), (QUICK, 3)])
def test_the_paper_s_warm_ups_and_each_block_s_first_are_kept_apart(
    clock: Clock, plan: Plan, warmups: int
) -> None:
    counter = itertools.count()
    probe = ForwardProbe(lambda: clock.spend(100.0 if next(counter) < warmups else 10.0))
    times = measure_interleaved({"one": probe}, plan)["one"]
    assert len(times.latency.warmup) == warmups + len(times.blocks)
    assert times.latency.samples == pytest.approx([0.010] * len(times.latency.samples))


def test_what_a_forward_returns_is_released_after_its_last_stamp(clock: Clock) -> None:
    class Output:
        def __del__(self) -> None:
            clock.spend(1000.0)

    def forward() -> Output:
        clock.spend(5.0)
        return Output()

    times = measure_interleaved({"one": ForwardProbe(forward, pipelined=False)}, QUICK)["one"]
    assert times.latency.samples == pytest.approx([0.005] * len(times.latency.samples))


def test_the_garbage_collector_rests_inside_blocks_only(clock: Clock) -> None:
    seen: list[bool] = []

    def forward() -> None:
        seen.append(gc.isenabled())
        clock.spend(10.0)

    assert gc.isenabled()
    measure_interleaved({"one": ForwardProbe(forward)}, QUICK)
    assert not any(seen)
    assert gc.isenabled()


@pytest.mark.usefixtures("nothing_set_aside")
def test_the_collector_leaves_old_objects_alone_meanwhile_and_only_then(clock: Clock) -> None:
    seen: list[int] = []

    def forward() -> None:
        seen.append(gc.get_freeze_count())
        clock.spend(10.0)

    measure_interleaved({"one": ForwardProbe(forward)}, QUICK)
    assert min(seen) > 0
    assert gc.get_freeze_count() == 0
    gc.freeze()
    try:
        measure_interleaved({"one": ForwardProbe(forward)}, QUICK)
        assert gc.get_freeze_count() > 0  # it was so before
    finally:
        gc.unfreeze()


def raising(clock: Clock, error: Exception, calls: int) -> Callable[[], None]:
    """A forward that raises `error` after so many calls."""
    counter = itertools.count(1)

    def forward() -> None:
        if next(counter) > calls:
            raise error
        clock.spend(10.0)

    return forward


def stopping_after(clock: Clock, calls: int) -> Callable[[], None]:
    return raising(clock, Interrupted("SIGINT", 130), calls)


def test_an_interruption_keeps_what_was_taken(clock: Clock) -> None:
    forward = stopping_after(clock, 80)
    plan = Plan(min_samples=10_000, min_time_s=0.0, timeout_s=1e6)
    times = measure_interleaved({"one": ForwardProbe(forward)}, plan)["one"]
    assert times.latency.stop_reason == "interrupted"
    assert times.latency.samples


def test_an_interruption_before_every_probe_has_a_block_propagates(clock: Clock) -> None:
    with pytest.raises(Interrupted):
        measure_interleaved({"one": ForwardProbe(stopping_after(clock, 5))}, PLAN)
    assert gc.isenabled()


class Notes(Watch):
    """Notes what it is told; takes errors."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.blocks: dict[str, list[Block]] = {}
        self.reasons: dict[str, str] = {}
        self.errors: dict[str, Exception] = {}

    def turn_begins(self, name: str) -> None:
        self.told.append(("begins", name))

    def turn_ends(self, name: str, block: Block) -> None:
        self.told.append(("ends", name))
        self.blocks.setdefault(name, []).append(block)

    def probe_ends(self, name: str, reason: str) -> None:
        self.reasons[name] = reason

    def probe_fails(self, name: str, error: Exception) -> None:
        self.errors[name] = error


def test_whoever_watches_hears_of_each_turn_before_and_after(clock: Clock) -> None:
    notes = Notes()
    probe = ForwardProbe(lambda: clock.spend(10.0))
    times = measure_interleaved({"one": probe}, QUICK, notes)["one"]
    # Warm-up is a turn without a block.
    assert notes.told == [("begins", "one"), ("begins", "one"), ("ends", "one")]
    assert notes.reasons == {"one": "interval"}
    assert times_of(notes.blocks["one"], "interval") == times


def test_a_probe_that_raises_costs_the_others_nothing(clock: Clock) -> None:
    notes = Notes()
    probes = {
        "bad": ForwardProbe(raising(clock, ValueError("no luck"), 15)),
        "good": ForwardProbe(lambda: clock.spend(10.0)),
    }
    times = measure_interleaved(probes, PLAN, notes)
    assert list(times) == ["good"]
    assert times["good"].latency.stop_reason == "interval"
    assert str(notes.errors["bad"]) == "no luck"


def test_nobody_watching_an_error_ends_all(clock: Clock) -> None:
    with pytest.raises(ValueError, match="no luck"):
        measure_interleaved({"bad": ForwardProbe(raising(clock, ValueError("no luck"), 0))}, PLAN)


def test_a_probe_that_compiles_while_it_is_timed_fails(clock: Clock) -> None:
    """Its neighbour, which compiled nothing in its own turns, does not."""
    forwards = itertools.count()
    compiled = [0]

    def forward() -> None:
        clock.spend(10.0)
        compiled[0] += next(forwards) == 15

    notes = Notes()
    probes = {
        "again": ForwardProbe(forward, compilations=lambda: compiled[0]),
        "once": ForwardProbe(lambda: clock.spend(10.0), compilations=lambda: compiled[0]),
    }
    assert list(measure_interleaved(probes, PLAN, notes)) == ["once"]
    assert str(notes.errors["again"]) == "compiled again while it was timed"
    assert "again" not in notes.blocks


def test_known_blocks_are_gone_on_from(clock: Clock) -> None:
    plan = Plan(min_samples=60, min_time_s=0.0, timeout_s=100.0, patience_s=0.0)
    whole = Notes()
    measure_interleaved({"one": ForwardProbe(lambda: clock.spend(10.0))}, plan, whole)
    assert len(whole.blocks["one"]) == 3
    rest = Notes()
    known = {"one": whole.blocks["one"][:2]}
    probe = ForwardProbe(lambda: clock.spend(10.0))
    times = measure_interleaved({"one": probe}, plan, rest, known)["one"]
    assert len(rest.blocks["one"]) == 1
    assert times.blocks == [20, 20, 20]
    assert times.latency.elapsed_s == pytest.approx(3 * 0.41)
    # A fresh process warms up again, and says so.
    assert len(times.latency.warmup) == 2 * 10 + 3


def test_a_probe_that_had_enough_before_is_not_run_again(clock: Clock) -> None:
    first = Notes()
    measure_interleaved({"one": ForwardProbe(lambda: clock.spend(10.0))}, QUICK, first)
    again = Notes()
    never = ForwardProbe(raising(clock, ValueError("was run"), 0))
    times = measure_interleaved({"one": never}, QUICK, again, first.blocks)["one"]
    assert again.told == []
    assert again.reasons == {"one": "interval"}
    assert times.latency.samples == first.blocks["one"][0].latency


def test_warm_up_ends_with_the_time_that_is_there(clock: Clock) -> None:
    plan = Plan(min_samples=4, min_time_s=0.0, timeout_s=25.0)
    probe = ForwardProbe(lambda: clock.spend(10_000.0), pipelined=False)
    times = measure_interleaved({"one": probe}, plan)["one"]
    assert len(times.latency.warmup) == 3 + 1
    assert times.latency.stop_reason == "timeout"
