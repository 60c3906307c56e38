"""The process that talks to a cluster: ``python -m …driver ENGINE ADDRESS FOLDER PIPE``.

An engine brings threads, signal handlers and messages of its own, and may end its process when it
loses the cluster. Here that is one answer to the process in charge, which is told of everything
through the pipe and says what to do on stdin; when that ends, so do all jobs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from ftax_micro.clusters import ENGINES
from ftax_micro.clusters.contract import Cluster
from ftax_micro.errors import FtaxError

# How soon it hears what it shall do.
_EVERY_S = 0.2


def main(argv: Sequence[str]) -> int:
    """Connect, then obey until stdin ends. Returns the exit code."""
    engine, address, _, pipe = argv
    told = Connection(int(pipe), readable=False)
    orders = Connection(sys.stdin.fileno(), writable=False)
    try:
        cluster: Cluster = ENGINES.open(engine)(address)
    except FtaxError as error:
        told.send(("unavailable", (error.exit_code, str(error))))
        return error.exit_code
    try:
        told.send(("nodes", cluster.nodes()))
        _serve(cluster, orders, told)
    except (EOFError, BrokenPipeError):  # nobody is in charge any more
        return 0
    finally:
        cluster.close()
    return 0


def _serve(cluster: Cluster, orders: Connection[Any, Any], told: Connection[Any, Any]) -> None:
    while True:
        while orders.poll():
            order, *arguments = orders.recv()
            getattr(cluster, order)(*arguments)
        for event in cluster.wait(_EVERY_S):
            told.send(("event", event))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
