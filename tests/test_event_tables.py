"""The compiled reader of events says what the one in Python says, or leaves the text to it."""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiler_traces import annotation, call, complete, kernel, launched, trace_text

from ftax_micro.analysis.traces import pytorch
from ftax_micro.analysis.traces.compiled import compiled_scan
from ftax_micro.analysis.traces.event_tables import Batch, EventDecoder, scanned
from ftax_micro.analysis.traces.events import Columns, Trace
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.errors import ExtensionError, UnreadableTraceError

X = b'{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1'


def scan(text: bytes) -> Batch | None:
    reader = compiled_scan()
    assert reader is not None
    return scanned(text, reader)


def fields(item: Any) -> dict[str, Any]:
    """What a dataclass holds, arrays as lists: comparable."""
    found = {}
    for each in dataclasses.fields(item):
        value = getattr(item, each.name)
        if isinstance(value, Columns):
            value = fields(value)
        found[each.name] = value.tolist() if isinstance(value, np.ndarray) else value
    return found


def check_same(text: bytes, taken: bool | None = None) -> None:
    """What is taken is the same; `taken`: whether it must be."""
    batch = scan(text)
    if taken is not None:
        assert (batch is not None) == taken
    if batch is None:
        return
    other = EventDecoder().decoded(text)
    assert (batch.events, batch.others, batch.malformed) == (other.events, other.others, 0)
    assert list(map(fields, batch.tables)) == list(map(fields, other.tables))


PLAIN = {
    "nothing": b" \n",
    "an empty event": b"{}",
    "spaces": b' { "ph" :\t"X" ,\r\n"ts" : 1 , "dur" : 2 } , { } ',
    "whole times": X + b"}," + X.replace(b"1", b"1661203462715258") + b"}",
    "fewer and more digits": X.replace(b'"ts":1', b'"ts":1.5') + b"}," + X + b',"ts":0.12300}',
    "before time began": X + b',"ts":-1.5},' + X + b',"ts":-0.001},' + X + b',"ts":-0}',
    "decimals since 1970": X + b',"ts":1695835542514261.304},' + X + b',"ts":1695835542514261}',
    "a double would be whole": X + b',"ts":1695835542514261.001}',
    "no time": X + b',"dur":null},{"ph":"X","cat":"kernel","ts":1},' + X + b"}",
    "keys that are there twice": X + b',"name":"l","args":{"stream":1},"args":{"device":2}}',
    "ids": X + b',"args":{"correlation":0,"stream":-1,"device":null,"External id":0,'
    b'"external id":4}},' + X + b',"args":{"external id":3,"External id":5}},' + X + b',"args":{}}',
    "rows": X + b',"pid":1,"tid":"1"},' + X + b',"pid":"1","tid":null},' + X + b',"pid":-1}',
    "streams": b",".join(
        X + b',"args":{"stream":"' + each + b'"}}'
        for each in (b"7", b"stream 07", b"0x5f", b"", b"a ", b"2147483648", b"0" * 19, b"-1")
    ),
    "escapes": X + rb',"name":"a\"\\\/\b\f\n\r\t\u00e9\u20AC"},' + X + b',"name":"\xc3\xa9"}',
    "text that is no ASCII": '{"cat":"größe€😀","ph":"X","ts":1,"dur":1}'.encode(),
    "nested": X + b',"a":[[1,{"b":[]}],{},null,true,false,-1.5e+10,"\\"]"],"args":null}',
    "other phases": b'{"ph":"M"},{"ph":"s","cat":"ac2g"},{"cat":"ac2g","ph":"s"},{"cat":"x"}',
    "categories": X + b"}," + X.replace(b"kernel", b"Kernel") + b"}," + X + b',"tid":1}',
}

NOT_PLAIN = {
    "not JSON": b"{]",
    "a list": b"[]",
    "a comma too many": X + b"},",
    "two of them": b"{}{}",
    "cut": X,
    "no event": b"1",
    "a control character": X + b',"args":{"a":"\n"}}',
    "bad UTF-8": X + b',"args":{"a":"\xed\xa0\x80"}}',
    "a byte cut": X + b',"args":{"a":"\xe2\x82"}}',
    "a surrogate": X + rb',"name":"\ud83d\ude00"}',
    "no escape": X + rb',"name":"\d"}',
    "a key in escapes": X + rb',"n\u0061me":"k"}',
    "NaN": X + b',"args":{"a":NaN}}',
    "a zero before": X + b',"ts":01}',
    "no digit": X + b',"ts":1.}',
    "a plus": X + b',"a":+1}',
    "many decimals": X + b',"ts":1.2345}',
    "an exponent": X + b',"ts":1e3}',
    "many digits": X + b',"args":{"correlation":1234567890123456789}}',
    "out of range": X + b',"ts":4503599627370496}',
    "a long one with decimals": X + b',"dur":8796093022208.5}',
    "a number as text": X + b',"ts":"1"}',
    "a fraction for an id": X + b',"args":{"correlation":1.0}}',
    "a device too large": X + b',"args":{"device":2147483648}}',
    "text for an id": X + b',"args":{"correlation":"7"}}',
    "a list for arguments": X + b',"args":[]}',
    "true for a row": X + b',"pid":true}',
    "null for a name": X + b',"name":null}',
    "another zero": X + b',"pid":-0}',
    "very deep": X + b',"a":' + b"[" * 99 + b"]" * 99 + b"}",
}


