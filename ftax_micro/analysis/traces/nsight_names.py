"""What Nsight Systems calls things, in the names that PyTorch's profiler gives them.

So that one view shows either trace, and one question finds the same calls in both.

Values of the enumerations: Nsight Systems, Post-Collection Analysis Guide, "SQLite Schema Event
Values", and the ENUM_ tables of exports from 2023.1 on. Names of the other side: pytorch/kineto,
libkineto/src/CuptiActivity.cpp and cupti_strings.cpp; pytorch, torch/csrc/profiler/util.cpp.
"""

from __future__ import annotations

import re

from ftax_micro.analysis.traces.events import SpanKind, span_kind

_COPIES = {
    **{1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD"},
    **{9: "HtoH", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD"},
}
# What the driver moves by itself when a page of unified memory is touched.
MIGRATIONS = (11, 12, 13)
_MEMORY = {
    **{0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed"},
    **{5: "Device Static", 6: "Managed Static"},
}

# The version of a callback's interface, as CUPTI appends it: cudaLaunchKernel_v7000. The _v2 of
# cuMemcpyHtoD_v2 is part of the driver's own name.
_INTERFACE_VERSION = re.compile(r"_v\d{4,}$")

# What emit_nvtx appends to the name of an op: ", seq = 4, op_id = 12, sizes = [[2, 3]]".
_ABOUT_OP = re.compile(r", (seq|op_id|sizes|input_op_ids) = ")
_OP = re.compile(r"::|Backward\d*$")


def call_name(name: str) -> str:
    """The name of a runtime or driver function, without the version of its interface."""
    return _INTERFACE_VERSION.sub("", name)


def copy_name(kind: int, source: int, target: int) -> str:
    """A copy, with the memory it is between where the export has that (NONE: not)."""
    direction = _COPIES.get(kind, "Unknown")
    if kind in MIGRATIONS:
        return f"Memcpy {direction} (Unified)"
    if source not in _MEMORY and target not in _MEMORY:
        return f"Memcpy {direction}"
    ends = _MEMORY.get(source, "Unknown"), _MEMORY.get(target, "Unknown")
    return f"Memcpy {direction} ({ends[0]} -> {ends[1]})"


def set_name(memory: int) -> str:
    """A set, with the memory it is of where the export has that."""
    return f"Memset ({_MEMORY[memory]})" if memory in _MEMORY else "Memset"


def without_op(text: str) -> tuple[str, bool]:
    """The text of a range without what PyTorch's `emit_nvtx` says of an op in it, if it does."""
    found = _ABOUT_OP.search(text) if " = " in text else None
    return (text[: found.start()], True) if found else (text, False)


def range_name(text: str, of_op: bool, domain: str | None) -> tuple[str, SpanKind]:
    """The name and kind of an NVTX range, from `without_op`; `domain` None is the default one.

    A range of PyTorch's `emit_nvtx` is an op, by the name it has in PyTorch's own traces. Names in
    other domains are preceded by theirs, as Nsight Systems shows them.
    """
    if domain is not None:
        return f"{domain}:{text}", SpanKind.ANNOTATION
    if of_op and _OP.search(text):
        return text, SpanKind.OP
    return text, span_kind(text)
