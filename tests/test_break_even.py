"""After how many replays a graph has paid, on rows whose answer is known."""

from __future__ import annotations

import math

import pytest
from fake_cuda import FakeCuda
from fake_results import result
from known_costs import SHORT_QUEUE, measured, recovered, us, within

from ftax_micro.analysis.floor.break_even import BreakEven, break_evens, with_break_evens
from ftax_micro.analysis.floor.view import floor_view
from ftax_micro.analysis.summary import Summary
from ftax_micro.devices._extension import core
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.records import Data, Level, Measurement, Plan, Setting
from ftax_micro.reporters import FLOOR_REPORTERS
from ftax_micro.results import decode_result, encode_result

US = 1e-6
NODES = 128


def part(name: str, value_s: float, half_s: float = 0.0, **setting: str | int) -> Summary:
    return Summary(
        device="cuda:0",
        name=name,
        setting=dict(setting),
        status="ok",
        reason=None,
        value=value_s,
        low=value_s - half_s,
        high=value_s + half_s,
    )


def rows(**changes: Summary) -> list[Summary]:
    """Host: 128 launches of 2 µs against 6 + 128 · 0.5 = 70 µs saves 186 µs; end to end: 10 + 127 ·
    3 = 391 µs against 20 + 128 · 1 = 148 µs saves 243 µs. Made for 930 µs, updated for 558 µs.
    """
    step = {"nodes": NODES}
    known = {
        "submit": part("submit", 2 * US),
        "launch_sync": part("launch_sync", 10 * US, wait="spin"),
        "launch_rate": part("launch_rate", 3 * US),
        "host_a": part("graph_launch", 6 * US, part="host"),
        "host_b": part("graph_node", 0.5 * US, part="host"),
        "whole_a": part("graph_launch", 20 * US, part="end_to_end"),
        "whole_b": part("graph_node", 1 * US, part="end_to_end"),
        "capture": part("graph_create", 300 * US, step="capture", **step),
        "instantiate": part("graph_create", 400 * US, step="instantiate", **step),
        "upload": part("graph_create", 230 * US, step="upload", **step),
        "update": part("graph_create", 258 * US, step="update", **step),
    }
    return list({**known, **changes}.values())


def found(summaries: list[Summary], cost_of: str = "create", saved: str = "host") -> BreakEven:
    (only,) = (e for e in break_evens(summaries) if (e.cost_of, e.saved) == (cost_of, saved))
    return only


@pytest.mark.parametrize(
    ("cost_of", "saved", "replays"),
    [
        ("create", "host", 930 / 186),
        ("create", "end_to_end", 930 / 243),
        ("update", "host", 558 / 186),
        ("update", "end_to_end", 558 / 243),
    ],
)
def test_the_count_is_cost_over_saving(cost_of: str, saved: str, replays: float) -> None:
    each = found(rows(), cost_of, saved)
    assert each.nodes == NODES
    assert each.replays == pytest.approx(replays)
    assert each.low == pytest.approx(replays)
    assert each.high == pytest.approx(replays)
    assert each.reason is None


def test_intervals_of_the_parts_are_carried_through() -> None:
    """Arms of 30 and 40 µs make 50 µs; 128 · 0.1 µs of a launch is 12.8 µs of the saving."""
    each = found(
        rows(
            submit=part("submit", 2 * US, 0.1 * US),
            capture=part("graph_create", 300 * US, 30 * US, step="capture", nodes=NODES),
            instantiate=part("graph_create", 400 * US, 40 * US, step="instantiate", nodes=NODES),
        )
    )
    assert each.cost.low == pytest.approx(880 * US)
    assert each.cost.high == pytest.approx(980 * US)
    assert each.saving.low == pytest.approx(173.2 * US)
    assert each.saving.high == pytest.approx(198.8 * US)
    up = math.hypot(math.log(980 / 930), math.log(186 / 173.2))
    down = math.hypot(math.log(930 / 880), math.log(198.8 / 186))
    assert each.high == pytest.approx(5 * math.exp(up))
    assert each.low == pytest.approx(5 * math.exp(-down))


@pytest.mark.parametrize("node_us", [1.96, 2.5])
def test_a_replay_that_saves_nothing_never_pays(node_us: float) -> None:
    """6 + 128 · 1.953 µs are the 256 µs of the launches."""
    each = found(rows(host_b=part("graph_node", node_us * US, part="host")))
    assert (each.replays, each.low, each.high) == (None, None, None)
    assert each.reason == "a replay takes no less time than 128 stream launches"
    assert each.saving.value < 0


def test_a_saving_that_may_be_zero_has_no_upper_bound() -> None:
    each = found(rows(submit=part("submit", 2 * US, 1.5 * US)))
    assert each.replays == pytest.approx(5)
    assert each.low is not None
    assert each.low < 5
    assert each.high is None
    assert each.reason == "what a replay saves is not distinguishable from nothing"


