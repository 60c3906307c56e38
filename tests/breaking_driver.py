"""Stands for `clusters.driver`: has a node, and breaks as its engine's name says."""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from ftax_micro.clusters.contract import Event, Node

engine, _, _, pipe = sys.argv[1:]
told: Connection[Any, Any] = Connection(int(pipe), readable=False)
orders: Connection[Any, Any] = Connection(0, writable=False)
if engine == "unfriendly":
    sys.exit("[2026-01-02 03:04:05,678 E 1 2] client.cc:204: No cluster of this version.")
told.send(("nodes", [Node("A", "host", "10.0.0.1", 1.0, 0.0)]))
order, node, job = orders.recv()
told.send(("event", Event(node.id, message={"what": order, **job})))
if engine == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if engine == "crashing":
    sys.exit("[2026-01-02 03:04:05,678 E 1 2] client.cc:204: The head is gone.")
try:
    orders.recv()
except EOFError:
    sys.exit(0)
