"""Timelines as a file: read as viewers read it, refused as a trace, and written by the command."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest
from chrome_traces import Opened, ns
from commands import Run, runner
from floor_results import US, floor_result
from hypothesis import given
from hypothesis import strategies as st
from profiler_traces import annotation, kernel, launched, trace_text
from report_results import case, empty, failed, forward, mixed, question, swept

from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.tracks.choice import choose
from ftax_micro.analysis.views.contract import Question
from ftax_micro.errors import UnreadableTraceError
from ftax_micro.records import Case
from ftax_micro.report import command
from ftax_micro.reporters.perfetto import microseconds, render_perfetto
from ftax_micro.results import save_result

EAGER = "bert_base cuda:0 fp16 batch 1 sequence 128, eager"
GRAPH = "bert_base cuda:0 fp16 batch 1 sequence 128, cuda_graph"
HOST, DEVICE = ": host calls", ": cuda:0"


def rendered(asked: Question, *, packed: bool = False) -> bytes:
    built = (each.build() for each in choose(asked).timelines)
    return render_perfetto(built, "1.2.3", packed=packed)


def opened(*cases: Case) -> Opened:
    found = msgspec.structs.replace(floor_result(), kind="model_latency", cases=list(cases))
    return Opened(rendered(question(found)))


@pytest.fixture(scope="module")
def file() -> Opened:
    return Opened(rendered(question(swept(batches=(1,), dtypes=("fp16",)))))


@given(st.integers(0, 10**15))
def test_every_nanosecond_is_read_as_itself(value: int) -> None:
    assert ns(microseconds(value)) == value
    assert microseconds(value) == pytest.approx(value / 1000, rel=1e-15)


def test_processes_are_cases_and_rows_are_layers(file: Opened) -> None:
    assert list(file.processes.values()) == [EAGER, EAGER.replace("eager", "torchscript"), GRAPH]
    assert file.rows(EAGER) == [
        *("measured", "measured" + HOST, "measured" + DEVICE),
        *("device bound", "device bound" + DEVICE),
        *("launch bound", "launch bound" + HOST, "launch bound" + DEVICE),
        *("graph bound", "graph bound" + HOST, "graph bound" + DEVICE),
        *("prediction", "prediction" + HOST, "prediction" + DEVICE),
    ]
    assert "bound of its own launch path" in file.rows(GRAPH)
    assert file.document["otherData"]["version"] == "1.2.3"


def test_measured_rows_are_what_the_pass_has(file: Opened) -> None:
    done = forward("eager", 2.0)
    for name, found in (("calls", HOST), ("operations", DEVICE)):
        stretches, truth = file.track(EAGER, "measured" + found), getattr(done, name)
        assert [each["name"] for each in stretches] == [each.name for each in truth]
        assert [each["dur"] for each in stretches] == [
            pytest.approx(each.duration_s[0] / US) for each in truth
        ]
    operations = file.track(EAGER, "measured" + DEVICE)
    assert [each["cat"] for each in operations] == ["gpu_memcpy", *["kernel"] * 23]
    assert operations[1]["args"] == {
        **{"duration_us": 2.0, "duration_least_us": 2.0, "duration_most_us": 2.0},
        **{"correlation": 1, "launch_delay_us": 1.0},
        **{"grid": [8, 1, 1], "block": [128, 1, 1]},
        **{"registers per thread": 32, "shared memory": 0},
    }


def test_a_schedule_is_over_at_its_bound(file: Opened) -> None:
    for title in ("device bound", "launch bound", "graph bound"):
        whole, sync = file.track(EAGER, title)
        end = ns(whole["dur"])
        assert (ns(whole["ts"]), ns(sync["ts"]) + ns(sync["dur"])) == (0, end)
        assert whole["args"]["bound_us"] == pytest.approx(end / 1000, abs=1e-3)
        last = max(ns(e["ts"]) + ns(e["dur"]) for e in file.track(EAGER, title + DEVICE))
        assert last == ns(sync["ts"])
        assert {each["cat"] for each in file.track(EAGER, title + DEVICE)} == {"bound"}
    (measured,) = file.track(EAGER, "measured")
    assert measured["args"]["regime"] == "framework-bound"
    assert measured["args"]["tax_us"] > 0


def test_flows_lead_from_calls_to_what_they_caused(file: Opened) -> None:
    number: dict[tuple[str, str, str], int] = {}
    for flow in file.of("s"):
        start, end = (file.ends[flow["id"], phase] for phase in "sf")
        rows = [file.full((each["pid"], each["tid"])) for each in (start, end)]
        assert rows[0][0] == rows[1][0]
        layer = rows[0][1].removesuffix(HOST)
        assert (rows[0][1], rows[1][1]) == (layer + HOST, layer + DEVICE)
        assert start["ts"] < end["ts"]
        key = rows[0][0], layer, "flows"
        number[key] = number.get(key, 0) + 1
    assert number[EAGER, "measured", "flows"] == 24
    assert number[EAGER, "launch bound", "flows"] == 24
    assert number[EAGER, "graph bound", "flows"] == 1  # nodes follow by themselves
    assert number[GRAPH, "measured", "flows"] == 24
    assert (EAGER, "device bound", "flows") not in number


def test_the_queue_fills_and_empties(file: Opened) -> None:
    (graph,) = (pid for pid, name in file.processes.items() if name == GRAPH)
    depths = [e["args"]["operations"] for e in file.of("C") if e["pid"] == graph]
    assert depths == list(range(24, -1, -1))


def test_texts_stay_text() -> None:
    name = '</script><b>\x00\x1b[2J"\\\n\u2028\ud800 größer'
    done = forward("eager", 2.0, operations=3)
    odd = [msgspec.structs.replace(each, name=name) for each in done.operations]
    named = msgspec.structs.replace(done, operations=odd)
    found = opened(case("eager", model=name, device_pass=named))
    told = '</script><b>\\x00\\x1b[2J"\\\\n\\u2028\\ud800 größer'
    (process,) = found.processes.values()
    assert process == f"{told} cuda:0 fp16 batch 1 sequence 128, eager"
    assert {each["name"] for each in found.track(process, "measured" + DEVICE)} == {told}


def test_clocks_that_disagree_move_the_whole_forward() -> None:
    done = forward("eager", 2.0, operations=3)
    early = [
        msgspec.structs.replace(each, start_s=[start - 20 * US for start in each.start_s])
        for each in done.operations
    ]
    found = opened(case("eager", device_pass=msgspec.structs.replace(done, operations=early)))
    (process,) = found.processes.values()
    assert found.track(process, "measured" + DEVICE)[0]["ts"] == 0
    (measured,) = found.track(process, "measured")
    assert measured["ts"] == measured["args"]["begins_at_us"] == 6.0
    assert found.track(process, "launch bound")[0]["ts"] == 6.0


def test_the_same_timelines_are_the_same_bytes() -> None:
    built = [each.build() for each in choose(question(mixed())).timelines]
    plain = render_perfetto(built, "1.2.3", packed=False)
    packed = render_perfetto(built, "1.2.3", packed=True)
    assert packed == render_perfetto(built, "1.2.3", packed=True)
    assert gzip.decompress(packed) == plain
    assert len(packed) < len(plain) / 8
    with pytest.raises(UnreadableTraceError, match=r"^a\.json is a timeline that report wrote"):
        read_pytorch_trace(packed, "a.json")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(command, capsys)


def arguments(*files: Path, output: Path) -> tuple[object, ...]:
    return (*files, "--format", "perfetto", "-o", output)


def test_the_command_writes_results_and_traces(run: Run, tmp_path: Path) -> None:
    save_result(mixed(), tmp_path / "models.json")
    many = [each for n in range(1, 14) for each in launched(n, 30 * n, 5, 30 * n + 9, 12, tid=10)]
    many += [kernel(1, 3, 99, stream=9), annotation("ProfilerStep#1", 0, 500)]
    (tmp_path / "trace.json").write_bytes(trace_text(many))
    output = tmp_path / "timeline.json.gz"
    code, out, err = run(
        *arguments(tmp_path / "models.json", tmp_path / "trace.json", output=output)
    )
    assert (code, out) == (0, "")
    assert err.splitlines()[-1] == f"saved 3 timelines in {output}"
    assert "left out: models.json: 1 case has no device pass: skipped, not here" in err
    found = Opened(output.read_bytes())
    sources = [name.rpartition(" ")[2] for name in found.processes.values()]
    assert sources == ["(models.json)", "(models.json)", "(trace.json)"]
    again = run(*arguments(tmp_path / "models.json", output=output))
    assert again[0] == 2
    assert "--force" in again[2]
    chosen = run(
        *arguments(tmp_path / "models.json", output=output), "--force", "--only", "batch 2 "
    )
    assert chosen[0] == 0
    assert len(Opened(output.read_bytes()).processes) == 1


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (empty(), "a.json: it has no cases"),
        (failed(), "a.json: 1 case has no device pass: failed, no operator"),
    ],
)
def test_nothing_to_write_is_one_line(result: Any, words: str, run: Run, tmp_path: Path) -> None:
    save_result(result, tmp_path / "a.json")
    output = tmp_path / "b.json"
    code, out, err = run(*arguments(tmp_path / "a.json", output=output))
    assert (code, out) == (4, "")
    assert err == f"ftax-micro: error: nothing was written to {output}: {words}\n"
    assert not output.exists()


@pytest.mark.parametrize(
    ("given_", "code", "words"),
    [
        (["-o", "/nowhere/b.json", "--format", "perfetto"], 4, "cannot write"),
        (["-o", "b.html", "--only", "x"], 2, "--only chooses timelines"),
        (["-o", ".", "--format", "perfetto"], 2, "is a folder"),
    ],
)
def test_wrong_usage_is_one_line(
    given_: list[str],
    code: int,
    words: str,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended, out, err = run("a.json", *given_)
    assert (ended, out, err.count("\n")) == (code, "", 1)
    assert words in err
