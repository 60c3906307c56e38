from __future__ import annotations

import msgspec
import pytest

from ftax_micro.facts import Environment, GpuFacts, GpuProcess, HostFacts, NumaNode, ProcessFacts


def environment() -> Environment:
    return Environment(
        captured_at="2026-11-21T04:00:00+00:00",
        command=["ftax-micro", "launch_floor"],
        build_id=None,
        process=ProcessFacts(
            python_version="3.12.1",
            python_implementation="CPython",
            python_debug_build=False,
            python_free_threaded=False,
        ),
        host=HostFacts(numa_nodes=[NumaNode(index=0, cpus=[0, 1])], unknown={"turbo": "no /sys"}),
        gpus=[GpuFacts(index=0, processes=[GpuProcess(pid=1, kinds=["compute"])])],
    )


def test_json_round_trip() -> None:
    before = environment()
    text = msgspec.json.encode(before)
    assert msgspec.json.decode(text, type=Environment) == before


def test_records_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        environment().host.turbo = True  # type: ignore[misc]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('"index":0,"cpus"', '"index":"0","cpus"', r"\$\.host\.numa_nodes\[0\]\.index"),
        ('"turbo":null', '"turbo":0.5', r"\$\.host\.turbo"),
        ('"pid":1', '"pid":1,"extra":2', "extra"),
    ],
)
def test_reading_is_strict_and_names_the_field(old: str, new: str, where: str) -> None:
    text = msgspec.json.encode(environment()).decode()
    assert old in text
    with pytest.raises(msgspec.ValidationError, match=where):
        msgspec.json.decode(text.replace(old, new), type=Environment)


def test_what_is_not_given_is_none_not_a_number() -> None:
    host, gpu = HostFacts(), GpuFacts(index=0)
    for facts, given in ((host, {"unknown"}), (gpu, {"unknown", "index"})):
        values = {f: getattr(facts, f) for f in facts.__struct_fields__ if f not in given}
        assert set(values.values()) == {None}
