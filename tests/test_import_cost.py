"""What importing costs, counted in packages: heavy ones are not even looked for.

A finder placed first sees every import that is tried, so a heavy package counts whether or not it
is installed here. Milliseconds are in bench/, where they belong.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Dependencies of ours that cost time, and packages that no command of this kind may open.
LIGHT_BANS = {"numpy", "rich", "msgspec", "pynvml"}
HEAVY = {
    *("torch", "transformers", "matplotlib", "plotly", "onnxruntime", "scipy", "pandas"),
    *("cupti", "cupy"),
}

RECORDER = """
import json, sys
asked = []
class Recorder:
    def find_spec(self, name, path=None, target=None):
        asked.append(name)
sys.meta_path.insert(0, Recorder())
code = 0
try:
    {body}
except SystemExit as error:
    code = error.code
with open({report!r}, "w") as file:
    json.dump([code, asked], file)
"""


def imports_of(body: str, tmp_path: Path) -> tuple[int, set[str]]:
    """Exit code of `body`, and every module whose import it tried, in a fresh interpreter."""
    report = tmp_path / "imports.json"
    script = RECORDER.format(body=body, report=str(report))
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    code, asked = json.loads(report.read_text())
    return code, set(asked)


def command(module: str, *arguments: str) -> str:
    argv = [module, *arguments]
    return (
        f"import runpy; sys.argv = {argv!r}; "
        f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_the_recorder_sees_what_is_imported_and_what_is_missing(tmp_path: Path) -> None:
    body = "import numpy\n    try: import not_a_package_anyone_has\n    except ImportError: pass"
    _, asked = imports_of(body, tmp_path)
    assert {"numpy", "not_a_package_anyone_has"} <= asked


def test_importing_the_package_opens_nothing_heavy(tmp_path: Path) -> None:
    _, asked = imports_of("import ftax_micro", tmp_path)
    assert "ftax_micro" in asked
    assert packages(asked).isdisjoint(LIGHT_BANS | HEAVY)
    assert "ftax_micro._core" not in asked
    # Nothing of our own either, beyond what finds the extension.
    assert {name for name in asked if name.startswith("ftax_micro.")} <= {"ftax_micro._checkout"}


def test_a_public_name_is_opened_when_it_is_asked_for(tmp_path: Path) -> None:
    _, asked = imports_of("import ftax_micro; ftax_micro.FtaxError", tmp_path)
    assert "ftax_micro.errors" in asked
    assert packages(asked).isdisjoint(LIGHT_BANS | HEAVY)


@pytest.mark.parametrize("module", ["ftax_micro.launch_floor", "ftax_micro"])
def test_help_opens_nothing_heavy(tmp_path: Path, module: str) -> None:
    code, asked = imports_of(command(module, "--help"), tmp_path)
    assert code == 0
    assert "argparse" in asked
    assert packages(asked).isdisjoint(LIGHT_BANS | HEAVY)
    assert "ftax_micro._core" not in asked


def test_measuring_never_opens_a_framework(tmp_path: Path) -> None:
    arguments = ["--device", "cpu", "--probe", "call_direct", "--quick", "--format", "csv"]
    times = ["--min-samples", "5", "--min-time", "0", "--timeout", "0.5"]
    body = command("ftax_micro.launch_floor", *arguments, *times, "--allow-untrusted")
    code, asked = imports_of(body, tmp_path)
    assert code == 0
    assert "ftax_micro._core" in asked
    assert packages(asked).isdisjoint(HEAVY)
