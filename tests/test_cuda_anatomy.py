"""Every row of the launch anatomy and every axis of a launch is there (docs/launch_anatomy.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from fake_cuda import FakeCuda

from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.records import Setting

pytestmark = pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")

APIS = {"kernel", "kernel_ex", "runtime", "cooperative", "dependent"}
BYTES = {0, 8, 64, 256, 1024, 4096}
PARTS = {"submit", "end_to_end"}
IDLE_NS = {0, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000}
ROWS = (
    *("submit", "to_start", "spacing", "sync", "launch_sync", "launch_rate"),
    *("graph_launch", "graph_node", "graph_create", "first_launch"),
    *("memcpy_h2d", "memcpy_d2h", "memset", "event_record", "stream_sync_idle", "queue_knee"),
)


@pytest.fixture
def rows(fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, FloorRow]]:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    device = CudaDevice(0)
    yield {row.name: row for row in device.rows()}
    device.close()


def values(settings: Sequence[Setting], key: str) -> set[str | int | float]:
    return {setting[key] for setting in settings if key in setting}


def test_every_row_is_there(rows: dict[str, FloorRow]) -> None:
    assert set(ROWS) <= set(rows)


@pytest.mark.parametrize(
    "name", ["submit", "to_start", "spacing", "launch_sync", "launch_rate", "queue_knee"]
)
def test_launches_vary_by_api(rows: dict[str, FloorRow], name: str) -> None:
    assert values(rows[name].axes["api"], "api") == APIS


@pytest.mark.parametrize("name", ["submit", "spacing", "launch_sync", "launch_rate", "queue_knee"])
def test_launches_vary_by_the_size_of_their_arguments(rows: dict[str, FloorRow], name: str) -> None:
    assert values(rows[name].axes["argument_bytes"], "argument_bytes") == BYTES


@pytest.mark.parametrize("name", ["submit", "to_start", "spacing", "launch_sync", "launch_rate"])
def test_launches_vary_by_shape_and_stream(rows: dict[str, FloorRow], name: str) -> None:
    axes = rows[name].axes
    assert {1, 1024} <= values(axes["grid"], "grid")
    assert {1, 1024} <= values(axes["block"], "block")
    assert values(axes["stream"], "stream") == {"own", "legacy", "per_thread"}


@pytest.mark.parametrize("name", ["submit", "to_start", "launch_sync"])
def test_launches_vary_by_what_the_host_did_before_and_where_it_runs(
    rows: dict[str, FloorRow], name: str
) -> None:
    axes = rows[name].axes
    for by in ("spin", "sleep"):
        some = [setting for setting in axes["idle"] if setting["idle_by"] == by]
        assert values(some, "idle_ns") >= IDLE_NS - {0}
    assert values(axes["placement"], "placement") == {"gpu_node", "other_node", "unpinned"}


def test_a_point_of_an_axis_that_is_the_default_is_one_with_it(rows: dict[str, FloorRow]) -> None:
    """But for its own key: else results of both could not be set side by side."""
    for row in rows.values():
        for axis in {"api", "stream", "placement"} & set(row.axes):
            for setting in row.axes[axis]:
                assert {k: v for k, v in setting.items() if k != axis} == dict(row.settings[0])


def test_one_thread_to_many_submit(rows: dict[str, FloorRow]) -> None:
    assert 1 in values(rows["submit"].axes["threads"], "threads")


def test_a_stream_is_idle_or_was_active(rows: dict[str, FloorRow]) -> None:
    assert values(rows["to_start"].settings, "idle_ns") == {0, 1_000_000}


def test_every_wait_style_is_there(rows: dict[str, FloorRow]) -> None:
    assert values(rows["sync"].settings, "wait") == {"spin", "yield", "blocking", "event_query"}


def test_graphs_are_lines_and_fork_joins(rows: dict[str, FloorRow]) -> None:
    assert values(rows["graph_node"].settings, "part") == {"host", "end_to_end"}
    assert {1, 4} <= values(rows["graph_node"].axes["width"], "width")
    steps = values(rows["graph_create"].settings, "step")
    assert steps == {"capture", "instantiate", "upload", "update"}
    assert {1, 1024} <= values(rows["graph_create"].axes["nodes"], "nodes")


def test_the_drivers_compiler_is_apart(rows: dict[str, FloorRow]) -> None:
    settings = rows["first_launch"].settings
    assert {"step": "compile", "image": "ptx"} in settings
    assert {"step": "first_launch", "image": "cubin"} in settings


@pytest.mark.parametrize("name", ["memcpy_h2d", "memcpy_d2h"])
def test_copies_are_submitted_and_done_pinned_and_pageable(
    rows: dict[str, FloorRow], name: str
) -> None:
    settings = rows[name].settings
    pageable = [setting for setting in settings if "memory" in setting]
    assert values([s for s in settings if "memory" not in s], "part") == PARTS
    assert values(pageable, "part") == PARTS
    assert values(pageable, "memory") == {"pageable"}


@pytest.mark.parametrize("name", ["memset", "event_record"])
def test_the_other_calls_are_submitted_and_done(rows: dict[str, FloorRow], name: str) -> None:
    assert values(rows[name].settings, "part") == PARTS