def test_a_part_without_an_interval_leaves_a_count_without_one() -> None:
    lone = Summary("cuda:0", "submit", {}, "ok", None, value=2 * US)
    each = found(rows(submit=lone))
    assert each.replays == pytest.approx(5)
    assert (each.low, each.high, each.reason) == (None, None, None)


@pytest.mark.parametrize("missing", ["submit", "host_a", "host_b", "instantiate"])
def test_without_a_part_there_is_no_count(missing: str) -> None:
    absent = Summary("cuda:0", missing, {}, "skipped", "not here")
    left = [(e.cost_of, e.saved) for e in break_evens(rows(**{missing: absent}))]
    assert ("create", "host") not in left


def test_rows_of_another_device_launch_or_width_are_not_taken() -> None:
    others = [
        part("submit", 9 * US, api="runtime"),
        part("launch_sync", 90 * US, wait="spin", api="runtime"),
        part("graph_node", 9 * US, part="end_to_end", width=4),
    ]
    assert break_evens([*others, *rows()]) == break_evens(rows())
    elsewhere = Summary("cuda:1", "submit", {}, "ok", None, value=9 * US)
    assert found([elsewhere, *rows()]).replays == pytest.approx(5)


def test_one_node_is_one_launch() -> None:
    step = {"nodes": 1}
    ones = [
        *rows(),
        *(part("graph_create", 1e-4, step=s, **step) for s in ("capture", "instantiate", "upload")),
    ]
    (each,) = (e for e in break_evens(ones) if (e.nodes, e.saved) == (1, "host"))
    assert each.reason == "a replay takes no less time than one stream launch"


def measurement(name: str, value_s: float, **setting: str | int) -> Measurement:
    data = Data(estimate="median", stop_reason="interval", samples=[value_s] * 8)
    if name in {"submit", "graph_node"}:
        levels = [Level(count=n, samples_s=[n * value_s] * 8) for n in (1, 2, 3)]
        data = Data(estimate="slope", stop_reason="interval", levels=levels)
    return Measurement(device="cuda:0", name=name, setting=dict(setting), status="ok", data=data)


def measurements() -> list[Measurement]:
    return [measurement(r.name, r.value or 0.0, **r.setting) for r in rows()]  # type: ignore[arg-type]


def test_the_count_is_a_fact_of_the_rows_it_belongs_to() -> None:
    facts = {
        str(each.setting["step"]): each.facts
        for each in with_break_evens(measurements(), Plan())
        if each.name == "graph_create"
    }
    assert facts["capture"] == facts["instantiate"] == {}
    assert facts["upload"]["break_even_replays_host"] == pytest.approx(5)
    assert facts["upload"]["break_even_replays_end_to_end"] == pytest.approx(930 / 243)
    assert facts["update"]["break_even_replays_host_high"] == pytest.approx(3)


def test_rows_of_the_cpu_stay_as_they_are() -> None:
    others = [measurement("submit", 1e-6)]
    assert with_break_evens(others, Plan()) == others


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_people_are_told(form: str) -> None:
    text = FLOOR_REPORTERS.open(form)(floor_view(result(*measurements())))
    said = " ".join(text.split())
    assert "graph of 128 nodes: making it costs 930 µs" in said
    assert "each replay saves 186 µs of host time: pays after 5 replays (5 … 5)" in said


def test_json_holds_it_and_is_a_result_still() -> None:
    saved = result(*with_break_evens(measurements(), Plan()))
    assert '"break_even_replays_host"' in FLOOR_REPORTERS.open("json")(floor_view(saved))
    assert decode_result(encode_result(saved)) == saved


SETTINGS: list[tuple[str, Setting]] = [
    ("submit", {}),
    ("graph_launch", {"part": "host"}),
    ("graph_node", {"part": "host"}),
    ("graph_create", {"step": "capture", "nodes": NODES}),
    ("graph_create", {"step": "instantiate", "nodes": NODES}),
    ("graph_create", {"step": "upload", "nodes": NODES}),
]


@pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")
def test_the_fakes_graphs_pay_when_their_costs_say(
    fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    fake_cuda.configure(knee=SHORT_QUEUE, capture_node_ns=20_000, body_ns=1_000, graph_gap_ns=1_000)
    cost = fake_cuda.cost
    made = sum(map(cost, ("capture_begin_ns", "capture_end_ns", "graph_instantiate_ns")))
    made += NODES * sum(map(cost, ("capture_node_ns", "graph_instantiate_node_ns")))
    made += NODES * cost("graph_upload_node_ns") + cost("graph_upload_ns")  # and a wait for it
    saved = NODES * (cost("submit_ns") - cost("graph_launch_node_ns")) - cost("graph_launch_ns")
    wanted = pytest.approx(made / saved, rel=0.1)
    device = CudaDevice(0)
    rows = recovered(
        lambda: [measured(device, name, setting) for name, setting in SETTINGS],
        lambda rows: all(each.replays == wanted for each in break_evens(rows)),
    )
    device.close()
    (each,) = break_evens(rows)
    assert within(each.saving.value, us(saved)), each
    assert each.replays == wanted
