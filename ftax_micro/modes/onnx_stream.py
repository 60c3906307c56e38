"""The CUDA stream that ONNX Runtime is given, and whether a run on it waits for the device.

The run option that is to keep ONNX Runtime from waiting is not kept everywhere: older versions wait
after each replay of a CUDA graph, and a node that falls to the cpu waits for its inputs. Versions
do not tell, so it is tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Longer than any host needs for one forward that was seen, and short beside loading a model.
_SHORTEST_S = 0.05
_LONGEST_S = 2.0
# Above any GPU's clock, so that the device is busy for at least as long as asked.
_CYCLES_PER_S = 3.0e9


def new_stream(device: str) -> Any:
    """A stream of our own on `device`; ONNX Runtime cannot capture the default one."""
    import torch

    torch.cuda.synchronize(device)  # the inputs were made on another stream
    return torch.cuda.Stream(device)


def returns_early(forward: Callable[[], Any], stream: Any, busy: Callable[[int], None]) -> bool:
    """Does `forward` return while `stream` is still kept busy with what was launched before it?

    `busy(cycles)` keeps the current stream's device busy. `forward` has run before.
    """
    import torch

    begin_s = time.perf_counter()
    forward()
    stream.synchronize()
    forward_s = time.perf_counter() - begin_s
    busy_s = min(max(_SHORTEST_S, 4 * forward_s), _LONGEST_S)
    with torch.cuda.stream(stream):
        busy(int(busy_s * _CYCLES_PER_S))
    forward()
    early = not stream.query()
    stream.synchronize()
    return early
