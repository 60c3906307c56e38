"""Measured peaks: rows with their work, their samples, or their reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ftax_micro import roofline
from ftax_micro.errors import Interrupted, UsageError
from ftax_micro.records import Plan
from ftax_micro.result_rules import check_roofline
from ftax_micro.roofline import measure_rooflines

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")

PLAN = Plan(min_samples=3, min_time_s=0.0, timeout_s=0.05, max_samples=3, quick=True)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "_LEAST", 16)
    monkeypatch.setattr(roofline, "_QUICK_MOST_CPU", 64)
    monkeypatch.setattr(roofline, "_COPY_BYTES_CPU", 1 << 16)


def test_a_product_for_each_dtype_and_a_copy() -> None:
    rows = measure_rooflines("cpu", ["fp32", "bf16", "fp32"], PLAN, quick=True)
    assert [(row.operation, row.dtype) for row in rows] == [
        ("matmul", "fp32"),
        ("matmul", "bf16"),
        ("copy", "fp32"),
    ]
    for row in rows:
        check_roofline(row)
        assert row.status == "ok"
        assert row.facts["threads"] == 1
        assert row.data is not None
        assert len(row.data.samples) >= 3
    assert rows[0].work == 2.0 * int(str(rows[0].facts["size"])) ** 3
    assert rows[2].work == 2.0 * (1 << 16)


def test_the_size_grows_while_a_sample_stays_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "_once", lambda place, run: 0.001)
    (row, _) = measure_rooflines("cpu", ["fp32"], PLAN, quick=True)
    assert row.facts["size"] == 64
    monkeypatch.setattr(roofline, "_once", lambda place, run: 0.09)
    (row, _) = measure_rooflines("cpu", ["fp32"], PLAN, quick=True)
    assert row.facts["size"] == 16


def test_a_dtype_that_takes_too_long_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "_once", lambda place, run: 7.0)
    (row, copy) = measure_rooflines("cpu", ["fp16"], PLAN)
    check_roofline(row)
    assert (row.status, row.reason) == ("skipped", "a product of 16 × 16 in fp16 takes 7 s here")
    assert copy.status == "ok"


def test_what_goes_wrong_is_a_row_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise RuntimeError("out\n of memory")

    monkeypatch.setattr(roofline, "_random", refuse)
    rows = measure_rooflines("cpu", ["fp32"], PLAN)
    for row in rows:
        check_roofline(row)
        assert (row.status, row.reason) == ("failed", "RuntimeError: out of memory")


def test_an_interruption_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_args: object) -> None:
        raise Interrupted("SIGINT", 130)

    monkeypatch.setattr(roofline, "_random", interrupt)
    with pytest.raises(Interrupted):
        measure_rooflines("cpu", ["fp32"], PLAN)


def test_an_unknown_dtype_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(UsageError, match="unknown dtype 'fp8'"):
        measure_rooflines("cpu", ["fp8"], PLAN)


def test_torch_is_left_as_it_was() -> None:
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    state = torch.get_rng_state()
    measure_rooflines("cpu", ["fp32"], PLAN, quick=True, threads=2)
    assert torch.get_num_threads() == threads
    assert torch.get_float32_matmul_precision() == precision
    assert torch.equal(torch.get_rng_state(), state)
