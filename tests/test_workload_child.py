"""The real worker, with models that do to it what theirs may do to a user's."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ftax_micro.orchestration.latency.requests import check_modes, requests_for
from ftax_micro.orchestration.workload.journal import Journal
from ftax_micro.orchestration.workload.process import WorkloadProcess
from ftax_micro.records import Case, Plan
from ftax_micro.result_rules import check_case

pytest.importorskip("torch", reason="the models extra is not installed")

PLAN = Plan(min_samples=4, min_time_s=0.0, timeout_s=5.0, half_width=100.0, quick=True)
FULL = Plan(min_samples=4, min_time_s=0.0, timeout_s=5.0, half_width=100.0)

# Tracing calls a module once where eager has called it before: what is traced is what dies.
MODELS = """
import os, signal, sys, torch

class Deadly(torch.nn.Module):
    def forward(self, x):
        if torch.jit.is_tracing():
            os.kill(os.getpid(), signal.SIGKILL)
        return x + 1

class Greedy(torch.nn.Module):
    def forward(self, x):
        return x + torch.empty(1 << 50).sum()

class Leaving(torch.nn.Module):
    calls = 0
    def forward(self, x):
        Leaving.calls += 1
        if Leaving.calls > 20:
            print("nobody told me\\n", file=sys.stderr, flush=True)
            os._exit(9)
        return x + 1

def deadly(): return Deadly(), torch.ones(2)
def greedy(): return Greedy(), torch.ones(2)
def leaving(): return Leaving(), torch.ones(2)
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module of models that only this process's path finds."""
    (tmp_path / "dying_models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "dying_models"


def measured(model: str, plan: Plan = PLAN, *modes: str) -> dict[str, Case]:
    (request,) = requests_for([model], sequence=4 if ":" not in model else None)
    journal = Journal(request, check_modes(modes or ("eager", "torchscript")), plan)
    begin_s = time.monotonic()
    WorkloadProcess().measure(journal)
    cases = journal.cases()
    for case in cases:
        check_case(case)
        assert case.latency is None or case.latency.elapsed_s < time.monotonic() - begin_s
    return {case.mode: case for case in cases}


def test_a_full_run_knows_all_of_a_case() -> None:
    (case,) = measured("conv1d@channels=8", FULL, "torchscript").values()
    assert case.status == "ok"
    assert case.solo is not None
    assert case.peak_memory_bytes is not None
    assert case.peak_memory_bytes >= 0
    assert {"trace", "first_call"} <= set(case.costs_s)
    assert sum(case.executed.values()) >= 1
    assert case.macs == 4 * 8 * 8 * 3
    assert case.activation_bytes is not None
    assert case.activation_bytes >= 4 * 8 * 4  # the output, and what else the kernel returns
    assert case.facts["peak_memory_source"] == "resident set, high-water mark"
    assert str(case.facts["torch"]).startswith("2.")
    assert case.reasons == {}


def test_a_mode_that_is_killed_is_one_failed_case(models: str) -> None:
    cases = measured(f"{models}:deadly")
    assert cases["eager"].status == "ok"
    assert cases["torchscript"].status == "failed"
    assert "killed by signal 9 (SIGKILL)" in str(cases["torchscript"].reason)


def test_a_model_that_ends_its_process_costs_itself(models: str) -> None:
    (case,) = measured(f"{models}:leaving", PLAN, "eager").values()
    assert case.status == "failed"
    expected = "ended with 9 before it had a result: nobody told me while timing it"
    assert expected in str(case.reason)


def test_memory_that_is_not_to_be_had_is_one_clear_line(models: str) -> None:
    (case,) = measured(f"{models}:greedy", PLAN, "eager").values()
    assert case.status == "failed"
    assert str(case.reason) == "out of memory: 4503599627370496 bytes more were not to be had"
