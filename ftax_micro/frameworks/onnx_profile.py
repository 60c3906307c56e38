"""What ONNX Runtime executes of a model, counted from its own profile of one run."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ftax_micro.errors import FtaxError, Skip
from ftax_micro.frameworks.onnx_session import Target, open_session
from ftax_micro.frameworks.preparation import first_line

_KERNEL = "_kernel_time"


def executed_nodes(model: Path, target: Target, run: Callable[[Any], None]) -> dict[str, int]:
    """How often each operator ran in one forward, after ONNX Runtime's graph optimisations.

    `run(session)` does one forward in a session of its own, made for this count.
    Errors: `Skip` where it cannot be profiled, with the reason.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="ftax-micro-onnx-") as folder:
            profiled = replace(target, cuda_graph=False, profile=Path(folder) / "profile")
            session = open_session(model, profiled)
            run(session)
            events = json.loads(Path(session.end_profiling()).read_bytes())
    except FtaxError:
        raise
    except Exception as error:
        raise Skip(f"ONNX Runtime's profile cannot be had: {first_line(error)}") from error
    return count_nodes(events)


def count_nodes(events: list[Mapping[str, Any]]) -> dict[str, int]:
    """Nodes by operator in a profile's `events`, the most frequent first."""
    nodes = Counter(
        str(event["args"].get("op_name", "unnamed"))
        for event in events
        if event.get("cat") == "Node" and str(event.get("name", "")).endswith(_KERNEL)
    )
    return dict(nodes.most_common())
