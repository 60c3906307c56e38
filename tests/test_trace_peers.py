"""bench/trace_peers.py: its traces are as they should be, and HTA says the same of them."""

from __future__ import annotations

import gzip
import importlib.util
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_scripts import BENCH

from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.traces.windows import profiler_steps


@pytest.fixture
def texts(bench: Any) -> Any:
    return bench("trace_texts")


@pytest.fixture
def peers(bench: Any) -> Any:
    return bench("trace_peers")


@pytest.fixture
def short(texts: Any, tmp_path: Path) -> Path:
    path = tmp_path / "short.json.gz"
    texts.write_synthesised(path, 4_000)
    return path


def test_what_is_synthesised_is_a_trace_with_nothing_odd_about_it(texts: Any, short: Path) -> None:
    trace = read_pytorch_trace(short)
    assert trace.findings == trace.not_understood == {}
    assert len(profiler_steps(trace)) == 2
    correlation = correlate(trace)
    assert correlation.matched.all()
    assert not correlation.findings
    events = json.loads(gzip.decompress(short.read_bytes()))["traceEvents"]
    assert texts.count_events(short) == len(events)
    counted = sum(map(len, (trace.operations, trace.calls, trace.spans)))
    assert counted + sum(trace.not_needed.values()) == len(events)
    ends = [(e["ts"], e["ts"] + e["dur"]) for e in events if e.get("cat") == "kernel"]
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(ends))


def test_repetitions_go_on_where_the_first_ended(texts: Any, short: Path, tmp_path: Path) -> None:
    long = tmp_path / "long.json.gz"
    texts.write_repeated(short, long, 3)
    one, three = read_pytorch_trace(short), read_pytorch_trace(long)
    assert texts.count_events(long) == 3 * texts.count_events(short)
    assert len(three.operations) == 3 * len(one.operations)
    assert len({window.label for window in profiler_steps(three)}) == 6
    assert correlate(three).matched.all()
    assert len(np.unique(three.calls.correlation)) == len(three.calls)
    assert three.operations.duration_ns.sum() == 3 * one.operations.duration_ns.sum()
    gaps = np.diff(three.operations.start_ns)
    assert (gaps >= 1_000_000_000).sum() == 2


def test_both_are_asked_for_the_same(peers: Any, short: Path, tmp_path: Path) -> None:
    found = peers.run("ours", short)
    trace = read_pytorch_trace(short)
    last = profiler_steps(trace)[-1].begin_ns
    assert found["launches"] == (trace.calls.start_ns[correlate(trace).call] < last).sum()
    assert 0 < found["busy_s"] < last * 1e-9
    assert min(found["wall_s"], found["cpu_s"], found["delay_s"]) > 0
    assert 10 << 20 < found["peak_bytes"] < 1 << 30


@pytest.mark.skipif(
    importlib.util.find_spec("hta") is None, reason="HolisticTraceAnalysis is not installed"
)
def test_hta_says_the_same_of_what_both_define(peers: Any, short: Path) -> None:
    rows = peers.equal("it", {who: [peers.run(who, short)] for who in ("ours", peers.PEER)})
    assert [row.status for row in rows] == ["ok"] * 3
    for row in rows:
        ours, theirs = (values[0] for values in row.samples.values())
        assert ours == pytest.approx(theirs, rel=1e-9)


def test_without_hta_its_rows_say_so(peers: Any, tmp_path: Path) -> None:
    """In a process that finds no package of that name."""
    hide = "import importlib.util as u, sys; f = u.find_spec;"
    hide += "u.find_spec = lambda name, *a: None if name == 'hta' else f(name, *a);"
    script = f"{hide} import trace_peers; trace_peers.main(['--quick', '-o', sys.argv[1]])"
    output = tmp_path / "out.json"
    command = [sys.executable, "-c", script, str(output)]
    subprocess.run(command, cwd=BENCH, check=True, capture_output=True)
    rows = json.loads(output.read_text())["rows"]
    assert [row["status"] for row in rows] == ["skipped", "skipped", "ok"]
    assert "not installed" in rows[0]["reason"]
    assert rows[2]["figures"][0]["value"] > 0
