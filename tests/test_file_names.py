"""Names of files with fields: filled in, safe, or one error that says what there is."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

from ftax_micro.errors import UsageError
from ftax_micro.file_names import FIELDS, literal, parse_name, safe_text, values_here

RANK = {"PMI_RANK": "3", "MPI_LOCALRANKID": "1", "SLURM_JOB_ID": "77"}


def filled(text: str, device: str | None = None, environ: dict[str, str] | None = None) -> str:
    return str(parse_name(Path(text)).path(values_here(device, environ or {})))


def test_fields_are_filled_in() -> None:
    host = safe_text(socket.gethostname())
    assert filled("a/{host}-{device}.json", "cuda:0") == f"a/{host}-cuda-0.json"
    assert filled("{rank}-{local_rank}-{job}.json", None, RANK) == "3-1-77.json"
    assert filled("{pid}") == str(os.getpid())
    assert re.fullmatch(r"\d{8} \d{8}T\d{6}Z", filled("{date} {time}"))


def test_a_name_without_fields_is_as_it_was() -> None:
    assert filled("a b/ü$x.json") == "a b/ü$x.json"
    assert not parse_name("a/b.json").makes_folders


def test_every_field_is_known() -> None:
    launch = {**RANK, "SLURM_PROCID": "3", "SLURM_NODEID": "2"}
    assert values_here("cpu", launch).keys() == FIELDS.keys()


def test_doubled_braces_are_braces() -> None:
    assert filled("{{host}}.json") == "{host}.json"
    assert filled(literal("a{b}/{{c.json")) == "a{b}/{{c.json"


@pytest.mark.parametrize("text", ["{hots}", "{}", "{0}", "{host!r}", "{host:>9}", "{host.name}"])
def test_an_unknown_field_says_which_there_are(text: str) -> None:
    with pytest.raises(UsageError, match=r"there is no field .*; there are \{host\}, \{device\}"):
        parse_name(f"floor-{text}.json")


@pytest.mark.parametrize("text", ["a{.json", "a}.json", "{host", "{ho{st}}"])
def test_half_a_brace_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="brace"):
        parse_name(text)


def test_a_field_without_a_value_says_why_and_what_there_is() -> None:
    with pytest.raises(UsageError) as caught:
        filled("floor-{rank}.json")
    assert "{rank} has no value here, since no launcher" in str(caught.value)
    assert "there are {host}, {date}, {time}, {pid}" in str(caught.value)
    with pytest.raises(UsageError, match="no scheduler's job"):
        filled("floor-{job}.json")


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("NVIDIA H100/80 GB", "NVIDIA-H100-80-GB"),
        ("../../etc", "etc"),
        ("..", ""),
        ("cuda:0", "cuda-0"),
        ("a\nb\0c\x1b[2J", "a-b-c-2J"),
        ("knöten-1.example.org", "knöten-1.example.org"),
        ("x" * 300, "x" * 100),
    ],
)
def test_what_is_filled_in_is_safe_in_a_name(text: str, safe: str) -> None:
    assert safe_text(text) == safe


def test_a_value_that_is_nothing_but_unsafe_is_none() -> None:
    assert "job" not in values_here(environ={"SLURM_JOB_ID": "../"})
