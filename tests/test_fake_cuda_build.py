"""The fake driver is built once, however many want it, and found done by whoever comes later."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fake_cuda.build import SOURCES, Builder

# Takes its time, and tells of each output that it makes.
COMPILER = """#!/bin/sh
for output; do :; done
sleep 0.2
echo made > "$output"
echo "$output" >> "$FTAX_TEST_LOG"
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the compiler made, an output a line."""
    compiler = tmp_path / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    include = tmp_path / "include"
    include.mkdir()
    (include / "cuda.h").touch()
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("FTAX_MICRO_CUDA_INCLUDE", str(include))
    monkeypatch.setenv("FTAX_TEST_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def test_processes_that_want_the_same_build_it_once(tmp_path: Path, log: Path) -> None:
    command = [sys.executable, str(SOURCES / "build.py"), "--dir", str(tmp_path / "built")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    (path,) = {process.communicate(timeout=60)[0].strip() for process in started}
    assert [process.returncode for process in started] == [0, 0, 0]
    assert Path(path).read_text() == "made\n"
    made = log.read_text().splitlines()
    assert len(made) == 4  # two parts and the version, linked
    assert Builder(tmp_path / "built").driver() == Path(path)
    assert len(log.read_text().splitlines()) == 4


def test_what_fails_to_build_is_nobody_s_and_the_next_one_tries_again(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = Builder(tmp_path / "built")
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    broken.chmod(0o755)
    good, builder.compiler = builder.compiler, str(broken)
    with pytest.raises(RuntimeError, match="no such luck"):
        builder.driver()
    assert not [*(tmp_path / "built").rglob("*.o")]
    builder.compiler = good
    assert os.access(builder.driver(), os.R_OK)
