"""The batch scripts of the documentation, run by launchers that are made up here.

The stand-ins start as many processes as asked for and set the variables of the real ones; nodes are
told apart by name alone. What a real launcher does besides (binding, killing) is not imitated.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documents import FOLDER, blocks
from stand_in import NO_CUDA

from ftax_micro.cli.launch_floor_options import build_parser
from ftax_micro.results import Result, load_result

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the tests are not in a checkout")

QUICK = "--quick --device cpu --probe call_direct"
# NODES nodes with TASKS tasks each; what stands before `python` is the launcher's own.
LAUNCHER = r"""#!/bin/sh
while [ $# -gt 0 ] && [ "$1" != python ]; do shift; done
pids=""
for node in $(seq 0 $((NODES - 1))); do
    for task in $(seq 0 $((TASKS - 1))); do
        rank=$((node * TASKS + task))
        export NODE_NAME="node$node" RANK_HERE=$rank TASK=$task NODE=$node
        export SLURM_PROCID=$rank SLURM_LOCALID=$task SLURM_NODEID=$node
        export SLURM_STEP_NUM_TASKS=$((NODES * TASKS)) SLURM_STEP_TASKS_PER_NODE="$TASKS(x$NODES)"
        "$@" &
        pids="$pids $!"
    done
done
code=0
for pid in $pids; do wait $pid || code=$?; done
exit $code
"""
# So that each node has a name, which a test cannot give to a machine.
NAMES = 'import os, socket\nsocket.gethostname = lambda: os.environ.get("NODE_NAME", "login")\n'


def script(word: str) -> str:
    """The page's script that has this word, its measurement cut to one row of the cpu."""
    (found,) = (block.text for block in blocks("fleet.md", "bash") if word in block.text)
    assert "--device all" in found
    return found.replace("--device all", QUICK)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Launchers first on the path, and the variables of a batch script."""
    for name in ("srun", "mpirun"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(LAUNCHER)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "bin" / "sitecustomize.py").write_text(NAMES)
    folders = [str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    batch = {
        "SLURM_JOB_ID": "77",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_NODEID": "0",
        "SLURM_CPUS_ON_NODE": "2",
    }
    python = {"PYTHONPATH": str(tmp_path / "bin"), "PATH": os.pathsep.join(folders)}
    return {**os.environ, **NO_CUDA, **batch, **python, "NODES": "2", "TASKS": "1"}


def run(text: str, folder: Path, environ: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(
        ["bash", "-eu", "-c", text],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def launch_of(result: Result) -> tuple[int, int | None, int]:
    launch = result.environment.process.launch
    assert launch is not None
    return launch.rank, launch.local_rank, launch.together


def test_the_batch_script_measures_each_node_and_sums_them_up(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    code, out, err = run(script("#SBATCH"), tmp_path, environ)
    assert code == 0, err
    files = sorted((tmp_path / "runs" / "77").iterdir())
    assert [path.name for path in files] == ["floor-node0-cpu.json", "floor-node1-cpu.json"]
    assert [launch_of(load_result(path)) for path in files] == [(0, 0, 1), (1, 0, 1)]
    assert "Groups of machines" in out
    assert re.search(r"cpu +call_direct", out)


def test_more_ranks_on_a_node_leave_measuring_to_the_first(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    code, _, err = run(script("#SBATCH"), tmp_path, {**environ, "TASKS": "2"})
    assert code == 0, err
    assert len(list((tmp_path / "runs" / "77").iterdir())) == 2
    assert err.count("measures nothing") == 2
    assert "{" not in "".join(path.name for path in tmp_path.rglob("*.json"))


def test_ranks_of_which_each_has_a_name_all_measure(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    command = f"srun python -m ftax_micro.launch_floor {QUICK} -o 'floor-{{host}}-{{rank}}.json'"
    code, _, err = run(command, tmp_path, {**environ, "TASKS": "2"})
    assert code == 0, err
    names = sorted(path.name for path in tmp_path.glob("*.json"))
    assert names == [f"floor-node{rank // 2}-{rank}.json" for rank in range(4)]
    assert {launch_of(load_result(tmp_path / name))[2] for name in names} == {2}
    assert err.count("2 ranks measured on this node at the same time") == 4


def test_nodes_with_one_name_leave_each_result(tmp_path: Path, environ: dict[str, str]) -> None:
    command = f"srun python -m ftax_micro.launch_floor {QUICK} -o floor.json"
    code, _, err = run(command, tmp_path, {**environ, "NODES": "3"})
    assert code == 2
    assert err.count("floor.json exists already; --force replaces it") == 2
    found = [load_result(path) for path in tmp_path.glob("*.json")]
    assert len(found) == 1 + err.count("the result was kept in")
    assert len({launch_of(each)[0] for each in found}) == len(found)


def test_the_other_launchers_lines_are_understood() -> None:
    (found,) = (block.text for block in blocks("fleet.md", "bash") if "mpirun" in block.text)
    lines = found.splitlines()
    assert [line.split()[0] for line in lines] == ["mpirun", "flux", "torchrun"]
    for line in lines:
        arguments = line.partition("ftax_micro.launch_floor ")[2].replace("'", "").split()
        assert "{host}" in str(build_parser().parse_args(arguments).output)
