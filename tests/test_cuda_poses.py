"""Old and new drivers, none at all, and machines whose GPU cannot be had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_command import TINY, launch_floor, settings
from fake_cuda.build import VERSIONS, Builder

from ftax_micro import _core
from ftax_micro.results import load_result

pytestmark = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")

Library = Callable[[str], Path]
ONE_ROW = ("--probe", "round_trip", *TINY)
ERROR = "ftax-micro: error: "


@pytest.mark.parametrize("version", VERSIONS)
def test_every_driver_gives_the_default_rows(
    version: str, fake_cuda_path: Library, fake_cuda_builder: Builder, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    status, _, errors = launch_floor(
        fake_cuda_path(version),
        *("--device", "cuda", *TINY, "-o", str(path)),
        FTAX_MICRO_CUDA_RUNTIME=str(fake_cuda_builder.runtime(version)),
    )
    result = load_result(path)
    rows = [(m.name, m.setting, m.status, m.reason) for m in result.measurements]
    failed = [row for row in rows if row[2] == "failed"]
    # Where other work takes both cores, every kernel may have started before its call is back.
    assert [row for row in failed if "every shot was censored" not in str(row[3])] == []
    assert status == (1 if failed else 0)
    assert errors[0] == f"saved {path}"
    assert len(rows) > 30
    for *_, reason in (row for row in rows if row[2] == "skipped"):
        assert reason is not None
        if "cupti" in reason.lower():  # with which test_traced_floor deals
            continue
        assert version in reason or any(needed in reason for needed in ("12.8", "13.0"))
    assert {m.name for m in result.measurements if m.status == "ok"} >= {
        *("submit", "to_start", "spacing", "launch_sync", "launch_rate", "round_trip", "sync"),
        *("graph_launch", "graph_node", "graph_create", "first_launch", "memcpy_h2d", "memset"),
    }
    assert [m.verdicts for m in result.measurements if m.verdicts] == []
    assert result.devices[0].facts["driver_version"] == VERSIONS[version]


@pytest.mark.parametrize(("version", "statuses"), [("11.4", "skipped"), ("12.0", "ok")])
def test_a_driver_too_old_for_a_row_skips_it_and_names_the_version(
    version: str, statuses: str, fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    probe = ("--device", "cuda", "--probe", "submit", "--axis", "api")
    status, _, _ = launch_floor(fake_cuda_path(version), *probe, *TINY, "-o", str(path))
    rows = {str(m.setting["api"]): m for m in load_result(path).measurements}
    assert status == 0
    assert {api: m.status for api, m in rows.items()} == {
        **dict.fromkeys(("kernel", "cooperative"), "ok"),
        **dict.fromkeys(("kernel_ex", "dependent"), statuses),
        "runtime": "skipped",
    }
    if statuses == "skipped":
        reason = str(rows["kernel_ex"].reason)
        assert "cuLaunchKernelEx needs CUDA 11.6" in reason
        assert "(CUDA 11.4)" in reason


UNAVAILABLE = [
    ("/nonexistent", "cannot open the CUDA driver /nonexistent"),
    ("libm.so.6", "libm.so.6 is not a CUDA driver: it has no cuInit"),
    ("stub", "the CUDA toolkit's stub of the driver"),
]


@pytest.mark.parametrize(("library", "words"), UNAVAILABLE)
def test_without_a_driver_cuda_is_one_error_and_auto_is_the_cpu(
    library: str, words: str, fake_cuda_path: Library
) -> None:
    driver = fake_cuda_path("stub") if library == "stub" else library
    status, out, errors = launch_floor(driver, "--device", "cuda", *ONE_ROW)
    assert (status, out, len(errors)) == (3, "", 1)
    assert errors[0].startswith(f"{ERROR}cuda is not available: ")
    assert words in errors[0]
    for device in ("auto", "all"):
        arguments = ("--device", device, "--probe", "call_python", *TINY, "--format", "csv")
        status, out, errors = launch_floor(driver, *arguments)
        assert status == 0
        assert [line.split(",")[0] for line in out.splitlines()] == ["device", "cpu"]
        assert words in errors[0]


@pytest.mark.parametrize("kind", ["text", "empty", "folder"])
def test_a_driver_variable_that_names_no_library(kind: str, tmp_path: Path) -> None:
    named = tmp_path / "libcuda.so.1"
    if kind == "folder":
        named.mkdir()
    else:
        named.write_text("not a library\n" * (kind == "text"))
    status, out, errors = launch_floor(named, "--device", "cuda", *ONE_ROW)
    assert (status, out, len(errors)) == (3, "", 1)
    assert errors[0].startswith(f"{ERROR}cuda is not available: cannot open the CUDA driver ")
    assert str(named) in errors[0]


REFUSED = [
    ("driver_version=11030", "the CUDA driver is too old: needs 11.4, has 11.3"),
    ("devices=0", "the CUDA driver sees no device"),
    ("compute_mode=2", "prohibited compute mode"),
    ("compute_mode=3,busy=1", "exclusive-process compute mode and another process holds it"),
    ("fail=cuInit:1:999", "does not initialise: CUDA_ERROR_UNKNOWN"),
    ("fail=cuDevicePrimaryCtxRetain:1:2", "CUDA_ERROR_OUT_OF_MEMORY"),
    ("fail=cuMemHostAlloc:1:2", "CUDA_ERROR_OUT_OF_MEMORY"),
]


@pytest.mark.parametrize(("fake", "words"), REFUSED)
def test_a_device_that_cannot_be_had_is_one_error(
    fake: str, words: str, fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    arguments = ("--device", "cuda", *ONE_ROW, "-o", str(path))
    status, out, errors = launch_floor(fake_cuda_path("13.0"), *arguments, fake=fake)
    assert (status, out, len(errors)) == (3, "", 1)
    assert errors[0].startswith(ERROR)
    assert words in errors[0]
    assert not path.exists()


def test_no_visible_device_is_said_to_be_the_variables_doing(fake_cuda_path: Library) -> None:
    arguments = ("--device", "cuda", *ONE_ROW)
    status, _, errors = launch_floor(fake_cuda_path("13.0"), *arguments, CUDA_VISIBLE_DEVICES="")
    assert status == 3
    reason = 'the CUDA driver sees no device (CUDA_VISIBLE_DEVICES is "")'
    assert errors == [f"{ERROR}cuda is not available: {reason}"]


def test_an_index_out_of_range_names_what_there_is(fake_cuda_path: Library) -> None:
    arguments = ("--device", "cuda:2", *ONE_ROW)
    status, _, errors = launch_floor(fake_cuda_path("13.0"), *arguments, fake=settings(devices=2))
    assert status == 3
    assert errors == [f"{ERROR}cuda:2 is not available: this machine has cuda:0, cuda:1"]


def test_exclusive_mode_without_another_process_is_no_obstacle(fake_cuda_path: Library) -> None:
    fake = settings(compute_mode=3)
    status, *_ = launch_floor(fake_cuda_path("13.0"), "--device", "cuda", *ONE_ROW, fake=fake)
    assert status == 0


@pytest.mark.parametrize(
    ("device", "names"), [("all", ["cpu", "cuda:0", "cuda:1"]), ("cuda:1", ["cuda:1"])]
)
def test_several_devices(
    device: str, names: list[str], fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    arguments = ("--device", device, "--probe", "submit", *TINY, "-o", str(path))
    status, *_ = launch_floor(fake_cuda_path("13.0"), *arguments, fake=settings(devices=2))
    assert status == 0
    result = load_result(path)
    assert [facts.name for facts in result.devices] == names
    assert sorted({m.device for m in result.measurements if m.status == "ok"}) == names


def test_several_devices_have_a_file_each(fake_cuda_path: Library, tmp_path: Path) -> None:
    name = str(tmp_path / "{device}" / "floor.json")
    arguments = ("--device", "all", "--probe", "submit", *TINY, "-o", name)
    status, _, told = launch_floor(fake_cuda_path("13.0"), *arguments, fake=settings(devices=2))
    assert status == 0, told
    for device in ("cpu", "cuda:0", "cuda:1"):
        result = load_result(tmp_path / device.replace(":", "-") / "floor.json")
        assert [facts.name for facts in result.devices] == [device]
        assert {m.device for m in result.measurements} == {device}


def test_rows_are_listed_without_being_measured(fake_cuda_path: Library) -> None:
    status, out, errors = launch_floor(fake_cuda_path("13.0"), "--device", "cuda", "--list")
    assert (status, errors) == (0, [])
    assert "cuda:0 graph_node: " in out
    assert "--axis api: api=kernel|kernel_ex" in out
