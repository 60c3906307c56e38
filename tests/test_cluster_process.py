"""A cluster through another process, which may end at any time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from ftax_micro.clusters.contract import ClusterUnavailableError, Event
from ftax_micro.errors import UnknownNameError
from ftax_micro.orchestration.fleet import cluster_process
from ftax_micro.orchestration.fleet.cluster_process import ClusterProcess, EngineError, open_cluster


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setattr(cluster_process, "_DRIVER", "breaking_driver")


def events(cluster: ClusterProcess, count: int) -> Sequence[Event]:
    found: list[Event] = []
    while len(found) < count:
        found += cluster.wait(1.0)
    return found


@pytest.mark.usefixtures("breaking")
@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        ("killed", "its process was killed by signal 9 (SIGKILL)"),
        ("crashing", "The head is gone."),
    ],
)
def test_jobs_end_with_the_process_that_talks_to_the_cluster(engine: str, reason: str) -> None:
    with open_cluster(engine, "anywhere") as cluster:
        (node,) = cluster.nodes()
        cluster.start(node, {"job": 1})
        told, ended = events(cluster, 2)
        assert told.message == {"what": "start", "job": 1}
        assert ended == Event("A", error=f"the connection to the cluster broke: {reason}")
        cluster.drop("A")  # nobody to tell
        assert cluster.wait(0.01) == []


@pytest.mark.usefixtures("breaking")
def test_the_process_ends_with_the_run() -> None:
    with open_cluster("patient", "anywhere") as cluster:
        (node,) = cluster.nodes()
        cluster.start(node, {})
        (told,) = events(cluster, 1)
        assert told.message == {"what": "start"}
        child = cluster._child.process
    assert child.wait(0) == 0


@pytest.mark.usefixtures("breaking")
def test_an_engine_that_ends_before_it_has_a_cluster() -> None:
    with (
        pytest.raises(ClusterUnavailableError, match="no cluster at anywhere: No cluster of this"),
        open_cluster("unfriendly", "anywhere"),
    ):
        pass


def test_what_an_engine_says_against_it_keeps_its_exit_code() -> None:
    with (
        pytest.raises(EngineError, match="unknown engine 'nosuch'") as raised,
        open_cluster("nosuch", "anywhere"),
    ):
        pass
    assert raised.value.exit_code == UnknownNameError.exit_code
