"""Ranks: whatever launcher, its variables say which process this is, and stale ones do not."""

from __future__ import annotations

import pytest

from ftax_micro.environment.ranks import job_of, launched, without_ranks

STEP = {
    "SLURM_JOB_ID": "77",
    "SLURM_PROCID": "6",
    "SLURM_LOCALID": "2",
    "SLURM_NODEID": "1",
    "SLURM_STEP_NUM_TASKS": "11",
    "SLURM_STEP_TASKS_PER_NODE": "4(x2),3",
}
# What a batch script has before it starts a step: the tasks it asked for, but none of them.
BATCH = {
    "SLURM_JOB_ID": "77",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "0",
    "SLURM_NTASKS": "8",
    "SLURM_TASKS_PER_NODE": "4(x2)",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}
HYDRA = {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
TORCHRUN = {
    "RANK": "3",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "GROUP_RANK": "1",
}


def place(environ: dict[str, str]) -> tuple[object, ...]:
    found = launched(environ)
    assert found is not None
    return (found.launcher, found.rank, found.size, found.local_rank, found.local_size, found.node)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (STEP, ("Slurm", 6, 11, 2, 4, 1)),
        ({**STEP, "SLURM_NODEID": "2"}, ("Slurm", 6, 11, 2, 3, 2)),
        (OPEN_MPI, ("Open MPI", 3, 4, 1, 2, None)),
        (HYDRA, ("MPICH", 3, 4, 1, 2, None)),
        (
            {name.replace("OMPI_", "MV2_"): value for name, value in OPEN_MPI.items()},
            ("MVAPICH", 3, 4, 1, 2, None),
        ),
        (TORCHRUN, ("torchrun", 3, 4, 1, 2, 1)),
        (
            {"FLUX_TASK_RANK": "3", "FLUX_JOB_SIZE": "4", "FLUX_TASK_LOCAL_ID": "1"},
            ("Flux", 3, 4, 1, None, None),
        ),
        ({"PMIX_RANK": "3"}, ("PMIx", 3, None, None, None, None)),
        (
            {"PALS_RANKID": "3", "PALS_LOCAL_RANKID": "1", "PALS_NODEID": "1"},
            ("PALS", 3, None, 1, None, 1),
        ),
    ],
)
def test_each_launcher_is_understood(environ: dict[str, str], expected: tuple[object, ...]) -> None:
    assert place(environ) == expected


def test_without_a_launcher_there_is_no_rank() -> None:
    assert launched({}) is None
    assert launched({"SLURM_JOB_ID": "77", "SLURM_NTASKS": "8"}) is None  # the shell of salloc


def test_a_batch_script_is_the_first_and_only_rank_of_its_node() -> None:
    assert place(BATCH) == ("Slurm", 0, None, 0, None, 0)


@pytest.mark.parametrize("inner", [OPEN_MPI, HYDRA, TORCHRUN], ids=["mpirun", "hydra", "torch"])
@pytest.mark.parametrize("outer", [BATCH, STEP], ids=["batch", "step"])
def test_what_was_started_last_says_it(inner: dict[str, str], outer: dict[str, str]) -> None:
    """Slurm's variables are those of the script that started the others."""
    assert place({**outer, **inner}) == place(inner)


def test_what_one_launcher_leaves_out_another_says_of_the_same_rank() -> None:
    """``srun --mpi=pmi2``: the rank twice, the place on the node from Slurm alone."""
    both = {**STEP, "PMI_RANK": "6", "PMI_SIZE": "11"}
    assert place(both) == ("MPICH", 6, 11, 2, 4, 1)
    assert place({**both, "PMI_RANK": "5"}) == ("MPICH", 5, 11, None, None, None)


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "WORLD_SIZE"])
def test_one_variable_that_anything_may_set_is_no_launcher(name: str) -> None:
    assert launched({name: "3"}) is None


@pytest.mark.parametrize("text", ["", "-1", "x", "1.5", "٣", "9" * 400])
def test_what_is_no_rank_is_none(text: str) -> None:
    assert launched({**STEP, "SLURM_PROCID": text}) is None
    assert place({**STEP, "SLURM_LOCALID": text})[3] is None


@pytest.mark.parametrize("text", ["", "x", "4(x", "4,,3", "2"])
def test_tasks_that_are_not_told_are_none(text: str) -> None:
    assert place({**STEP, "SLURM_STEP_TASKS_PER_NODE": text})[4] is None


def test_the_job_is_the_scheduler_s() -> None:
    assert job_of({}) is None
    assert job_of(STEP) == "77"
    array = {**STEP, "SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "4"}
    assert job_of(array) == "70_4"
    assert job_of({"PBS_JOBID": "12.host", **OPEN_MPI}) == "12.host"


def test_children_are_no_ranks_and_keep_all_else() -> None:
    rest = {"PATH": "/bin", "SLURM_JOB_ID": "77", "SLURM_STEP_TASKS_PER_NODE": "4"}
    left = without_ranks({**STEP, **OPEN_MPI, **TORCHRUN, **rest})
    assert left == rest
    assert launched(left) is None
