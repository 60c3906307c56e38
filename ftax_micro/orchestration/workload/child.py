"""The process that measures a workload for another: ``python -m …workload_child FOLDER PIPE``.

It ends when the one who waits for it does, and where memory runs out it is the one to go.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ftax_micro.models.contract import Shape
from ftax_micro.models.request import parse_model
from ftax_micro.orchestration.child_process import end_with_parent
from ftax_micro.orchestration.workload.job import (
    Message,
    Stands,
    WorkloadJob,
    encode_message,
    read_job,
)
from ftax_micro.orchestration.workload.memory import be_first_to_go
from ftax_micro.orchestration.workload.request import WorkloadRequest
from ftax_micro.orchestration.workload.session import WorkloadSession
from ftax_micro.process_end import end_process
from ftax_micro.profilers import TRACERS

# What the device does is read from NVIDIA's own records, those of graphs and other runtimes too.
_TRACER = "cupti"


def main(arguments: Sequence[str]) -> int:
    """Measure the job in the folder and tell through the pipe; 0 once it is done."""
    folder, pipe = Path(arguments[0]), int(arguments[1])
    os.set_inheritable(pipe, False)  # or a compiler's helper would hold it open
    be_first_to_go()
    end_with_parent(_leave)
    faulthandler.register(signal.SIGUSR1)  # where it hangs, for the log
    logging.basicConfig(stream=sys.stderr, format="%(name)s: %(message)s")
    logging.getLogger("ftax_micro").setLevel(logging.INFO)

    def tell(message: Message) -> None:
        if isinstance(message, Stands):
            message = msgspec.structs.replace(message, said=os.fstat(2).st_size)
        rest = memoryview(encode_message(message))
        while rest:
            rest = rest[os.write(pipe, rest) :]

    job = read_job(folder)
    sys.path += [path for path in job.paths if path not in sys.path]
    session = WorkloadSession(
        request_of(job), job.modes, job.plan, tell, job.known, count=job.count
    )
    if job.part == "solo":
        session.run_alone()
    elif job.part == "device":
        session.run_traced(TRACERS.open(_TRACER).start)
    else:
        session.run()
    return 0


def request_of(job: WorkloadJob) -> WorkloadRequest:
    """The workload that `job` names."""
    shape = Shape(job.batch, job.sequence, job.image, job.audio)
    return WorkloadRequest(
        parse_model(job.model), shape, job.dtype, job.device, job.threads, job.lengths, job.twin
    )


def _leave() -> None:
    """At once, with every helper: this process leads a group of its own."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    end_process(main(sys.argv[1:]))
