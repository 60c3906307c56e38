"""Chains of launches that come again, and what the pipeline model saves by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from synthetic_pipelines import FLOOR, US, calls, launches, operations, work_of

from ftax_micro.analysis.bounding.chains import (
    Chain,
    Launched,
    by_stream,
    find_chains,
    launched_alone,
)
from ftax_micro.analysis.bounding.pipeline import CallKind
from ftax_micro.analysis.bounding.what_if import saved_by_fusion


def launched(
    names: str,
    durations_us: list[float] | float = 1.0,
    host_us: float = 10.0,
    stream: list[int] | None = None,
    returned_us: float = 0.0,
    breaks: tuple[int, ...] = (),
) -> Launched:
    """A launch every `host_us` of each kernel of `names`, one character each."""
    number = len(names)
    took = [durations_us] * number if isinstance(durations_us, float) else durations_us
    work = work_of(
        operations(took, stream=stream), launches(number), np.arange(number) * host_us * US
    )
    joins = np.array([place not in breaks for place in range(number)])
    return Launched(work, np.array([ord(each) for each in names]), joins, returned_us * US)


def found(*forwards: Launched, **settings: Any) -> list[Chain]:
    return list(find_chains(forwards, [FLOOR] * len(forwards), **settings).chains)


def saved_us(forward: Launched, chain: Chain, number: int = 0) -> float:
    runs = chain.runs(number)
    return saved_by_fusion(forward.work, FLOOR, runs, forward.returned_s) / US


def test_where_the_device_waits_each_launch_saves_the_hosts_time() -> None:
    forward = launched("xabcyabczabcw")
    (chain,) = found(forward)
    assert chain.length == 3
    assert chain.runs(0) == ((1, 3), (5, 7), (9, 11))
    assert saved_us(forward, chain) == pytest.approx(6 * 10)


def test_where_launches_hide_behind_the_device_gaps_are_saved() -> None:
    forward = launched("xabcyabczabcw", durations_us=50.0)
    (chain,) = found(forward)
    # Six gaps of 1 µs, not six launches.
    assert saved_us(forward, chain) == pytest.approx(6)


def test_what_the_device_waits_for_goes_before_what_comes_more_often() -> None:
    forward = launched("abXabYabZcdUcdVcdWcdQcd", durations_us=[1.0] * 9 + [100.0] * 14)
    waited, hidden = found(forward)
    assert waited.runs(0) == ((0, 1), (3, 4), (6, 7))
    assert len(hidden.runs(0)) == 5
    assert saved_us(forward, waited) == pytest.approx(30)
    assert saved_us(forward, hidden) == pytest.approx(5)


def test_the_forward_returns_when_the_host_is_done() -> None:
    forward = launched("abXabYabZ", durations_us=0.1, returned_us=500.0)
    (chain,) = found(forward)
    assert saved_us(forward, chain) == pytest.approx(30)


def test_chains_end_where_they_must() -> None:
    assert found(launched("abXabYabZ", breaks=(1, 4, 7))) == []
    # Two streams, whose operations the device runs in turns.
    forward = launched("axbxaxbxaxbx", stream=[0, 1] * 6)
    work, order = by_stream(forward.work)
    arranged = Launched(work, forward.symbol[order], forward.joins)
    assert list(order) == [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]
    chains = found(arranged)
    assert all(last < 6 or first >= 6 for chain in chains for first, last in chain.runs(0))
    assert any(chain.length == 2 for chain in chains)


def test_only_what_is_launched_alone() -> None:
    asked = calls(CallKind.LAUNCH, CallKind.GRAPH, CallKind.LAUNCH)
    ops = operations([1, 1, 1, 1, 1], call=[0, 1, 1, 2, -1])
    work = work_of(ops, asked, np.arange(3) * US)
    assert launched_alone(work).tolist() == [True, False, False, True, False]
    graph = calls(CallKind.GRAPH)
    replay = work_of(operations([1] * 9, call=[0] * 9), graph, np.zeros(1))
    symbols = np.array([1, 2, 3] * 3)
    assert found(Launched(replay, symbols, np.ones(9, dtype=bool))) == []


def test_a_chain_is_of_all_forwards() -> None:
    one, other = launched("abXabYabZ"), launched("QabXabYabZ")
    (chain,) = found(one, other)
    assert chain.runs(0) == ((0, 1), (3, 4), (6, 7))
    assert chain.runs(1) == ((1, 2), (4, 5), (7, 8))
    # Three times in one of them is too few of both.
    assert found(one, launched("cdefghijk")) == []
    # Nothing goes on from one forward to the next.
    assert found(*[launched("ab"[::step]) for step in (1, -1, 1)], least=1) == []


def test_what_is_left_of_a_layer_that_is_longer_than_a_chain() -> None:
    layer = "abcdefghijkl"
    forward = launched(layer * 4)
    chains = found(forward, longest=8)
    assert [chain.length for chain in chains] == [8, 4]
    assert {len(chain.first[0]) for chain in chains} <= {3, 4}


def test_nothing_is_saved_where_a_queue_has_no_gaps() -> None:
    forward = launched("abXabYabZ", durations_us=50.0)
    settled = find_chains([forward], [FLOOR.__class__(to_start=0, gap=0, sync=0)])
    assert settled.chains == ()
    assert settled.repeats == 1


def test_without_operations() -> None:
    empty = Launched(
        work_of(operations([]), launches(0), np.zeros(0)),
        np.zeros(0, dtype=np.int64),
        np.zeros(0, dtype=bool),
    )
    assert find_chains([empty], [FLOOR]).repeats == 0
