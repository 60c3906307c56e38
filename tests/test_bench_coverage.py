"""bench/coverage.py: its rows, and the shares that its verdicts rest on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_scripts import BENCH


@pytest.fixture
def coverage(bench: Any) -> Any:
    return bench("coverage")


def test_a_few_trials_of_each_row_run(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH / "coverage.py"), "--trials", "3"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "out.json")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["settings"] == {"trials": 3}
    assert [row["name"] for row in report["rows"] if row["status"] != "ok"] == []
    assert {row["name"].partition(",")[0] for row in report["rows"]} == {
        *("tax", "width of that", "crossover", "regime", "prediction")
    }
    assert all(len(*row["samples"].values()) == 3 for row in report["rows"])


def test_misses_on_both_sides_and_widths_are_counted(coverage: Any) -> None:
    values = np.array([-1.96, -0.98, 0.98, 1.96]) / np.std([-1.96, -0.98, 0.98, 1.96])
    found = np.stack([values, values - 1.0, values + 1.0], axis=1)
    missed, width = coverage.judged("tax, x", found, 0.0)
    assert missed.figures[0].value == 0.5
    assert missed.facts["truth below the interval"] == 1
    assert missed.facts["truth above the interval"] == 1
    assert width.figures[0].value == pytest.approx(2 / (2 * 1.96))
