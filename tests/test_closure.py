"""Do the parts add up? On rows whose sum is known."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftax_micro import closure_check
from ftax_micro.analysis.floor.closure import Closure
from ftax_micro.analysis.summary import Summary
from ftax_micro.records import Setting


def part(
    name: str,
    value_s: float,
    *,
    half_s: float = 0.0,
    device: str = "cpu",
    setting: Setting | None = None,
    status: str = "ok",
    systematic: tuple[float, float] | None = None,
) -> Summary:
    """A measured row with an interval, and with a systematic range around its value."""
    low, high = systematic or (0.0, 0.0)
    measured = status == "ok"
    return Summary(
        device=device,
        name=name,
        setting=setting if setting is not None else {"wait": "spin"},
        status="ok" if measured else "skipped",
        reason=None if measured else "one core only",
        value=value_s if measured else None,
        low=value_s - half_s,
        high=value_s + half_s,
        systematic_low=value_s - low,
        systematic_high=value_s + high,
    )


def launch(whole_s: float = 8e-6, **changes: Summary) -> list[Summary]:
    """start 3 + sync 4 (+ a body of 0 … 2): the whole is 7 … 9 µs; the host's path is 5 µs."""
    rows = {
        "launch_sync": part("launch_sync", whole_s),
        "to_start": part("to_start", 3e-6),
        "sync": part("sync", 4e-6),
        "spacing": part("spacing", 2e-6),
        "submit": part("submit", 1e-6),
        "stream_sync_idle": part("stream_sync_idle", 4e-6, setting={}),
    }
    return list({**rows, **changes}.values())


def only(rows: Iterable[Summary]) -> Closure:
    (closure,) = closure_check(rows)
    return closure


def test_parts_that_add_up_close() -> None:
    closure = only(launch())
    assert (closure.device, closure.wait) == ("cpu", "spin")
    assert closure.measured_s == 8e-6
    assert closure.predicted_s == pytest.approx(8e-6)
    assert closure.residual_s == pytest.approx(0.0, abs=1e-15)
    assert closure.uncertainty_s == pytest.approx(1e-6)
    assert not closure.flagged


@pytest.mark.parametrize(
    ("whole_s", "flagged"),
    [
        (9.0e-6, False),  # the end of the uncertainty
        (9.25e-6, False),  # beyond it by less than 0.3 µs
        (9.45e-6, False),  # by 0.45 µs, less than 5 % of 9.45 µs
        (9.6e-6, True),
        (6.75e-6, False),
        (6.5e-6, True),
    ],
)
def test_a_residual_is_flagged_where_it_exceeds_both_limits(whole_s: float, flagged: bool) -> None:
    closure = only(launch(whole_s))
    assert closure.residual_s == pytest.approx(whole_s - 8e-6)
    assert closure.flagged is flagged


def test_a_residual_is_signed() -> None:
    assert only(launch(2e-6)).residual_s == pytest.approx(-6e-6)


def test_the_hosts_path_counts_where_it_is_longer() -> None:
    slow = part("stream_sync_idle", 19e-6, setting={})
    closure = only(launch(20e-6, stream_sync_idle=slow))
    assert closure.predicted_s == pytest.approx(20e-6)
    assert closure.uncertainty_s == pytest.approx(0.0, abs=1e-12)


def test_uncertainties_of_all_parts_and_of_the_whole_add_up() -> None:
    closure = only(
        launch(
            launch_sync=part("launch_sync", 8e-6, half_s=0.1e-6),
            to_start=part("to_start", 3e-6, half_s=0.2e-6),
            sync=part("sync", 4e-6, systematic=(0.5e-6, 1e-6)),
        )
    )
    # low: 2.8 + 3.5, high: 3.2 + 5 + 2; the whole's own 0.1 on top.
    assert closure.predicted_s == pytest.approx((6.3e-6 + 10.2e-6) / 2)
    assert closure.uncertainty_s == pytest.approx((10.2e-6 - 6.3e-6) / 2 + 0.1e-6)


@pytest.mark.parametrize("missing", ["to_start", "sync", "spacing"])
def test_without_a_part_there_is_no_check(missing: str) -> None:
    assert closure_check(row for row in launch() if row.name != missing) == []
    skipped = part(missing, 0.0, status="skipped")
    assert closure_check(launch(8e-6, **{missing: skipped})) == []


@pytest.mark.parametrize("missing", ["submit", "stream_sync_idle"])
def test_the_hosts_path_may_be_missing(missing: str) -> None:
    closure = only(row for row in launch() if row.name != missing)
    assert closure.predicted_s == pytest.approx(8e-6)


def test_parts_of_another_wait_device_or_idle_time_do_not_count() -> None:
    strangers = [
        part("to_start", 1.0, setting={"wait": "block"}),
        part("sync", 1.0, device="cuda:0"),
        part("spacing", 1.0, setting={"wait": "spin", "idle_ns": 1_000_000}),
        part("submit", 1.0, setting={"wait": "spin", "placement": "unpinned"}),
    ]
    assert only([*strangers, *launch()]) == only(launch())


def test_every_wait_and_device_is_checked_on_its_own() -> None:
    other = [
        part(row.name, row.value or 0.0, device="cuda:0", setting={"wait": "block"})
        for row in launch()
        if row.name != "stream_sync_idle"
    ]
    closures = closure_check([*launch(), *other])
    assert [(c.device, c.wait) for c in closures] == [("cpu", "spin"), ("cuda:0", "block")]


def test_a_launch_after_an_idle_time_is_not_checked() -> None:
    idle = part("launch_sync", 50e-6, setting={"wait": "spin", "idle_ns": 1_000_000})
    assert len(closure_check([idle, *launch()])) == 1


def test_a_row_without_a_wait_is_checked_too() -> None:
    rows = [part(row.name, row.value or 0.0, setting={}) for row in launch()]
    assert only(rows).wait is None


@given(
    st.floats(1e-7, 1e-4),
    st.floats(1e-7, 1e-4),
    st.floats(0, 1e-5),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_a_whole_made_of_its_parts_always_closes(
    start_s: float, sync_s: float, spacing_s: float, body: float, host: float
) -> None:
    submit_s = host * (start_s + sync_s)
    closure = only(
        launch(
            launch_sync=part("launch_sync", start_s + body * spacing_s + sync_s),
            to_start=part("to_start", start_s),
            sync=part("sync", sync_s),
            spacing=part("spacing", spacing_s),
            submit=part("submit", submit_s),
            stream_sync_idle=part("stream_sync_idle", 0.0, setting={}),
        )
    )
    assert abs(closure.residual_s) <= closure.uncertainty_s + 1e-12
    assert not closure.flagged
