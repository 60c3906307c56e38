"""A real driver takes our PTX, all launch paths work, and nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gpu import command, floor, script

pytestmark = pytest.mark.cuda

BRIEF = ("--min-samples", "20", "--min-time", "0", "--timeout", "0.5")


def test_every_launch_path_works_or_says_what_it_lacks(tmp_path: Path) -> None:
    """The dependent launch needs the second PTX and sm_90, the runtime's needs its library."""
    code, result = floor(
        tmp_path / "floor.json",
        *("--device", "cuda:0", "--probe", "submit,spacing", "--axis", "api", *BRIEF),
    )
    assert code == 0
    rows = [m for m in result.measurements if "api" in m.setting]
    assert {m.setting["api"] for m in rows if m.status == "ok"} >= {"cooperative"}
    major = int(str(result.devices[0].facts["compute_capability"]).split(".")[0])
    for each in rows:
        if each.status == "skipped":
            lacking = {"dependent": "9.0", "runtime": "libcudart", "kernel_ex": "11.6"}
            assert lacking[str(each.setting["api"])] in str(each.reason)
            assert each.setting["api"] != "dependent" or major < 9


def test_arguments_of_every_size_reach_the_kernel(tmp_path: Path) -> None:
    code, result = floor(
        tmp_path / "floor.json",
        *("--device", "cuda:0", "--probe", "submit", "--axis", "argument_bytes", *BRIEF),
    )
    assert code == 0
    sizes = [m.setting.get("argument_bytes") for m in result.measurements if m.status == "ok"]
    assert set(sizes) >= {8, 64, 256, 1024, 4096}


SESSION = """
import ctypes, json, os
from ftax_micro import _core
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.orchestration.point.measure import measure_point
from ftax_micro.records import Plan

plan = Plan(min_samples=5, min_time_s=0, timeout_s=0.1, warmup_time_s=0)
driver = ctypes.CDLL(os.environ.get("FTAX_MICRO_CUDA_DRIVER", "libcuda.so.1"))
flags, active = ctypes.c_uint(), ctypes.c_int()

def state():
    driver.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active))
    return flags.value, active.value

driver.cuInit(0)
before = state()
device = CudaDevice(0)
statuses = [
    measure_point((device, row, setting), plan).status
    for row in device.rows() if row.name in ("submit", "sync", "graph_node", "first_launch")
    for setting in row.settings
]
device.close()
current = ctypes.c_void_p(1)
status = driver.cuCtxGetCurrent(ctypes.byref(current))
print(json.dumps({
    "statuses": statuses, "before": before, "after": state(),
    "cleanup_errors": _core.cuda.cleanup_errors().count, "status": status, "current": current.value,
}))
"""


def test_a_session_leaves_no_error_and_no_context() -> None:
    told = script(SESSION)
    assert "ok" in told["statuses"]
    assert "failed" not in told["statuses"]
    assert told["cleanup_errors"] == 0
    assert told["before"][1] == told["after"][1] == 0  # the primary context is active for nobody
    assert told["before"] == told["after"]
    assert (told["status"], told["current"]) == (0, None)


def test_all_devices_are_the_cpu_and_every_gpu(tmp_path: Path) -> None:
    probe = ("--probe", "submit,launch_sync", *BRIEF)
    code, result = floor(tmp_path / "floor.json", "--device", "all", *probe)
    assert code == 0
    names = [device.name for device in result.devices]
    assert names[:2] == ["cpu", "cuda:0"]
    assert {m.device for m in result.measurements if m.status == "ok"} == set(names)


def test_a_gpu_that_is_not_there_is_one_error() -> None:
    code, out, errors = command("ftax_micro.launch_floor", "--device", "cuda:99")
    assert (code, out) == (3, "")
    assert "cuda:99 is not available: this machine has cuda:0" in errors


def test_the_doctor_finds_driver_and_gpu() -> None:
    code, out, _ = command("ftax_micro.doctor", "--format", "json")
    assert code == 0
    findings = {each["part"]: each for each in json.loads(out)["findings"]}
    assert findings["cuda driver"]["status"] == "ok"
    assert findings["cuda:0"]["status"] in {"ok", "warning"}
