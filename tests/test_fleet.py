"""The run of a fleet on a cluster that says what a test wants: files, rows, exit codes."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_results import around, result, row

from ftax_micro import cli, fleet
from ftax_micro.clusters.contract import Event, Job, Message, Node
from ftax_micro.errors import OutputError
from ftax_micro.orchestration.fleet import book as books
from ftax_micro.orchestration.fleet import cluster_process
from ftax_micro.results import encode_result, load_result

A, B, C = (Node(name, "host", f"10.0.0.{i}", 1.0, 0.0) for i, name in enumerate("ABC"))
REPORT: Message = {"what": "report", "niceness": 0, "host_niceness": 0}


def floor(**changes: Any) -> bytes:
    return encode_result(result(row("call_direct", around(1e-9, 1)), **changes))


def measured(device: str = "cpu", **changes: Any) -> list[Message]:
    """A device's measurement from its beginning to its end."""
    ended = {"what": "ended", "device": device, "code": 0, "said": "", "result": floor()}
    return [{"what": "begins", "device": device}, {**ended, **changes}]


def told(*messages: Message | str, devices: Sequence[str] = ("cpu",)) -> list[Message | str]:
    """What a node tells that has these devices to measure."""
    return [REPORT, {"what": "plan", "devices": list(devices)}, *messages]


class Told:
    """A cluster whose nodes tell what they are to tell, each a message in turn; a sentence for a
    message ends the job with that as the reason, and one that has no more to tell has ended.
    """

    def __init__(self, **stories: Sequence[Message | str]) -> None:
        self._stories = {node: [*story] for node, story in stories.items()}
        self.jobs: dict[str, Job] = {}
        self.dropped: list[str] = []
        self.before: Callable[[Event], None] = lambda _: None
        self.closed = False

    def nodes(self) -> list[Node]:
        return [node for node in (A, B, C) if node.id in self._stories]

    def start(self, node: Node, job: Job) -> None:
        self.jobs[node.id] = job

    def wait(self, timeout_s: float) -> Sequence[Event]:
        events = [self._next(node) for node in self.jobs]
        told = [event for event in events if event is not None]
        for event in told:
            self.before(event)
        return told

    def _next(self, node: str) -> Event | None:
        story = self._stories[node]
        if not story:
            return Event(node)
        if story[0] == "silent":
            return None
        next_one = story.pop(0)
        if isinstance(next_one, str):
            return Event(node, error=next_one)
        return Event(node, message=next_one)

    def drop(self, node: str) -> None:
        self.dropped.append(node)

    def close(self) -> None:
        self.closed = True