@pytest.mark.parametrize("what", PLAIN)
def test_plain_text_is_taken_and_means_the_same(what: str) -> None:
    check_same(PLAIN[what], taken=True)


@pytest.mark.parametrize("what", NOT_PLAIN)
def test_whatever_is_not_plain_is_left_to_the_other_reader(what: str) -> None:
    check_same(NOT_PLAIN[what], taken=False)


VALUES = [
    *(b'"X"', b'"kernel"', b'"a\\n"', b'""', b"0", b"-7", b"12.345", b"1e2", b"1.0005", b"null"),
    *(b"true", b"{}", b"[]", b'{"correlation":3,"stream":7}', b'{"External id":1.5}', b"NaN"),
    *(b"1695835542514261.304", b"9007199254740993", b"99999999999999999999", b'"stream 7"'),
]
KEYS = [b"ph", b"cat", b"name", b"pid", b"tid", b"ts", b"dur", b"args", b"else"]
EVENTS = st.lists(
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), max_size=6), max_size=4
)


@settings(max_examples=300, deadline=None)
@given(EVENTS)
def test_any_field_may_be_anything(events: list[list[tuple[bytes, bytes]]]) -> None:
    texts = [X + b"".join(b',"%b":%b' % field for field in each) + b"}" for each in events]
    check_same(b",".join(texts))


def both(source: bytes | Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any] | str]:
    """The trace, or the error, with the compiled reader and without it."""

    def outcome() -> dict[str, Any] | str:
        try:
            trace: Trace = read_pytorch_trace(source)
        except UnreadableTraceError as error:
            return str(error)
        return fields(trace)

    found = [outcome()]
    with monkeypatch.context() as patch:
        patch.setattr(pytorch, "compiled_scan", lambda: None)
        found.append(outcome())
    return found


ARGS: dict[str, Any] = {"External id": 7, "dims": [[1], []]}
TRACE = trace_text(
    [
        *(event for i in range(1, 4) for event in launched(i, i, 1.5, i + 1, 0.125, tid=i)),
        annotation("ProfilerStep#1", 0, 9),
        complete("cpu_op", 'aten::mm <"&>\té€😀', 1, 2, **ARGS),
        complete("overhead", "Unrecognised", 1, 2),
        kernel(5, 1, cat="gpu_memcpy", name="Memcpy HtoD"),
        call(5, 1, 9, name="cudaGraphLaunch", tid="thread 5"),
    ]
)
PIECES = [b'"', b"{", b"}", b"]", b",", b"NaN", b"null", b"-1", b"1e999", b"9" * 20, b"\\", b"\xff"]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(TRACE) - 1), st.integers(0, 3), st.sampled_from(PIECES))
def test_traces_and_errors_are_the_same_whatever_is_damaged(
    place: int, removed: int, piece: bytes
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        damaged = TRACE[:place] + piece + TRACE[place + removed :]
        first, second = both(damaged, monkeypatch)
        assert first == second


def test_a_trace_is_the_same_with_and_without_the_extension(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, second = both(TRACE, monkeypatch)
    assert first == second
    assert isinstance(first, dict)

    def broken() -> Any:
        raise ExtensionError("no extension")

    monkeypatch.setattr("ftax_micro.analysis.traces.compiled.core", broken)
    assert compiled_scan() is None
    assert fields(read_pytorch_trace(TRACE)) == first


@pytest.mark.skipif("FTAX_MICRO_TRACES" not in os.environ, reason="FTAX_MICRO_TRACES is not set")
def test_real_traces_are_the_same_and_taken_by_the_compiled_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for path in sorted(Path(os.environ["FTAX_MICRO_TRACES"]).glob("*.json.gz")):
        first, second = both(path, monkeypatch)
        assert first == second
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        assert scan(json.dumps(events)[1:-1].encode()) is not None
