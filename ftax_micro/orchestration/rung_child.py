"""The process that measures rungs of one package: ``python -m …rung_child FOLDER PIPE``."""

from __future__ import annotations

import sys

from ftax_micro.devices.contract import Device
from ftax_micro.devices.tracing import Tracer
from ftax_micro.orchestration.point import child as point_child
from ftax_micro.rungs.ladder import LadderDevice


def open_ladder(name: str, _tracer: Tracer | None) -> Device:
    """The device called `name`, with rungs for rows."""
    return LadderDevice(name)


if __name__ == "__main__":
    sys.exit(point_child.main(sys.argv[1:], opener=open_ladder))
