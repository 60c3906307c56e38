"""Other tools' indices, on launches whose indices are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ftax_micro.analysis.indices import (
    Indices,
    Launched,
    average_kernel_duration,
    gpu_idle_time,
    hdbi,
    hdbi_of,
    hdbi_word,
    idle_breakdown,
    indices_of,
    tklqt,
    translation_time,
)
from ftax_micro.records import DeviceOperation, DevicePass, HostCall

NAN = float("nan")
US = 1e-6

# Five launches of one stream, in µs: the second waits for the host, the third follows at once, the
# fourth has a long gap although it was launched long before, the fifth overlaps the fourth.
BEGIN = [0.0, 20.0, 23.0, 26.0, 29.0]
END = [2.0, 22.0, 25.0, 28.0, 31.0]
START = [5.0, 25.0, 40.01, 60.0, 69.0]
STOP = [15.0, 40.0, 50.0, 70.0, 72.0]


def launched(**changes: object) -> Launched:
    times = [np.array(each) * US for each in (BEGIN, END, START, STOP)]
    return Launched.of(*times, **changes)  # type: ignore[arg-type]


def test_tklqt_is_the_sum_from_call_to_kernel() -> None:
    found = tklqt(launched())
    assert found.total_s == pytest.approx((5 + 5 + 17.01 + 34 + 40) * US)
    assert (found.kernels, found.without_launch, found.negative) == (5, 0, 0)


def test_tklqt_counts_kernels_alone_and_keeps_negative_delays() -> None:
    no_copy = tklqt(launched(kernel=[True, True, True, False, True]))
    assert no_copy.total_s == pytest.approx((5 + 5 + 17.01 + 40) * US)
    early = Launched.of([5.0, NAN, 1.0], [6.0, NAN, 2.0], [4.0, 5.0, 3.0], [4.5, 6.0, 4.0])
    found = tklqt(early)
    assert found.total_s == pytest.approx(-1 + 2)
    assert (found.kernels, found.without_launch, found.negative) == (2, 1, 1)


def test_kernel_duration_and_idle_time() -> None:
    assert average_kernel_duration(launched()) == pytest.approx((10 + 15 + 9.99 + 10 + 3) / 5 * US)
    assert gpu_idle_time(launched(), 80 * US) == pytest.approx((80 - 47.99) * US)
    assert gpu_idle_time(launched(), 40 * US) < 0
    assert average_kernel_duration(launched(kernel=[False] * 5)) is None


def test_hdbi_is_the_device_s_share() -> None:
    assert hdbi(1.0, 3.0) == 0.25
    assert hdbi(0.0, 0.0) is None
    assert [hdbi_word(x) for x in (0.5, 0.49, 0.2, 0.19)] == [
        "device-bound",
        "balanced",
        "balanced",
        "host-bound",
    ]


def test_translation_is_what_the_host_does_between_launches() -> None:
    assert translation_time(launched()) == pytest.approx((18 + 1 + 1 + 1) * US)
    assert translation_time(launched(), begin_s=-4 * US) == pytest.approx(25 * US)
    threads = Launched.of([0.0, 1.0, 9.0], [6.0, 2.0, 10.0], [9.0] * 3, [10.0] * 3)
    assert translation_time(threads) == pytest.approx(3.0)
    graph = Launched.of([1.0] * 4, [2.0] * 4, [3.0] * 4, [4.0] * 4)
    assert translation_time(graph) == pytest.approx(1.0)
    assert translation_time(Launched.of([NAN], [NAN], [0.0], [1.0])) == 0.0
    active, orchestration = 47.99, 21 + 5 * 4.7
    assert hdbi_of(launched(), 4.7 * US) == pytest.approx(active / (active + orchestration))


def test_idle_time_by_its_cause() -> None:
    found = idle_breakdown(launched())
    assert list(found) == [0]
    assert found[0].host_wait_s == pytest.approx(10 * US)
    assert found[0].kernel_wait_s == pytest.approx((0.01 - 1) * US)
    assert found[0].other_wait_s == pytest.approx(10 * US)
    assert found[0].idle_s == pytest.approx(19.01 * US)
    wide = idle_breakdown(launched(), delay_s=11 * US)[0]
    assert wide.other_wait_s == 0
    assert wide.host_wait_s == pytest.approx(10 * US)


def test_streams_are_broken_down_apart() -> None:
    found = idle_breakdown(launched(stream=[7, 9, 7, 9, 7]))
    assert sorted(found) == [7, 9]
    # From the first to the third, whose call began after the first had ended; then to the fifth.
    assert found[7].host_wait_s == pytest.approx(25.01 * US)
    assert found[7].other_wait_s == pytest.approx(19 * US)
    assert found[9].other_wait_s == pytest.approx(20 * US)


def test_an_operation_without_a_launch_is_no_host_wait() -> None:
    found = idle_breakdown(Launched.of([0.0, NAN], [0.1, NAN], [1.0, 5.0], [2.0, 6.0]))
    assert found[0].host_wait_s == 0
    assert found[0].other_wait_s == 3.0


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="as many"):
        Launched.of([0.0], [1.0], [2.0, 3.0], [4.0, 5.0])


FORWARDS = 21


def recorded(calls: list[int | None], kinds: str = "kkkkk") -> DevicePass:
    """The same launches over and over, each forward at a pace of its own."""
    # In no order: samples that rise would be taken for correlated ones.
    slower = 1 + np.arange(FORWARDS) * 8 % FORWARDS * 1e-3

    def times(value: float) -> list[float]:
        return [float(x) for x in value * US * slower]

    names = {"k": "kernel", "c": "copy"}
    return DevicePass(
        operations=[
            DeviceOperation(
                kind=names[kind],  # type: ignore[arg-type]
                name="k",
                call=call,
                start_s=times(start),
                duration_s=times(stop - start),
            )
            for kind, call, start, stop in zip(kinds, calls, START, STOP, strict=True)
        ],
        calls=[
            HostCall(name="cudaLaunchKernel", begin_s=times(begin), duration_s=times(end - begin))
            for begin, end in zip(BEGIN, END, strict=True)
        ],
        busy_s=times(46.99),
        latency_s=times(80.0),
        host_s=times(33.0),
    )


def value(found: Indices, name: str) -> float | None:
    estimate = getattr(found, name)
    return None if estimate is None else float(estimate.value)


def test_a_recorded_pass_has_the_medians_of_its_forwards() -> None:
    found = indices_of(recorded([0, 1, 2, 3, 4]), null_launch_s=4.7 * US)
    middle = 1 + (FORWARDS // 2) * 1e-3
    expected = {
        "tklqt": 101.01,
        "average_kernel": 47.99 / 5,
        "gpu_idle": 80 - 47.99,
        "host_wait": 10.0,
        "kernel_wait": -0.99,
        "other_wait": 10.0,
    }
    # The shortest wait grows past the threshold in none of the forwards.
    for name, microseconds in expected.items():
        assert value(found, name) == pytest.approx(microseconds * US * middle, rel=1e-6), name
    assert value(found, "hdbi") == pytest.approx(47.99 / (47.99 + 21 + 23.5), rel=2e-2)
    assert found.tklqt is not None
    assert found.tklqt.low is not None
    assert found.tklqt.low < found.tklqt.value
    assert found.reasons == ()


@pytest.mark.parametrize(
    ("device_pass", "null_launch_s", "words"),
    [
        (recorded([0, 1, 2, 3, 4]), None, "null kernel"),
        (recorded([0, 0, 0, 3, 4]), 1e-6, "one call launches several"),
        (recorded([0, None, 2, 3, 4]), 1e-6, "no launch record"),
        (recorded([0, 1, 2, 3, 4], "ccccc"), 1e-6, "no kernels"),
    ],
)
def test_hdbi_says_why_there_is_none(
    device_pass: DevicePass, null_launch_s: float | None, words: str
) -> None:
    found = indices_of(device_pass, null_launch_s)
    assert found.hdbi is None
    ((name, reason),) = found.reasons
    assert name == "hdbi"
    assert words in reason
    assert found.host_wait is not None


def test_kernels_without_launch_are_counted() -> None:
    assert indices_of(recorded([0, None, 2, 3, 4])).without_launch == 1
    copies = indices_of(recorded([0, 1, 2, 3, 4], "ccccc"))
    assert copies.tklqt is None
    assert copies.average_kernel is None
    empty = DevicePass(operations=[], calls=[], busy_s=[], latency_s=[], host_s=[])
    assert indices_of(empty).reasons == (("indices", "no operation was recorded"),)
