"""The documentation: every command and every program in it runs, every worked example holds."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from documents import FOLDER, NEEDS_CUDA, NOT_RUN, Block, blocks, commands, pages
from profiler_traces import launched, trace_text
from stand_in import NO_CUDA

from ftax_micro.__main__ import COMMANDS
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.formats import read_trace
from ftax_micro.analysis.traces.steps import analyse_steps, whole
from ftax_micro.analysis.views import VIEWS

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the tests are not in a checkout")

RUNNABLE = ("sh", "python")
# Their files belong into the package: a test of the page itself puts them there.
EXTENSIONS = {"new_mode.md": "modes", "new_rung.md": "rungs"}
TIMEOUT_S = 240


def runnable(page: str, *, cuda: bool) -> list[Block]:
    found = []
    for block in blocks(page, *RUNNABLE):
        note = block.note or ""
        assert not note or note == NEEDS_CUDA or note.startswith(NOT_RUN), f"{page}: {note}"
        if not note.startswith(NOT_RUN) and (note == NEEDS_CUDA) == cuda:
            found.append(block)
    return found


def run(page: str, folder: Path, environment: Mapping[str, str], *, cuda: bool) -> None:
    """Runs the blocks of a page in their order, in one folder, as a reader would in a checkout."""
    (folder / "bench").symlink_to(FOLDER.parent / "bench")
    for block in runnable(page, cuda=cuda):
        if block.file is not None:
            (folder / block.file).write_text(block.text)
            continue
        lines = commands(block) if block.language == "sh" else [None]
        output = ""
        for line in lines:
            command = [sys.executable, "-c", block.text] if line is None else ["sh", "-ec", line]
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            told = f"{page}: {line or block.text}\n{done.stdout}\n{done.stderr}"
            assert done.returncode == 0, told
            assert "Traceback" not in done.stderr, told
            assert done.stdout or "saved" in done.stderr or line is None, told
            output += done.stdout
        missing = [line for line in block.printed if line not in output.splitlines()]
        assert not missing, f"{page} shows what is not printed: {missing}\n{output}"


@pytest.fixture
def environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, **NO_CUDA, "PATH": path, "PYTHONWARNINGS": "default"}


WITH_PROGRAMS = [page for page in pages() if page not in EXTENSIONS and runnable(page, cuda=False)]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", WITH_PROGRAMS)
def test_what_a_page_shows_runs(page: str, tmp_path: Path, environment: dict[str, str]) -> None:
    if page == "ray.md" and importlib.util.find_spec("ray") is None:
        pytest.skip("the fleet extra is not installed")
    run(page, tmp_path, environment, cuda=False)


@pytest.mark.cuda
@pytest.mark.timeout(1800)
def test_the_tour_on_a_gpu_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    run("gpu.md", tmp_path, {**environment, **dict.fromkeys(NO_CUDA, "")}, cuda=True)


@pytest.mark.parametrize(
    "line",
    [
        line
        for page in pages()
        for block in blocks(page, "sh")
        if block.note
        for line in commands(block)
        if line.startswith("python -m ftax_micro")
    ],
)
def test_commands_that_cannot_run_here_are_understood(line: str) -> None:
    """Up to what they ask for: a GPU, or a file of the reader's."""
    module, *arguments = shlex.split(line, comments=True)[2:]
    importlib.import_module(module).build_parser().parse_args(arguments)


def test_the_help_of_every_command_is_on_its_page() -> None:
    shown = re.findall(r"```\{command-help\} (\w+)\n", (FOLDER / "commands.md").read_text())
    assert shown == ["__main__", *COMMANDS]


@pytest.mark.parametrize("page", [page for page in pages() if [*blocks(page, "pycon")]])
def test_worked_examples_hold(page: str) -> None:
    text = "\n".join(block.text for block in blocks(page, "pycon"))
    told: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    result = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(told)


def test_the_mode_of_the_page_is_one() -> None:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")
    from test_modes import outputs_in, small

    (block,) = (block for block in blocks("new_mode.md", "python") if block.file)
    names: dict[str, Any] = {"__name__": "autocast"}
    exec(compile(block.text, "autocast.py", "exec"), names)
    workload = small("bert_tiny")
    with torch.inference_mode():
        prepared = names["Autocast"]().prepare(workload)
        outputs = prepared.outputs(prepared.forward())
        executed = prepared.executed()
    (expected, *_) = outputs_in("eager", workload)
    difference = (outputs[0].float() - expected).norm() / expected.norm()
    assert 0 < difference < 0.05
    assert sum(executed.values()) > 10


def test_the_rung_of_the_page_is_one() -> None:
    from ftax_micro.devices.cpu import measured_clock
    from ftax_micro.rungs.contract import Place, Rung

    (block,) = blocks("new_rung.md", "python")
    names: dict[str, Any] = {"__name__": "math_fsum"}
    exec(compile(block.text, "math_fsum.py", "exec"), names)
    rung = names["RUNG"]
    assert isinstance(rung, Rung)
    program = rung.make(Place("cpu", measured_clock()), 0)
    assert all(program.burst(count) > 0 for count in program.counts)
    assert rung.settings("cpu") == [{"op": "call"}]


def traced(tmp_path: Path, *events: Any) -> Trace:
    (tmp_path / "trace.json").write_bytes(trace_text(events))
    return read_trace(tmp_path / "trace.json")


def test_the_example_of_idle_time_by_cause_holds(tmp_path: Path) -> None:
    trace = traced(tmp_path, *launched(1, 0, 0, 0, 10), *launched(2, 14, 2, 20, 5))
    (step,) = analyse_steps(trace, whole(trace))
    idle = {cause: round(part.value * 1e6) for cause, part in step.idle_by_cause.items()}
    assert idle == {"not launched": 4, "launching": 2, "waiting": 4, "synchronising": 0, "other": 0}
    assert step.launch_delays_s[1] * 1e6 == pytest.approx(4)
    assert step.queue_depths.tolist()[1] == 0


# Where columns are that a view shares with others.
SHEETS = {"paper": "ftax_micro.analysis.paper.sheet"}


def test_every_column_is_explained() -> None:
    told = "".join((FOLDER / page).read_text() for page in ("bounds.md", "traces.md"))
    for name in VIEWS:
        build = importlib.import_module(SHEETS.get(name, f"ftax_micro.analysis.views.{name}"))
        missing = [each.name for each in build.COLUMNS if f"`{each.name}`" not in told]
        assert not missing, f"{name}: {missing}"
