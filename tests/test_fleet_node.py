"""What runs on a node, here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from stand_in import NO_CUDA, TINY

from ftax_micro import __version__
from ftax_micro.clusters import on_node
from ftax_micro.devices._extension import core
from ftax_micro.results import decode_result


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU, and the priority of the tests stays what it is."""
    monkeypatch.setattr(os, "setpriority", lambda *_: None)
    for name, value in NO_CUDA.items():
        monkeypatch.setenv(name, value)


def job(*arguments: str, **changes: Any) -> dict[str, Any]:
    return {
        "command": "launch_floor",
        "arguments": [*arguments, *TINY],
        "files": {},
        "device": "auto",
        "done": [],
        "together": False,
        "limit_s": 60.0,
        "version": __version__,
        "build": core().source_digest,
        **changes,
    }


def test_a_node_without_a_gpu_measures_its_cpu() -> None:
    report, plan, begins, ended = on_node.work(job("--probe", "call_direct"))
    assert (report["what"], report["version"], report["devices"]) == (
        "report",
        __version__,
        ["cpu"],
    )
    assert plan == {"what": "plan", "devices": ["cpu"]}
    assert begins == {"what": "begins", "device": "cpu"}
    assert (ended["what"], ended["code"]) == ("ended", 0)
    result = decode_result(ended["result"])
    assert [row.name for row in result.measurements] == ["call_direct"]
    # As by hand, but for the last two.
    assert result.environment.command[1:4] == ["-m", "ftax_micro.launch_floor", "--probe"]


def test_a_node_is_no_rank_of_what_started_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SLURM_PROCID", "3"), ("SLURM_LOCALID", "1"), ("SLURM_STEP_ID", "0")):
        monkeypatch.setenv(name, value)
    *_, ended = on_node.work(job("--probe", "call_direct"))
    assert (ended["code"], ended["result"] is not None) == (0, True)


def test_what_is_done_is_not_done_again() -> None:
    *_, plan = on_node.work(job(done=["cpu"]))
    assert plan == {"what": "plan", "devices": []}


@pytest.mark.parametrize(
    ("device", "known", "wanted"),
    [
        ("auto", ["cpu", "cuda:0", "cuda:1"], ["cuda:0", "cuda:1"]),
        ("all", ["cpu", "cuda:0", "cuda:1"], ["cpu", "cuda:0", "cuda:1"]),
        ("cuda", ["cpu", "cuda:0", "cuda:1"], ["cuda:0"]),
        ("cuda:1", ["cpu", "cuda:0"], ["cuda:1"]),
        ("auto", ["cpu"], ["cpu"]),
    ],
)
def test_which_devices_are_meant(device: str, known: list[str], wanted: list[str]) -> None:
    assert on_node._wanted(device, known) == wanted


def test_all_devices_of_a_node_together(monkeypatch: pytest.MonkeyPatch) -> None:
    report = {"version": __version__, "build": core().source_digest, "no_cuda": None}
    found = {**report, "python": "3", "devices": ["cpu", "cuda:0", "cuda:1"]}
    monkeypatch.setattr(on_node, "_report", lambda _: found)
    running: list[str] = []
    most = 0

    def measured(_: object, device: str) -> dict[str, Any]:
        nonlocal most
        running.append(device)
        limit_s = time.monotonic() + 10
        while len(running) < 2 and time.monotonic() < limit_s:
            time.sleep(0.01)
        most = max(most, len(running))
        return {"what": "ended", "device": device}

    monkeypatch.setattr(on_node, "_measured", measured)
    told = [each["what"] for each in on_node.work(job(together=True))]
    assert told == ["report", "plan", "begins", "begins", "ended", "ended"]
    assert most == 2


def test_a_device_that_is_not_there_is_told_of() -> None:
    *_, plan, refused = on_node.work(job(device="cuda:3"))
    assert plan["devices"] == ["cuda:3"]
    assert refused["device"] == "cuda:3"
    assert refused["reason"].startswith("cuda:3 is not available: ")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": "9"}, f"it has ftax_micro {__version__}, and 9 is what measures here"),
        ({"build": "f" * 64}, f"its ftax_micro {__version__} was built from other sources: "),
    ],
)
def test_another_version_is_refused(changes: dict[str, Any], reason: str) -> None:
    report, refused = on_node.work(job(**changes))
    assert report["version"] == __version__
    assert refused["reason"].startswith(reason)


def test_a_package_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ftax_micro.py").write_text("import nonsense_of_a_broken_installation")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    _, refused = on_node.work(job())
    assert refused["reason"] == (
        "ftax_micro cannot be used: ModuleNotFoundError: No module named "
        "'nonsense_of_a_broken_installation'"
    )


def crashing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Measuring processes run `text` first."""
    only = 'import sys\nif any("fleet.measuring" in each for each in sys.orig_argv):\n'
    (tmp_path / "sitecustomize.py").write_text(f"{only}    {text}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_a_crash_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing(tmp_path, monkeypatch, "import os; os.kill(os.getpid(), 9)")
    *_, ended = on_node.work(job())
    assert (ended["code"], ended["result"]) == (-9, None)
    assert ended["said"] == "it was killed by signal 9 (SIGKILL)"


def test_a_hang_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing(tmp_path, monkeypatch, "import time; time.sleep(600)")
    *_, ended = on_node.work(job(limit_s=0.5))
    assert (ended["code"], ended["result"]) == (143, None)
    assert ended["said"] == "it took longer than 0.5 s and was ended"


def test_an_error_is_told_in_the_commands_words() -> None:
    *_, ended = on_node.work(job("--probe", "sumbit"))
    assert (ended["code"], ended["result"]) == (2, None)
    assert ended["said"].startswith("unknown probe 'sumbit'; did you mean submit")


def test_files_go_with_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing(
        tmp_path,
        monkeypatch,
        "import os; os.write(2, open('study.toml', 'rb').read()); os._exit(1)",
    )
    *_, ended = on_node.work(job(files={"study.toml": b"what stands in it"}))
    assert ended["said"] == "what stands in it"


def test_threads_that_an_engine_sets_are_not_the_measurements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = "import os; from ftax_micro.clusters import on_node; "
    script += "os.environ['OMP_NUM_THREADS'] = '3'; "
    script += "print(on_node._environment().get('OMP_NUM_THREADS'))"
    for given, expected in ((None, "None" if sys.platform == "linux" else "3"), ("5", "3")):
        variables = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
        variables |= {"OMP_NUM_THREADS": given} if given else {}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=variables,
            capture_output=True,
            check=True,
            text=True,
        )
        assert done.stdout.strip() == expected


def test_a_measurement_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ftax_micro.orchestration.fleet.measuring", "launch_floor"]
    long = ["--device", "cpu", "--probe", "call_direct", "--min-time", "100", "--timeout", "200"]
    folder = tmp_path / "work"
    folder.mkdir()
    with subprocess.Popen(
        [*command, *long, "-o", "result.json"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) in (128 + signal.SIGTERM, -signal.SIGTERM)
