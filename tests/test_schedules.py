"""The schedules behind the bounds: each ends at its bound, and keeps to what the model asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_pipelines import (
    FLOOR,
    US,
    calls,
    given_floor,
    launches,
    mixed_forwards,
    operations,
    work_of,
)

from ftax_micro.analysis.bounding.bounds import cuda_bounds
from ftax_micro.analysis.bounding.pipeline import NO_CALL, CallKind
from ftax_micro.analysis.bounding.what_if import what_if
from ftax_micro.analysis.streams import stream_places
from ftax_micro.analysis.tracks.schedules import (
    Schedule,
    bound_schedule,
    bound_schedules,
    predicted_schedule,
)

FORWARDS = mixed_forwards(st.floats(0, 50), st.floats(0, 20), st.booleans())


def check(made: Schedule) -> None:
    """Durations are kept, streams are in order, and no operation begins before its call."""
    ops = made.operations
    np.testing.assert_allclose(made.stop_s - made.start_s, ops.duration_s, atol=1e-15)
    for place in stream_places(ops.stream):
        until = np.maximum.accumulate(made.stop_s[place])[:-1]
        after = made.start_s[place][1:]
        assert (after >= until - 1e-15)[ops.chained[place][1:]].all()
    if made.begin_s is not None and made.return_s is not None:
        called = ops.call != NO_CALL
        assert (made.start_s[called] > made.begin_s[ops.call[called]]).all()
        for thread in np.unique(made.calls.thread):
            mine = made.calls.thread == thread
            assert (made.begin_s[mine][1:] >= made.return_s[mine][:-1] - 1e-15).all()


@settings(max_examples=40, deadline=None)
@given(FORWARDS)
def test_each_schedule_ends_at_its_bound(forward: Any) -> None:
    ops, asked, begins = forward
    work, floor = work_of(ops, asked, begins), given_floor()
    bounds = cuda_bounds(work, [1e-3], floor)
    found = {each.name: each for each in bound_schedules(work, bounds, floor.point())}
    assert list(found) == ["device", "launch", "graph", *(["own"] * (bounds.path != "stream"))]
    for name, made in found.items():
        assert made.end_s == pytest.approx(getattr(bounds, name).seconds.value, rel=1e-12)
        assert made.known_s - made.done_s == pytest.approx(3 * US)
        assert made.done_s == made.stop_s.max()
        check(made)
    assert bounds.own is not None
    own = found["own" if "own" in found else "launch"]
    assert own.end_s == pytest.approx(bounds.own.seconds.value, rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(FORWARDS, st.floats(0, 500))
def test_the_prediction_is_that_of_the_model(forward: Any, returned_us: float) -> None:
    ops, asked, begins = forward
    work, floor, returned = work_of(ops, asked, begins), given_floor(), returned_us * US
    made = predicted_schedule(work, floor.point(), begins + US, returned)
    model = what_if(work, [1e-3], floor, None, [returned]).model.value
    assert made.end_s == pytest.approx(model, rel=1e-12)
    assert made.end_s == max(made.known_s, returned)


def test_a_full_queue_has_no_host() -> None:
    made = bound_schedule("device", work_of(operations([3] * 4), launches(4)), FLOOR)
    assert made.begin_s is None
    np.testing.assert_allclose(made.start_s / US, [4, 8, 12, 16])
    assert made.end_s / US == pytest.approx(4 + 12 + 3 + 3)


def test_launches_follow_each_other_at_the_floor() -> None:
    work = work_of(operations([0.5] * 3), calls(CallKind.LAUNCH, CallKind.COPY, CallKind.LAUNCH))
    made = bound_schedule("launch", work, FLOOR)
    assert made.begin_s is not None
    assert made.return_s is not None
    np.testing.assert_allclose(made.begin_s / US, [0, 2, 7])
    np.testing.assert_allclose(made.return_s / US, [2, 7, 9])
    np.testing.assert_allclose(made.start_s / US, [4, 6, 11])


def test_a_graph_is_one_call_of_all_its_nodes() -> None:
    made = bound_schedule("graph", work_of(operations([2] * 10), launches(10)), FLOOR)
    assert made.begin_s is not None
    assert made.return_s is not None
    np.testing.assert_allclose(made.return_s / US, [6 + 10 * 0.1])
    np.testing.assert_allclose(made.start_s / US, 7 + 2.5 * np.arange(10))
    assert made.operations.call.tolist() == [0] * 10
