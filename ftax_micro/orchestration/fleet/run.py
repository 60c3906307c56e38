"""The run of a fleet: jobs out, results in, one row for everything that was to be."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ftax_micro.clusters.contract import Cluster, Event, Job, Message, Node
from ftax_micro.errors import DeviceUnavailableError, OutputError, UnreadableResultError
from ftax_micro.orchestration.fleet.book import Book
from ftax_micro.orchestration.fleet.outcomes import Outcome
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.records import Status

# How soon a signal is heard.
_EVERY_S = 0.2
# Exit codes of a command that went its way to the end; a row of it may have failed.
_WITH_A_RESULT = (0, 1)


class Progress(Protocol):
    """Is told what happens on the nodes."""

    def node_begins(self, node: Node) -> None:
        """A job was sent."""

    def node_does(self, node: Node, what: str) -> None:
        """What it does now."""

    def node_ends(self, node: Node) -> None:
        """Nothing more comes of it."""

    def saved(self, node: Node, device: str, name: str) -> None:
        """A result has arrived."""


@dataclass
class _State:
    """One node whose job goes on: the devices that are still to come, once it said which, and those
    that are measured now.
    """

    node: Node
    since_s: float
    reported: bool = False
    missing: list[str] | None = None
    begun: list[str] = field(default_factory=list)


class FleetRun:
    """`job` on each of `nodes`, each told what is done there already.

    A node that is not free within `wait_s` is skipped. `outcomes` and `notes` grow while it runs.
    """

    def __init__(
        self,
        cluster: Cluster,
        nodes: Sequence[Node],
        job: Job,
        book: Book,
        *,
        wait_s: float,
        interrupts: Interrupts,
        progress: Progress,
    ) -> None:
        self._cluster, self._nodes, self._job, self._book = cluster, nodes, job, book
        self._wait_s, self._interrupts, self._progress = wait_s, interrupts, progress
        self._states: dict[str, _State] = {}
        self.outcomes: list[Outcome] = []
        self.notes: list[str] = []
        self.unwritten: OutputError | None = None

    def run(self) -> None:
        """Until everything has an outcome. Errors: `OutputError` where the ledger is full."""
        self._book.add_nodes(self._nodes)
        for entry in self._book.gone(self._nodes):
            what = Outcome(entry.node, entry.host, "", "skipped", entry.device, entry.file)
            whole = self._book.result(entry) is not None
            reason = "measured before" if whole else "the node is in the cluster no more"
            self.outcomes.append(replace(what, status="ok" if whole else "skipped", reason=reason))
        self._tell_of_neighbours()
        for node in self._nodes:
            self._start(node)
        while self._states and not self._interrupts.pending:
            for event in self._cluster.wait(_EVERY_S):
                if event.node in self._states:
                    self._take(self._states[event.node], event)
            self._give_up_waiting()
        if self._interrupts.pending:
            for state in list(self._states.values()):
                self._cluster.drop(state.node.id)
                self._end(state, "skipped", str(self._interrupts.pending))

    def _tell_of_neighbours(self) -> None:
        """An engine takes its word for it that nodes are machines of their own."""
        for address, count in Counter(node.address for node in self._nodes).items():
            if count > 1:
                self.notes.append(
                    f"{count} nodes are one machine, {address}: they measure at the same time and "
                    "take from each other"
                )

    def _start(self, node: Node) -> None:
        done = self._book.done(node.id)
        for device in done:
            name = self._book.begin(node, device)
            self._settle(node, "ok", device=device, file=name, reason="measured before")
        self._states[node.id] = _State(node, time.monotonic())
        self._progress.node_begins(node)
        self._cluster.start(node, {**self._job, "done": list(done)})

    def _take(self, state: _State, event: Event) -> None:
        if event.message is None:
            self._end(state, "failed", event.error or "it said nothing of this device's end")
        else:
            getattr(self, f"_on_{event.message['what']}")(state, event.message)

    def _on_report(self, state: _State, message: Message) -> None:
        state.reported = True
        self._progress.node_does(state.node, "starting")
        own, engine = message["niceness"], message["host_niceness"]
        if own is not None and engine is not None and own > engine:
            self.notes.append(
                f"{state.node.host} was measured at a lower priority (niceness {own}): set "
                "RAY_worker_niceness=0 where its `ray start` runs"
            )

    def _on_plan(self, state: _State, message: Message) -> None:
        state.missing = message["devices"]

    def _on_refused(self, state: _State, message: Message) -> None:
        device = message.get("device")
        self._settle(
            state.node,
            "skipped",
            device=device,
            reason=message["reason"],
            code=DeviceUnavailableError.exit_code if device else None,
        )
        state.missing = [name for name in state.missing or () if name != device]

    def _on_begins(self, state: _State, message: Message) -> None:
        state.begun.append(message["device"])
        self._book.begin(state.node, message["device"])
        self._progress.node_does(state.node, ", ".join(state.begun))

    def _on_ended(self, state: _State, message: Message) -> None:
        device, code = message["device"], message["code"]
        outcome = self._kept(state.node, message)
        if outcome.status == "failed" and code == DeviceUnavailableError.exit_code:
            outcome = replace(outcome, status="skipped")
        self.outcomes.append(replace(outcome, code=code))
        state.begun.remove(device)
        state.missing = [name for name in state.missing or () if name != device]

    def _kept(self, node: Node, message: Message) -> Outcome:
        """What became of a measurement that ended, its result saved where there is one."""
        device, content = message["device"], message["result"]
        said = message["said"] if message["code"] else None
        bare = Outcome(node.id, node.host, node.address, "failed", device, reason=said)
        if content is None or message["code"] not in _WITH_A_RESULT:
            return replace(bare, reason=said or "it ended without a result")
        name = self._book.begin(node, device)
        try:
            result = self._book.save(name, content)
        except UnreadableResultError as error:
            return replace(bare, reason=str(error))
        except OutputError as error:
            self.unwritten = error
            return replace(bare, reason=str(error))
        self._progress.saved(node, device, name)
        if not result.complete:
            return replace(bare, file=name, reason=result.incomplete_reason)
        return replace(bare, status="ok", file=name)

    def _end(self, state: _State, status: Status, reason: str) -> None:
        """The job has ended; what it was at, or all of it, has not."""
        del self._states[state.node.id]
        self._progress.node_ends(state.node)
        for device in [None] if state.missing is None else state.missing:
            self._settle(state.node, status, device=device, reason=reason)

    def _give_up_waiting(self) -> None:
        limit_s = time.monotonic() - self._wait_s
        late = [s for s in self._states.values() if not s.reported and s.since_s < limit_s]
        for state in late:
            self._cluster.drop(state.node.id)
            reason = f"something else had its CPUs and GPUs for {self._wait_s:g} s"
            self._end(state, "skipped", reason)

    def _settle(
        self,
        node: Node,
        status: Status,
        *,
        device: str | None = None,
        file: str | None = None,
        reason: str | None = None,
        code: int | None = None,
    ) -> None:
        self.outcomes.append(
            Outcome(node.id, node.host, node.address, status, device, file, reason, code)
        )