class Command:
    """The command over such a cluster."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capture: Any) -> None:
        self.folder, self._patch, self._capture = folder, patch, capture

    def __call__(self, cluster: Told, *options: str) -> tuple[int, list[dict[str, Any]], str]:
        """Exit code, rows, and stderr."""

        @contextlib.contextmanager
        def opened(*_: str) -> Iterator[Told]:
            yield cluster

        self._patch.setattr(cluster_process, "open_cluster", opened)
        arguments = ["launch_floor", "-o", str(self.folder), "--format", "json", *options]
        code = cli.run(fleet.command, arguments)
        out, err = self._capture.readouterr()
        return code, json.loads(out)["nodes"] if out else [], err


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    return Command(tmp_path / "out", monkeypatch, capsys)


def brief(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((row["node_id"], row["device"], row["status"], row["reason"]) for row in rows)


def test_every_device_has_a_file_and_every_node_a_job(command: Command) -> None:
    gpus = ("cuda:0", "cuda:1")
    cluster = Told(
        A=told(*measured()), B=told(*measured("cuda:0"), *measured("cuda:1"), devices=gpus)
    )
    code, rows, err = command(cluster, "--quick")
    assert code == 0
    assert [row["file"] for row in rows] == [
        "host-cpu.json",
        "host-cuda-0.json",
        "host-cuda-1.json",
    ]
    assert cluster.jobs["A"]["arguments"] == ["--quick"]
    assert cluster.jobs["A"]["done"] == []
    assert cluster.closed
    assert err.endswith(f"ftax-micro: 2 nodes: 3 measured, in {command.folder}\n")


def test_two_nodes_of_one_name_never_share_a_file(command: Command) -> None:
    other = floor(processes=2)
    code, rows, _ = command(Told(A=told(*measured()), B=told(*measured(result=other))))
    assert code == 0
    names = {row["node_id"]: row["file"] for row in rows}
    assert names == {"A": "host-cpu.json", "B": "host-cpu-2.json"}
    assert (command.folder / names["B"]).read_bytes() == other


@pytest.mark.parametrize(
    ("story", "row", "exit_code"),
    [
        (["the node died"], (None, "failed", "the node died"), 1),
        ([REPORT, "the node died"], (None, "failed", "the node died"), 1),
        (told("the node died"), ("cpu", "failed", "the node died"), 1),
        (told(measured()[0], "the node died"), ("cpu", "failed", "the node died"), 1),
        (told(), ("cpu", "failed", "it said nothing of this device's end"), 1),
        ([REPORT, {"what": "refused", "reason": "old"}], (None, "skipped", "old"), 1),
        (
            told({"what": "refused", "device": "cpu", "reason": "none"}),
            ("cpu", "skipped", "none"),
            3,
        ),
        (told(*measured(code=3, said="gone", result=None)), ("cpu", "skipped", "gone"), 3),
        (told(*measured(code=2, said="what?", result=None)), ("cpu", "failed", "what?"), 2),
        (
            told(*measured(code=1, said="1 of 2 rows failed")),
            ("cpu", "ok", "1 of 2 rows failed"),
            1,
        ),
        (told(*measured(code=-9, said="killed")), ("cpu", "failed", "killed"), 1),
        (told(*measured(result=None)), ("cpu", "failed", "it ended without a result"), 1),
    ],
)
def test_what_goes_wrong_is_a_row_with_its_reason(
    story: list[Message | str], row: tuple[Any, ...], exit_code: int, command: Command
) -> None:
    code, rows, err = command(Told(A=story))
    assert brief(rows) == [("A", *row)]
    assert code == exit_code
    assert "Traceback" not in err


def test_rows_that_failed_are_counted_where_the_exit_code_is_theirs(command: Command) -> None:
    code, _, err = command(Told(A=told(*measured(code=1, said="...")), B=told(*measured())))
    assert code == 1
    told_last = "2 nodes: 2 measured (1 with rows that failed)"
    assert err.endswith(f"ftax-micro: {told_last}, in {command.folder}\n")


def test_one_node_that_fails_takes_nothing_from_the_others(command: Command) -> None:
    gpus = ("cuda:0", "cuda:1")
    cluster = Told(A=told(*measured()), B=told(*measured("cuda:0"), "it died", devices=gpus))
    code, rows, _ = command(cluster)
    assert code == 1
    assert brief(rows) == [
        ("A", "cpu", "ok", None),
        ("B", "cuda:0", "ok", None),
        ("B", "cuda:1", "failed", "it died"),
    ]


def test_a_result_that_is_none_is_not_kept(command: Command) -> None:
    code, rows, _ = command(Told(A=told(*measured(result=b'{"schema_version": 1'))))
    assert code == 1
    assert rows[0]["reason"].startswith("host-cpu.json: is not complete JSON")
    assert not (command.folder / "host-cpu.json").exists()


def test_an_incomplete_result_is_kept_and_measured_again(command: Command) -> None:
    part = floor(complete=False, incomplete_reason="the device hangs")
    code, rows, _ = command(Told(A=told(*measured(code=1, said="...", result=part))))
    assert (code, brief(rows)) == (1, [("A", "cpu", "failed", "the device hangs")])
    assert not load_result(command.folder / "host-cpu.json").complete
    cluster = Told(A=told(*measured()))
    code, rows, _ = command(cluster, "--resume")
    assert (code, cluster.jobs["A"]["done"]) == (0, [])
    assert [path.name for path in command.folder.glob("*.json")] == ["host-cpu.json"]
    assert load_result(command.folder / "host-cpu.json").complete


def test_what_is_there_is_not_measured_again(command: Command) -> None:
    command(Told(A=told(*measured()), B=["the node died"]))
    cluster = Told(A=told(devices=[]), B=told(*measured()))
    code, rows, _ = command(cluster, "--resume")
    assert code == 0
    assert (cluster.jobs["A"]["done"], cluster.jobs["B"]["done"]) == (["cpu"], [])
    assert brief(rows) == [("A", "cpu", "ok", "measured before"), ("B", "cpu", "ok", None)]


def test_a_node_that_is_gone_is_still_a_row_and_one_of_its_name_takes_its_place(
    command: Command,
) -> None:
    command(Told(A=told(*measured()), B=told("the node died")))
    code, rows, _ = command(Told(A=told(devices=[])), "--resume")
    gone = ("B", None, "skipped", "the node is in the cluster no more")
    assert (code, brief(rows)) == (1, [("A", "cpu", "ok", "measured before"), gone])
    for again in (told(*measured()), told(devices=[])):
        code, rows, _ = command(Told(A=told(devices=[]), C=again), "--resume")
        assert code == 0
        assert [row["node_id"] for row in rows] == ["A", "C"]
        assert [row["file"] for row in rows] == ["host-cpu.json", "host-cpu-2.json"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--quick"], "arguments [] there, ['--quick'] now"),
        (["--device", "cpu"], "device auto there, cpu now"),
        (["--together"], "together False there, True now"),
    ],
)
def test_other_settings_are_not_mixed(options: list[str], says: str, command: Command) -> None:
    command(Told(A=told(*measured())))
    code, _, err = command(Told(A=told(*measured())), "--resume", *options)
    assert code == 2
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_ledger_whose_last_line_was_not_finished(command: Command) -> None:
    command(Told(A=told(*measured())))
    ledger = command.folder / books.LEDGER
    whole = ledger.read_bytes()
    ledger.write_bytes(whole[:-20])
    code, rows, _ = command(Told(A=told(*measured())), "--resume")
    assert (code, len(rows)) == (0, 1)
    ledger.write_bytes(b"nonsense\n" + whole)
    code, _, err = command(Told(A=told(*measured())), "--resume")
    assert code == 2
    assert f"{ledger}: is no ledger of a fleet" in err


def test_one_run_at_a_time(command: Command) -> None:
    cluster = Told(A=told(*measured()))
    seen: list[str] = []

    def meanwhile(event: Event) -> None:
        if not seen:
            seen.append("")
            seen.append(command(Told(A=told(*measured())), "--resume")[2])

    cluster.before = meanwhile
    command(cluster)
    assert seen[1].endswith(f"another run writes to {command.folder}\n")


def test_a_signal_ends_the_rest_and_shows_what_arrived(command: Command) -> None:
    cluster = Told(A=told(*measured()), B=told(measured()[0], "silent"))

    def stop(event: Event) -> None:
        if event.message and event.message["what"] == "ended":
            signal.raise_signal(signal.SIGTERM)

    cluster.before = stop
    code, rows, err = command(cluster)
    assert code == 143
    assert brief(rows) == [
        ("A", "cpu", "ok", None),
        ("B", "cpu", "skipped", "stopped by SIGTERM"),
    ]
    assert "B" in cluster.dropped
    assert "ftax-micro: stopped by SIGTERM; --resume goes on from there\n" in err


def test_a_node_that_is_taken_is_not_waited_for_without_end(command: Command) -> None:
    cluster = Told(A=told(*measured()), B=["silent"])
    code, rows, _ = command(cluster, "--wait", "0.1")
    assert (code, cluster.dropped) == (1, ["B"])
    assert brief(rows)[1] == (
        "B",
        None,
        "skipped",
        "something else had its CPUs and GPUs for 0.1 s",
    )


def test_a_result_that_cannot_be_written(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OutputError("cannot write: No space left on device")

    monkeypatch.setattr(books, "save_bytes", full)
    code, rows, err = command(Told(A=told(*measured())))
    assert code == 4
    assert brief(rows) == [("A", "cpu", "failed", "cannot write: No space left on device")]
    assert "ftax-micro: error: cannot write: No space left on device\n" in err


def test_nodes_by_name(command: Command) -> None:
    code, rows, _ = command(Told(A=told(*measured()), B=told(*measured())), "--node", "10.0.0.1")
    assert (code, [row["node_id"] for row in rows]) == (0, ["B"])
    code, _, err = command(Told(A=[]), "--node", "hots", "--resume")
    assert (code, err) == (2, "ftax-micro: error: unknown node 'hots'; did you mean host?\n")


def shown(command: Command, cluster: Told, form: str) -> str:
    texts: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cli, "write_output", texts.append)
        command(cluster, "--format", form)
    (text,) = texts
    return text


def test_a_lower_priority_is_told_of(command: Command) -> None:
    report = {**REPORT, "niceness": 15}
    text = shown(command, Told(A=[report, *told(*measured())[1:]]), "table")
    assert "host was measured at a lower priority (niceness 15): set RAY_worker_niceness=0" in text


def test_nodes_on_one_machine_are_told_of(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [Node(name, "host", "10.0.0.7", 1.0, 0.0) for name in "AB"]
    cluster = Told(A=told(*measured()), B=told(*measured()))
    monkeypatch.setattr(cluster, "nodes", lambda: nodes)
    assert "2 nodes are one machine, 10.0.0.7: they measure at" in shown(command, cluster, "table")


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json"])
def test_nodes_and_their_comparison_are_shown(form: str, command: Command) -> None:
    cluster = Told(A=told(*measured()), B=told(*measured()), C=["the node died"])
    text = shown(command, cluster, form)
    assert "the node died" in text
    assert ("call_direct" in text) == (form != "csv")


def test_results_without_a_common_row_are_not_compared(command: Command) -> None:
    other = encode_result(result(row("call_python", around(1e-8, 1))))
    text = shown(command, Told(A=told(*measured()), B=told(*measured(result=other))), "table")
    assert "not compared: the results have no row in common" in text
