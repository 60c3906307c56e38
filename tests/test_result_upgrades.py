"""What files of older versions are given on read, so that they mean what they meant."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from stand_in import OLD_RESULT

from ftax_micro.analysis.comparing.comparison import compare_results
from ftax_micro.errors import UnreadableResultError
from ftax_micro.records import BUSY, POLLING, WORKER
from ftax_micro.results import Result, decode_result

RAW: Any = json.loads(OLD_RESULT.read_bytes())


def test_a_worker_that_polled_is_told_of_files_from_before_it_was_busy() -> None:
    older = decode_result(json.dumps({**RAW, "schema_version": 7}).encode())
    newer = decode_result(json.dumps({**RAW, "schema_version": 8}).encode())
    told = [row for row in older.measurements if WORKER in row.facts]
    assert [(row.name, row.status, row.facts[WORKER]) for row in told] == [
        ("submit", "ok", POLLING)
    ] * 2
    assert not any(WORKER in row.facts for row in newer.measurements)
    compared = compare_results([older, _busy(newer)], labels=["old", "new"], kinds=["floor"])
    why = {each.row: each.reason for each in compared.not_compared if "submit" in each.row}
    assert why["cpu submit wait=spin placement=unpinned"] == (
        "different worker: polling against busy"
    )


def _busy(result: Result) -> Result:
    rows = [
        msgspec.structs.replace(row, facts={WORKER: BUSY}) if row.name == "submit" else row
        for row in result.measurements
    ]
    return msgspec.structs.replace(result, measurements=rows)


@pytest.mark.parametrize("rows", [None, {}, "", [None, 1, {"name": "submit"}], [[]]])
def test_what_is_no_list_of_rows_is_left_to_be_refused(rows: object) -> None:
    text = json.dumps({**RAW, "schema_version": 7, "measurements": rows}).encode()
    with pytest.raises(UnreadableResultError, match="measurements"):
        decode_result(text)
