"""Where a launcher put this process among its like: `launched`, from environment variables alone.

Variables as their launchers document them: Slurm ``srun`` (SLURM_PROCID, SLURM_LOCALID, …, and
SLURM_STEP_TASKS_PER_NODE, which a step has and a batch script has not), Open MPI ``mpirun``
(OMPI_COMM_WORLD_RANK, …), MVAPICH2 (MV2_COMM_WORLD_RANK, …), MPICH and Intel MPI with Hydra
(PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS), PMIx (PMIX_RANK), Flux ``flux run``
(FLUX_TASK_RANK, FLUX_TASK_LOCAL_ID, …), PyTorch ``torchrun`` (RANK, LOCAL_RANK, …), and PALS of
HPE Cray (PALS_RANKID, PALS_LOCAL_RANKID, …).

They are inherited: what one launcher started in another's job has the variables of both, and the
inner one's are about this process. So launchers that are started in other's jobs come first, and
what one does not tell is taken from another only where both give this process the same rank.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from ftax_micro.facts import LaunchFacts


@dataclass(frozen=True)
class _Names:
    """A launcher and its variables; `both`: they are somebody else's where only one is set."""

    launcher: str
    rank: str
    size: str
    local_rank: str
    local_size: str
    node: str = ""
    both: bool = False


_LAUNCHERS = (
    _Names(
        *("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"),
        both=True,
    ),
    _Names(
        *("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        *("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ),
    _Names(
        *("MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
        *("MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ),
    _Names(
        *("PALS", "PALS_RANKID", "PALS_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"),
        node="PALS_NODEID",
    ),
    _Names("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    _Names("Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", ""),
    _Names("PMIx", "PMIX_RANK", "", "", ""),
    _Names("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", "SLURM_NODEID"),
)
# Of a scheduler, the job; of its arrays, which of them.
_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID")
_ARRAY_JOB, _ARRAY_TASK = "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"
_STEP_TASKS = "SLURM_STEP_TASKS_PER_NODE"
# As a step has them: 4(x2),3
_TASKS = re.compile(r"(\d+)(?:\(x(\d+)\))?")


def launched(environ: Mapping[str, str]) -> LaunchFacts | None:
    """The rank of this process; None where no launcher started it.

    What is no whole number is taken for not set: a shell may hold anything.
    """
    told = [each for each in map(_told, _LAUNCHERS, [environ] * len(_LAUNCHERS)) if each]
    if not told:
        return None
    first = told[0]
    for other in told[1:]:
        if other.rank == first.rank:
            first = _completed(first, other)
    return first


def launch_facts(environ: Mapping[str, str], together: int) -> LaunchFacts | None:
    """`launched`, `together` with other ranks of the node."""
    launch = launched(environ)
    return launch and msgspec.structs.replace(launch, together=together)


def job_of(environ: Mapping[str, str]) -> str | None:
    """What the scheduler calls the job, of an array ``JOB_TASK``; None without a scheduler."""
    if environ.get(_ARRAY_JOB) and environ.get(_ARRAY_TASK):
        return f"{environ[_ARRAY_JOB]}_{environ[_ARRAY_TASK]}"
    return next((environ[name] for name in _JOBS if environ.get(name)), None)


def without_ranks(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` for a child that is no rank of its own: it does what its parent was told to do."""
    fields = ("rank", "size", "local_rank", "local_size", "node")
    names = {getattr(each, field) for each in _LAUNCHERS for field in fields}
    return {name: value for name, value in environ.items() if name not in names}


def _told(names: _Names, environ: Mapping[str, str]) -> LaunchFacts | None:
    def number(name: str) -> int | None:
        text = environ.get(name, "") if name else ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None

    rank, local_rank = number(names.rank), number(names.local_rank)
    if rank is None or (names.both and local_rank is None):
        return None
    local_size = number(names.local_size)
    if names.launcher == "Slurm":
        local_size = _tasks_here(environ.get(_STEP_TASKS, ""), number(names.node) or 0)
    return LaunchFacts(
        launcher=names.launcher,
        rank=rank,
        size=number(names.size),
        local_rank=local_rank,
        local_size=local_size,
        node=number(names.node),
        job=job_of(environ),
    )


def _tasks_here(text: str, node: int) -> int | None:
    """How many tasks of the step the node of this number has; None where that is not told."""
    for part in text.split(","):
        found = _TASKS.fullmatch(part)
        if found is None:
            return None
        repeated = int(found[2] or 1)
        if node < repeated:
            return int(found[1])
        node -= repeated
    return None


def _completed(one: LaunchFacts, other: LaunchFacts) -> LaunchFacts:
    """`one` with what `other` says of the same process and it does not."""
    return LaunchFacts(
        launcher=one.launcher,
        rank=one.rank,
        size=one.size if one.size is not None else other.size,
        local_rank=one.local_rank if one.local_rank is not None else other.local_rank,
        local_size=one.local_size if one.local_size is not None else other.local_size,
        node=one.node if one.node is not None else other.node,
        job=one.job,
    )
