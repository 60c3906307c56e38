"""Pools of any results: whatever the numbers, a table, and never an error."""

from __future__ import annotations

import json

import pytest
from fake_results import row
from hypothesis import given, settings
from hypothesis import strategies as st
from pool_results import of_rows

from ftax_micro import pool_results
from ftax_micro.reporters import POOL_REPORTERS
from ftax_micro.results import Result

values = st.sampled_from([0.0, -1e-6, 1e-12, 1e-6, 1.001e-6, 3e-6, 300.0])
rows = st.lists(
    st.builds(
        lambda name, value, count, device, wait: row(
            name, [value] * count, device=device, setting={"wait": wait} if wait else {}
        ),
        st.sampled_from(["submit", "sync"]),
        values,
        st.integers(1, 3),
        st.sampled_from(["cpu", "cuda:0", "cuda:1"]),
        st.sampled_from(["", "spin", "\x1b|*_<b>"]),
    ),
    max_size=4,
)
files = st.lists(
    st.one_of(
        st.sampled_from(["is empty", "not a valid result: \x1b"]),
        st.builds(
            lambda number, made, model: of_rows(number, *made, model=model),
            st.integers(0, 3),
            rows,
            st.sampled_from(["NVIDIA H100", "", "\n|"]),
        ),
    ),
    min_size=1,
    max_size=12,
)


@given(files, st.sampled_from([0.0, 0.02]))
@settings(max_examples=60)
def test_any_results_make_a_pool_and_every_format_shows_it(
    found: list[Result | str], margin: float
) -> None:
    named = [(f"{index}.json", each) for index, each in enumerate(found)]
    if not any(isinstance(each, Result) and each.measurements for each in found):
        with pytest.raises(Exception, match=r"none of|nothing to summarise"):
            pool_results(named, group=["gpu", "host"], margin=margin)
        return
    pool = pool_results(named, group=["gpu", "host"], margin=margin)
    for form in POOL_REPORTERS:
        text = POOL_REPORTERS.open(form)(pool)
        assert text.endswith("\n")
        assert "\x1b" not in text
        if form == "json":
            assert json.loads(text)["kind"] == "pool"
    for each in pool.rows:
        for cell in each.cells:
            if cell is not None:
                assert cell.least <= cell.median.value <= cell.most
                assert cell.between is None or cell.between >= 0
                assert len(cell.outliers) <= cell.machines <= cell.files or cell.files == 0
