"""The process that measures rungs of one package: ``python -m …rung_child FOLDER PIPE``."""

from __future__ import annotations

import sys

from ftax_micro.devices.contract import Device
from ftax_micro.devices.tracing import Tracer
from ftax_micro.orchestration.point import child as point_child
from ftax_micro.orchestration.point.job import PointJob
from ftax_micro.process_end import end_process
from ftax_micro.rungs.ladder import LadderDevice, load_rungs


def open_ladder(name: str, _tracer: Tracer | None) -> Device:
    """The device called `name`, with rungs for rows."""
    return LadderDevice(name)


def load_packages(job: PointJob) -> None:
    """Import what the rungs of `job` need."""
    load_rungs((point.name for point in job.points), job.device)


if __name__ == "__main__":
    end_process(point_child.main(sys.argv[1:], opener=open_ladder, loader=load_packages))
