"""Input that is damaged or odd, through ``bound_analysis``.

One line and exit code 2 where it cannot be read, else figures, with what is odd about it counted or
said. More kinds of damage, of the readers alone, are in `test_damaged_traces` and
`test_trace_formats`.
"""

from __future__ import annotations

import csv
import gzip
import io
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from commands import Run, runner
from floor_results import floor_result
from profiler_traces import Event, annotation, call, complete, kernel, launched, trace_text
from test_case_bounds import case, data

from ftax_micro.analysis.traces import event_list, text
from ftax_micro.bound_analysis import command
from ftax_micro.results import save_result

NUMBER = 12
NASTY = "\x1b[2J<img src=x>\u202e|\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(command, capsys)


def step(shift: float = 0.0, name: str = "gemm") -> list[Event]:
    """Twelve launches 20 µs apart, each of a kernel of 3 µs that starts 4 µs after its call began;
    everything `shift` later.
    """
    events = [annotation("ProfilerStep#1", shift, 240)]
    for n in range(NUMBER):
        at = 20 * n + shift
        events += launched(n + 1, at, 2, at + 4, 3, name=name)
    return events


GOOD = trace_text(step())


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("a.json", GOOD[: len(GOOD) // 2], "is truncated"),
        ("a.json.gz", gzip.compress(GOOD)[:-20], "its gzip stream ends in the middle"),
        ("a.json.gz", GOOD, "is named .gz but is not"),
        ("a.json", b'{"layers": [1, 2]}', "without a list of traceEvents"),
        ("a.json", b'{"traceEvents": []}', "an empty list of traceEvents"),
        (
            "a.json",
            b'[{"bench": 1}, {"rows": []}]',
            "is no trace of a profiler: none of its events",
        ),
        ("a.json", trace_text([complete("jax", "x", 1, 2)] * 3), "is known, but 'jax' (3)"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    name: str, raw: bytes, words: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(raw)
    code, out, err = run(tmp_path / name)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert name in err
    assert words in err


def test_a_gzip_bomb_is_one_line_and_little_memory(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 MiB out of 70 kB, where an event may have 1 MiB."""
    monkeypatch.setattr(event_list, "LARGEST_PART", 1 << 20)
    monkeypatch.setattr(event_list, "CHUNK", 1 << 16)
    monkeypatch.setattr(text, "CHUNK", 1 << 16)
    run(tmp_path)  # whatever is imported once
    spaces = gzip.compress(b" " * (2 << 20), 9)
    (tmp_path / "bomb.json.gz").write_bytes(
        gzip.compress(b'{"traceEvents":[{"ph":"' + b"x" * (2 << 20)) + spaces * 31
    )
    tracemalloc.start()
    try:
        code, out, err = run(tmp_path / "bomb.json.gz")
        assert tracemalloc.get_traced_memory()[1] < 12 << 20
    finally:
        tracemalloc.stop()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "bomb.json.gz" in err


ODD: dict[str, tuple[list[Event], str]] = {
    "only host events": (
        [annotation("ProfilerStep#1", 0, 90), complete("cpu_op", "aten::mm", 1, 80)],
        "ProfilerStep#1: skipped, the trace has no device activity",
    ),
    "negative durations": ([*step(), kernel(300, -3)], "negative duration: 1"),
    "overlapping operations": (
        [*step(), *launched(90, 5, 1, 5, 3)],
        "alone in every bound: 1 of 13",
    ),
    "duplicate correlation ids": ([*step(), call(300, 2, 3)], "duplicate correlation ids: 1"),
    "operations without a launch": (
        [*step(), kernel(232, 5)],
        "wait for what is before them alone: 1 of 13",
    ),
    "launches without an operation": (
        [*step(), call(100.5, 2, 77)],
        "launches without an operation in the trace: 1",
    ),
    "operations before their call": (
        [*step(), *launched(91, 230, 2, 229, 1)],
        "1 begun before the call: clocks disagree",
    ),
    "names with control characters": (step(name=NASTY), "ProfilerStep#1 cuda:0: framework-bound"),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_odd_is_said_beside_the_figures(kind: str, run: Run, tmp_path: Path) -> None:
    events, words = ODD[kind]
    (tmp_path / "a.json").write_bytes(trace_text(events))
    code, out, err = run(tmp_path / "a.json")
    assert (code, err) == (0, "")
    assert words in " ".join(out.split())
    for form, view in (("table", "all"), ("json", "all"), ("markdown", "all"), ("csv", "chains")):
        code, out, err = run(tmp_path / "a.json", "--view", view, "--format", form)
        assert (code, err) == (0, "")
        assert not set(out) & set("\x1b\x07\u202e")
        assert form != "markdown" or "<img" not in out


def tax(run: Run, events: list[Event], path: Path) -> tuple[float, float, float]:
    path.write_bytes(trace_text(events))
    (row,) = csv.DictReader(io.StringIO(run(path, "--format", "csv")[1]))
    value, low, high = (float(row[f"tax_{name}s"]) for name in ("", "low_", "high_"))
    return value, low, high


def test_whole_microseconds_are_a_tick_in_the_interval(run: Run, tmp_path: Path) -> None:
    """The same step on either clock; the finer one's is shifted by as little as it can show."""
    fine, low, high = tax(run, step(0.001), tmp_path / "fine.json")
    assert high - low < 0.1e-6
    coarse, low, high = tax(run, step(), tmp_path / "coarse.json")
    assert coarse == pytest.approx(fine, abs=1e-9)
    # Latency and bound each have a tick either way at most.
    assert 1e-6 < high - low < 8e-6
    assert low < coarse < high


def test_a_forward_of_five_minutes_is_invalid(run: Run, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"latency": data(300.0)}
    models = msgspec.structs.replace(
        floor_result(), kind="model_latency", cases=[case(**changes), case(mode="torchscript")]
    )
    save_result(models, tmp_path / "models.json")
    code, out, _ = run(tmp_path / "models.json", "--format", "csv")
    first, second = csv.DictReader(io.StringIO(out))
    assert (code, first["regime"], second["regime"]) == (0, "invalid", "framework-bound")
    shown = " ".join(run(tmp_path / "models.json")[1].split())
    assert "a latency of 300 s can't be right (over 100 s)" in shown


def test_an_annotation_that_is_not_there_is_told_with_those_that_are(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_bytes(GOOD)
    code, _, err = run(tmp_path / "a.json", "--annotation", "forward")
    assert code == 2
    assert "has no annotation named 'forward': it has 'ProfilerStep#1'" in err
    bare = [each for each in step() if each["cat"] != "user_annotation"]
    (tmp_path / "b.json").write_bytes(trace_text(bare))
    assert "--whole takes it whole" in run(tmp_path / "b.json", "--annotation", "forward")[2]


def test_an_annotation_for_results_alone_is_pointed_out(run: Run, tmp_path: Path) -> None:
    models = msgspec.structs.replace(floor_result(), kind="model_latency", cases=[case()])
    save_result(models, tmp_path / "models.json")
    code, _, err = run(tmp_path / "models.json", "--annotation", "forward")
    assert (code, err) == (
        0,
        "warning: --annotation is about traces, of which there is none\n",
    )
