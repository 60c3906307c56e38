"""Which rows had their two cores far apart: from recorded ways, in tables and comparisons."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest
from fake_results import result, row
from msgspec.structs import replace

from ftax_micro.analysis.comparing.comparison import compare_results
from ftax_micro.analysis.core_distance import CODE, Distance, apart_verdict, distances
from ftax_micro.analysis.floor.view import floor_view
from ftax_micro.analysis.summary import summarise
from ftax_micro.analysis.undisturbed import undisturbed
from ftax_micro.records import CoreSpeeds, Data, DeviceState, Level, Measurement
from ftax_micro.reporters import COMPARISON_REPORTERS, FLOOR_REPORTERS
from ftax_micro.result_rules import check_measurement
from ftax_micro.results import Result

NEAR_S, FAR_S = 120e-9, 600e-9
QUIET_S, SLOWED_S = 1e-9, 1.5e-9


def watched(
    hops: list[float],
    samples: list[int],
    data: Data,
    works: list[float] | None = None,
    pair: str = "01",
) -> Measurement:
    """A row of two cores, both as fast at each glance as `works` says."""
    works = works or [QUIET_S] * len(hops)
    speeds = CoreSpeeds(work_s=dict.fromkeys(pair, works), samples=samples, hop_s=hops)
    made = row("launch_sync", data.samples, setting={"wait": "spin"})
    return replace(made, data=replace(data, core_speeds=speeds))


def samples_of(near: int, far: int) -> Data:
    samples = [200e-9] * near + [960e-9] * far
    return Data(estimate="median", stop_reason="interval", samples=samples)


def moved(near: int, far: int) -> Measurement:
    """So many samples on cores that are near, then so many while they are far apart."""
    each = near // 10
    hops = [*[NEAR_S] * 11, FAR_S]
    return watched(hops, [*[each] * 10, far], samples_of(10 * each, far))


def test_a_row_is_as_far_as_beside_its_median_sample_against_the_nearest_of_the_run() -> None:
    near, far = distances([moved(60, 40), moved(40, 60)])
    assert near is not None
    assert far is not None
    assert near == pytest.approx((NEAR_S, 1.0))
    assert far == pytest.approx((FAR_S, 5.0))


def test_two_cores_that_share_a_physical_one_set_no_mark() -> None:
    sharing = watched([60e-9] * 2, [40], samples_of(40, 0), works=[SLOWED_S] * 2)
    near = watched([NEAR_S] * 2, [40], samples_of(40, 0))
    found = distances([sharing, near])
    assert [each and each.times for each in found] == pytest.approx([0.5, 1.0])


def test_where_cores_were_never_quiet_the_nearest_of_all_is_the_mark() -> None:
    slowed = watched([FAR_S, NEAR_S], [40], samples_of(40, 0), works=[SLOWED_S] * 2)
    quiet_alone = replace(row("call_direct", [1e-9] * 40), facts={"cores": "0,1"})
    works = DeviceState(fixed_work_s={"0": QUIET_S, "1": QUIET_S})
    found, _ = distances([slowed, replace(quiet_alone, state_before=works)])
    assert found == pytest.approx((FAR_S, 5.0))


def test_another_pair_of_cores_is_no_measure() -> None:
    others = watched([FAR_S] * 2, [40], samples_of(0, 40), pair="07")
    found = distances([moved(60, 40), others])
    assert [each and each.times for each in found] == pytest.approx([1.0, 1.0])


def test_what_nobody_looked_at_is_unknown() -> None:
    alone = row("call_direct", [1e-9] * 40)
    unwatched = watched([], [40], samples_of(40, 0), works=[QUIET_S] * 2)
    assert distances([alone, unwatched]) == [None, None]
    assert apart_verdict(None) == []


@pytest.mark.parametrize(("times", "told"), [(0.5, 0), (1.3, 0), (2.5, 1)])
def test_a_verdict_begins_beyond_what_one_cache_varies(times: float, told: int) -> None:
    found = apart_verdict(Distance(NEAR_S * times, times))
    assert [each.code for each in found] == [CODE] * told


def test_undisturbed_samples_are_those_of_near_cores() -> None:
    (found,) = undisturbed([moved(40, 60)])
    assert found is not None
    assert found.samples == [200e-9] * 40
    near = watched([NEAR_S, 1.3 * NEAR_S], [40], samples_of(40, 0))
    assert undisturbed([near]) == [near.data]
    assert undisturbed([moved(20, 60)]) == [None]  # too few are left


def test_bursts_of_far_cores_are_left_out_alike() -> None:
    levels = [Level(count=n, samples_s=[n * 6e-9] * 40 + [n * 1e-6] * 35) for n in (1, 2)]
    data = Data(estimate="slope", stop_reason="interval", levels=levels)
    (found,) = undisturbed([watched([*[NEAR_S] * 11, FAR_S], [*[4] * 10, 35], data)])
    assert found is not None
    assert [len(level.samples_s) for level in found.levels] == [40, 40]


def test_a_summary_carries_the_distance_of_its_median_process() -> None:
    near, far = moved(60, 40), moved(40, 60)
    (told,) = summarise([near, replace(near, process=1), replace(far, process=2)])
    assert told.distance == pytest.approx((NEAR_S, 1.0))
    assert told.verdicts == ()
    (told,) = summarise([near, replace(far, process=1)])
    assert told.distance == pytest.approx((FAR_S, 5.0))
    assert [each.code for each in told.verdicts] == [CODE]


def test_a_table_says_it_once_and_csv_of_each_row() -> None:
    rows = [moved(40, 60), replace(moved(60, 40), name="to_start")]
    view = floor_view(result(*rows))
    table = " ".join(FLOOR_REPORTERS.open("table")(view).split())
    assert table.count("as far apart") == 1
    assert "up to 5 times as far apart as at their nearest in this run" in table
    assert "600 ns there and back, 120 ns at the least" in table
    assert "launch_sync wait=spin (by its undisturbed samples 200 ns)" in table
    far, near = csv.DictReader(io.StringIO(FLOOR_REPORTERS.open("csv")(view)))
    assert (far["verdicts"], near["verdicts"]) == (CODE, "")
    assert [float(each["hop_s"]) for each in (far, near)] == pytest.approx([FAR_S, NEAR_S])


def machine(hop_s: float) -> Result:
    data = samples_of(40, 0)
    return result(watched([hop_s] * 2, [40], data), row("call_direct", [1e-9] * 40))


@pytest.mark.parametrize(("hop_s", "told"), [(FAR_S, 1), (NEAR_S / 3, 1), (1.3 * NEAR_S, 0)])
def test_a_comparison_says_where_cores_lay_in_another_way(hop_s: float, told: int) -> None:
    comparison = compare_results([machine(NEAR_S), machine(hop_s)], labels=["one", "two"])
    text = " ".join(COMPARISON_REPORTERS.open("table")(comparison).split())
    assert text.count("two: a cache line took") == told
    assert ("120 ns in one" in text) == bool(told)
    assert "one: a cache line took" not in text


@pytest.mark.parametrize(
    ("hops", "complaint"),
    [
        ([NEAR_S], "each glance"),
        ([NEAR_S, 0.0], "takes no time"),
        ([NEAR_S, float("nan")], "Not a number"),
    ],
)
def test_a_file_whose_ways_make_no_sense_is_refused(hops: list[float], complaint: str) -> None:
    made = watched(hops, [40], samples_of(40, 0), works=[QUIET_S] * 2)
    with pytest.raises(msgspec.ValidationError, match=complaint):
        check_measurement(made)
