"""What is no trace, or is damaged, ends in one clear error that names the file."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiler_traces import kernel, launched, trace_text

from ftax_micro.analysis.traces import event_list, text
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.traces.steps import analyse_steps, whole
from ftax_micro.errors import UnreadableTraceError

GOOD = trace_text([event for i in range(1, 40) for event in launched(i, i, 1, i + 1, 1)])
DEEP = 1_000_000  # levels: more than any Python's parser enters


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"hello", "not JSON"),
        (b"SQLite format 3\0", "not JSON"),
        (b"{}", "without a list of traceEvents"),
        (b'{"traceEvents": 3}', "without a list of traceEvents"),
        (b'{"a": {"traceEvents": []}}', "without a list of traceEvents"),
        (b'{"schemaVersion": 1, "dev', "no traceEvents and is truncated"),
        (b'{"schemaVersion": oops}', "no traceEvents and is not valid JSON"),
        (b'{"traceEvents": []}', "empty list"),
        (b"[]", "empty list"),
        (GOOD[: len(GOOD) // 2], "is truncated"),
        (GOOD[:-3], "is truncated"),
        (GOOD.replace(b'"ph"', b"ph", 1), "not valid JSON after byte"),
        (GOOD + b"}", "not valid JSON after byte"),
        (gzip.compress(GOOD)[:-20], "its gzip stream ends in the middle"),
        (gzip.compress(GOOD)[:60] + b"xxxx" + gzip.compress(GOOD)[64:], "damaged gzip"),
        (b'{"traceEvents": [' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"]}", "not valid JSON"),
    ],
)
def test_one_error_says_what_is_wrong(raw: bytes, what: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_bytes(raw)
    with pytest.raises(UnreadableTraceError) as caught:
        read_pytorch_trace(file)
    message = str(caught.value)
    assert what in message
    assert str(file) in message
    assert "\n" not in message


def test_a_name_that_promises_gzip_is_held_to_it(tmp_path: Path) -> None:
    file = tmp_path / "trace.json.gz"
    file.write_bytes(GOOD)
    with pytest.raises(UnreadableTraceError, match=r"is named \.gz but is not"):
        read_pytorch_trace(file)


def test_gzip_is_known_by_its_content_and_may_be_padded(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_bytes(gzip.compress(GOOD) + bytes(512))
    assert len(read_pytorch_trace(file).operations) == 39


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTraceError, match=r"cannot read .*No such file"):
        read_pytorch_trace(tmp_path / "none.json")
    with pytest.raises(UnreadableTraceError, match="cannot read"):
        read_pytorch_trace(tmp_path)


@pytest.mark.parametrize("filler", [b" ", b'"', b"{", b"[", b"},{", b'"traceEvents":['])
def test_a_bomb_needs_no_more_memory_than_one_part(
    filler: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 MiB where a part may have 1 MiB, and less than 10 of it are held at any time."""
    monkeypatch.setattr(event_list, "LARGEST_PART", 1 << 20)
    monkeypatch.setattr(event_list, "CHUNK", 1 << 16)
    monkeypatch.setattr(text, "CHUNK", 1 << 16)
    one = filler * ((2 << 20) // len(filler))
    bomb = gzip.compress(b'{"traceEvents":[{"ph":"' + one, 1) + gzip.compress(one, 1) * 31
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableTraceError, match=r"no event ends|not valid JSON"):
            read_pytorch_trace(bomb)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_text_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "LARGEST_TEXT", 1 << 19)
    many = trace_text(kernel(i, 1) for i in range(6000))
    with pytest.raises(UnreadableTraceError, match="unfolds to over"):
        read_pytorch_trace(gzip.compress(many))


SHORT = trace_text([event for i in range(1, 4) for event in launched(i, i, 1, i + 1, 1)])
PIECES = [b'"', b"{", b"}", b"]", b",", b"NaN", b"null", b"-1", b"1e999", b"9" * 20, b"\\", b"\xff"]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(SHORT) - 1), st.integers(0, 3), st.sampled_from(PIECES))
def test_whatever_is_damaged_there_is_a_trace_or_the_one_error(
    place: int, removed: int, piece: bytes
) -> None:
    damaged = SHORT[:place] + piece + SHORT[place + removed :]
    try:
        trace = read_pytorch_trace(damaged)
    except UnreadableTraceError:
        return
    counted = [len(each) for each in (trace.operations, trace.calls, trace.spans)]
    for counts in (trace.findings, trace.not_understood, trace.not_needed):
        counted += [n for what, n in counts.items() if "batches" not in what]
    assert sum(counted) == 6
    for step in analyse_steps(trace, whole(trace)):
        if step.busy and step.occupied and step.idle:
            parts = step.busy.value + step.occupied.value + step.idle.value
            assert parts == pytest.approx(step.latency.value, rel=1e-9)
