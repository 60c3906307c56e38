"""The scripts in bench/ run end to end, and their files and tables say what was measured.

Nothing here asserts a time or a ratio's size: targets are for an idle machine and are not enforced.
"""

from __future__ import annotations

import functools
import json
import math
import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from bench_scripts import BENCH

from ftax_micro.records import Case, Data, DeviceState, Plan

OPTIONS = {
    "loop_overhead": [],
    "peers": [],
    "repeatability": ["--command", "launch_floor", "--runs", "2", "--probe", "call_extension"],
    "import_cost": [],
    "cuda_wall": ["--probe", "submit"],
    "latency_accuracy": [],
    "latency_peers": [],
    "launch_peers": [],
    "report_page": [],
    "pools": [],
    "fleet_overhead": [],
}


def run(script: str, output: Path, *options: str) -> tuple[dict[str, Any], str]:
    command = [sys.executable, str(BENCH / f"{script}.py"), "--quick", "-o", str(output)]
    done = subprocess.run(
        [*command, *OPTIONS[script], *options],
        capture_output=True,
        text=True,
        check=False,
        # A GPU, where there is one, has no part in this.
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(output.read_text()), done.stdout


def check_row(row: dict[str, Any]) -> None:
    """A row that did not run has its reason; one that did, samples its figures follow from."""
    if row["status"] != "ok":
        assert row["status"] == "skipped"
        assert row["reason"]
        return
    series = list(row["samples"].values())
    assert series
    if "all" in row["samples"]:  # beside what undisturbed samples of these runs give
        assert 0 < len(row["samples"]["ours"]) <= len(row["samples"]["all"])
    else:
        assert len({len(values) for values in series}) == 1
    assert all(value > 0 and math.isfinite(value) for values in series for value in values)
    for figure in row["figures"]:
        if figure["low"] is not None:
            assert figure["low"] <= figure["value"] <= figure["high"]
        if figure["what"] == "ratio":
            logs = [math.log(a / b) for a, b in zip(*series, strict=True)]
            assert figure["value"] == pytest.approx(math.exp(statistics.median(logs)), rel=1e-6)


@pytest.mark.parametrize("script", OPTIONS)
def test_script_measures_and_writes(
    script: str, tmp_path: Path, bench: Any, request: pytest.FixtureRequest
) -> None:
    options = []
    cache = getattr(request.config, "cache", None)
    if script in {"loop_overhead", "cuda_wall"} and cache is not None:
        options = ["--fake-dir", str(cache.mkdir("fake_cuda"))]
    output = tmp_path / "out.json"
    report, table = run(script, output, *options)
    assert report["bench"] == script
    assert report["quick"] is True
    assert report["machine"]["python"]
    assert report["rows"]
    for row in report["rows"]:
        check_row(row)
        assert f"| {row['name']} |" in table
    assert bench("rows").decode(output.read_bytes()).rows  # the file's own types hold


def test_launch_peers_without_a_gpu_skips_every_peer(tmp_path: Path) -> None:
    report, _ = run("launch_peers", tmp_path / "out.json")
    assert {row["status"] for row in report["rows"]} == {"skipped"}
    assert any("CUDA C++" in row["name"] for row in report["rows"])


NOISE = np.random.default_rng(1).uniform(0, 6, 10_000).tolist()


class PlayedPeer:
    """Stands for optimum-benchmark, which times a forward that takes 2 ms and noise."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[int, float]] = []

    def __call__(self, iterations: int, duration_s: float) -> Any:
        self.asked.append((iterations, duration_s))
        samples = [2e-3 + 1e-4 * noise for noise in NOISE[:iterations]]
        return self.answer(samples, sum(samples))


def test_a_peer_s_latencies_are_compared_with_as_many_of_ours(bench: Any) -> None:
    peers = bench("latency_peers")
    peer = PlayedPeer(peers.Answer)
    rows = peers.same_samples(lambda: sum(range(2000)), peer, blocks=3, seconds=2e-3)
    assert len(peer.asked) == 3
    ((count, duration_s),) = set(peer.asked)
    assert count % 50 == 0  # whole blocks, or ours would have more
    assert duration_s == 0
    for row in rows:
        check_row(msgspec.to_builtins(row))
    latency, inverse = rows[:2]
    assert set(latency.samples) == set(inverse.samples) == {"ours", peers.PEER}
    assert latency.figures[0].value == pytest.approx(1 / inverse.figures[0].value)
    assert all(2e-3 <= value <= 2.6e-3 for value in latency.samples[peers.PEER])


def test_blocks_without_an_interval_are_left_out_of_the_widths(bench: Any) -> None:
    peers = bench("latency_peers")
    answer = peers.Answer([9.0 + noise for noise in NOISE[:100]], 3.0)
    few = peers.Answer([1.0, 2.0], 3.0)
    assert 0 < answer.half_width < 1
    assert math.isnan(few.half_width)
    row = peers.widths("x", {"ours": [answer, few, answer], peers.PEER: [answer, answer, few]})
    assert row.samples == {"ours": [answer.half_width], peers.PEER: [answer.half_width]}
    none = peers.widths("x", {"ours": [few], peers.PEER: [few]})
    assert (none.status, none.reason) == ("skipped", "there were too few samples for an interval")


def test_an_answer_by_its_own_rule_tells_its_width(bench: Any) -> None:
    peers = bench("latency_peers")
    peer = PlayedPeer(peers.Answer)
    plan = Plan(min_samples=8, max_samples=8, min_time_s=0.0, timeout_s=5.0, quick=True)
    row = peers.own_rules(lambda: sum(range(2000)), peer, 2, plan, 0.5)
    check_row(msgspec.to_builtins(row))
    assert peer.asked == [(10, 0.5)] * 2
    assert row.facts["samples, ours"] >= 8
    assert row.facts[f"samples, {peers.PEER}"] == 10
    assert row.facts[f"half-width, {peers.PEER}"] > 0


def test_all_benches_end_in_one_file_and_the_readme(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all = bench("run_all")
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- table: begin -->\nold\n<!-- table: end -->\nafter\n")
    monkeypatch.setattr(run_all, "SCRIPTS", ("import_cost",))
    monkeypatch.setattr(run_all, "README", readme)
    monkeypatch.setattr(run_all, "RESULTS", tmp_path)
    output = tmp_path / "here-bench.json"
    assert run_all.main(["--quick", "--readme", "-o", str(output)]) == 0
    reports = json.loads(output.read_text())
    assert [report["bench"] for report in reports] == ["import_cost"]
    table = capsys.readouterr().out.strip()
    assert "| import ftax_micro |" in table
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert table in text
    assert "old" not in text


def test_what_a_single_script_wrote_takes_the_place_of_what_it_wrote_before(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all, rows = bench("run_all"), bench("rows")
    monkeypatch.setattr(run_all, "RESULTS", tmp_path)

    def wrote(script: str, value: float) -> Path:
        file = tmp_path / f"{script}.json"
        machine = {"cpu": "A CPU", "logical_cpus": 2, "gpus": [], "os": "Linux", "python": "3.11"}
        row = rows.Row(name=f"{script} {value}", samples={"ours": [value]})
        report = rows.Report(
            bench=script,
            created_at="2026-01-01",
            quick=False,
            machine=machine,
            settings={},
            rows=[row],
        )
        file.write_bytes(rows.encode(report))
        return file

    first = [wrote("latency_peers", 1.0), wrote("loop_overhead", 2.0)]
    assert run_all.main(["--add", *map(str, first)]) == 0
    assert run_all.main(["--add", str(wrote("latency_peers", 3.0))]) == 0
    (published,) = tmp_path.glob("*-bench.json")
    names = [row.name for report in run_all.read(published) for row in report.rows]
    assert names == ["loop_overhead 2.0", "latency_peers 3.0"]
    assert "latency_peers 3.0" in capsys.readouterr().out
    (tmp_path / "other.json").write_text('{"rows": 3}')
    for name in ("missing.json", "other.json"):
        assert run_all.main(["--add", str(tmp_path / name)]) == 2
        assert capsys.readouterr().err.startswith("run_all: ")


def figure(bench: Any, low: float | None, high: float | None, limit: float | None) -> Any:
    value = 1.0 if low is None or high is None else (low + high) / 2
    make = bench("rows").Figure
    return make(what="ratio", unit="ratio", value=value, low=low, high=high, limit=limit)


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ([], None),
        ([(0.9, 1.1, None)], None),
        ([(0.9, 1.1, 1.1)], "met"),
        ([(0.9, 1.1, 1.0)], "undecided"),
        ([(0.9, 1.1, 0.8)], "not met"),
        ([(None, None, 2.0)], "undecided"),
        ([(0.9, 1.1, 0.8), (0.9, 1.1, 1.2)], "met"),  # alternatives
        ([(0.9, 1.1, 0.8), (0.9, 1.1, 1.0)], "undecided"),
    ],
)
def test_verdict_needs_the_whole_interval(
    bench: Any, figures: list[tuple[float | None, float | None, float | None]], expected: str | None
) -> None:
    rows = bench("rows")
    row = rows.Row(name="x", figures=[figure(bench, *numbers) for numbers in figures])
    assert rows.verdict(row) == expected


def test_the_spread_of_a_mode_is_that_of_its_medians(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = bench("latency_repeatability")
    case = functools.partial(Case, model="m", device="cpu", dtype="fp32")
    runs = iter([2.0, 2.2, 2.1])
    quiet, slowed = (DeviceState(fixed_work_s={"0": work_s}) for work_s in (1e-9, 2e-9))

    def measured(_chosen: object) -> list[Case]:
        # Twenty forwards as they are, and as many that a neighbour slowed.
        samples = [next(runs)] * 20 + [9.0] * 20
        data = Data(estimate="median", stop_reason="interval", samples=samples)
        states = [(quiet, quiet), (quiet, slowed)]
        return [
            case(mode="eager", status="ok", latency=data, blocks=[20, 20], states=states),
            case(mode="other", status="skipped", reason="not here"),
        ]

    monkeypatch.setattr(script, "cases_of", measured)
    eager, other = script.repeated(3, 9, [])
    assert eager.samples["ours"] == [2.0, 2.2, 2.1]
    assert eager.samples["all"] == pytest.approx([5.5, 5.6, 5.55])
    assert [each.what for each in eager.figures] == ["spread of 3 undisturbed", "of all 3"]
    assert eager.figures[0].value == pytest.approx(0.1)
    assert bench("rows").verdict(eager) == "not met"
    assert (other.status, other.reason) == ("skipped", "not here")


def test_runs_go_on_until_enough_are_undisturbed_or_they_are_stopped(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = bench("latency_repeatability")
    works = iter([1e-9, 2e-9, 2e-9, 1e-9])

    def measured(_chosen: object) -> list[Case]:
        state = next(works, None)
        if state is None:
            signal.raise_signal(signal.SIGTERM)
        quiet = DeviceState(fixed_work_s={"0": state or 0.0})
        data = Data(estimate="median", stop_reason="interval", samples=[2.0] * 20)
        case = functools.partial(Case, model="m", mode="eager", device="cpu", dtype="fp32")
        return [case(status="ok", latency=data, blocks=[20], states=[(quiet, quiet)])]

    monkeypatch.setattr(script, "cases_of", measured)
    (row,) = script.repeated(2, 9, [])
    assert [each.what for each in row.figures] == ["spread of 2 undisturbed", "of all 4"]
    with pytest.raises(RuntimeError, match="stopped before a run was done"):
        script.repeated(2, 9, [])
    works = iter([1e-9, 2e-9])
    (row,) = script.repeated(2, 9, [])
    assert [each.what for each in row.figures] == ["of all 2"]


def test_patience_ends_with_three_quiet_looks_in_a_row_or_when_it_is_over(bench: Any) -> None:
    quiet, slowed = [1.0, 2.0], [1.0, 2.3]  # each core by its own fastest
    first = [*[slowed] * 9, quiet]
    slept: list[float] = []

    def waits(*looks: list[float], patience_s: float = 10.0) -> tuple[bool, int]:
        left = iter([*first, *looks])
        slept.clear()
        script = bench("quiet")
        return script.Quiet(patience_s, lambda: next(left), slept.append).wait(), len([*left])

    assert waits(quiet, slowed, quiet, quiet, quiet, slowed) == (True, 1)
    assert slept == [0.5] * 4
    assert waits(*[slowed] * 20) == (False, 0)
    assert waits(patience_s=0) == (False, 10)  # nobody looks


def test_blocks_turn_the_order_round_and_drop_warm_up(bench: Any) -> None:
    calls: list[str] = []

    def probe(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    probes = {"a": lambda: probe("a"), "b": lambda: probe("b")}
    samples = bench("common").interleave(probes, 3)
    assert calls == list("abbaabba")
    assert samples == {"a": [4.0, 5.0, 8.0], "b": [3.0, 6.0, 7.0]}


def test_file_keeps_what_was_measured(bench: Any) -> None:
    rows = bench("rows")
    row = rows.Row(
        name="x", samples={"ours": [1.25e-9, 2.5e-9]}, figures=[figure(bench, 0.9, 1.1, 1.0)]
    )
    report = rows.Report(
        bench="b",
        created_at="2026-01-01",
        quick=False,
        machine={"cpu": "c"},
        settings={},
        rows=[row],
    )
    assert rows.decode(rows.encode(report)) == report


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        ({"gpus": ["NVIDIA H200, driver 580.1"], "cpu": "x"}, "h200"),
        ({"gpus": [], "cpu": "Intel(R) Xeon(R) Processor @ 2.50GHz"}, "intel-xeon-2.50ghz"),
        ({"gpus": [], "cpu": None}, "unknown"),
    ],
)
def test_machine_name_is_a_file_name(bench: Any, facts: dict[str, Any], name: str) -> None:
    assert bench("common").machine_name(facts) == name
