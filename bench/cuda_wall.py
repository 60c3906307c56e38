"""How long does the launch anatomy of a GPU take?

    python bench/cuda_wall.py [--quick] [--probe NAME[,NAME]] [--fake-dir DIR] [-o FILE]

Wall time of `launch_floor --device cuda --quick`, some processes one after the other, and of one
with default settings, all included: on the GPU of this machine, and over the tests' fake driver and
fake CUPTI, whose calls and kernels take about as long as a recent GPU's (COSTS). What the fake
cannot tell of a GPU is how long its context takes to open. What it has beyond one: its device is a
thread, so that waking it is in every wait, on a machine of two cores beside both of our threads.

Targets: a quick run within 15 s, a default run within 180 s. (--quick: one quick run alone.)
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from common import ROOT, attempt, finish, measured_by, message, observed, parser
from rows import Row, skipped

from ftax_micro.devices import cuda_unavailable_reason
from ftax_micro.devices._extension import core

QUICK_S, DEFAULT_S = 15.0, 180.0
# Assumed of a recent GPU, in nanoseconds of the fake's settings: a launch call and what follows it
# to the kernel come to some 5 µs, where of an H100 and an H200 2.4 to 4.7 µs are published (arXiv
# 2504.11750, arXiv 2603.12465).
COSTS = {
    "submit_ns": 2000,
    "submit_ex_ns": 2000,
    "submit_dependent_ns": 2100,
    "submit_cooperative_ns": 2500,
    "submit_runtime_ns": 2200,
    "traced_call_ns": 1000,
    "h2d_ns": 500,
    "d2h_ns": 700,
    "start_ns": 3000,
    "start_active_ns": 2500,
    "gap_ns": 1000,
    "gap_dependent_ns": 500,
    "body_ns": 1500,
    "sync_spin_ns": 3000,
    "sync_yield_ns": 3500,
    "sync_blocking_ns": 15000,
    "sync_query_ns": 3000,
    "query_ns": 800,
    "stream_sync_idle_ns": 700,
    "event_sync_idle_ns": 700,
    "ctx_sync_idle_ns": 1500,
    "event_record_ns": 900,
    "stream_wait_ns": 700,
    "memset_submit_ns": 2500,
    "h2d_submit_ns": 2500,
    "d2h_submit_ns": 2500,
    "memset_ns": 2000,
    "h2d_copy_ns": 1500,
    "d2h_copy_ns": 1500,
    "pageable_h2d_ns": 2000,
    "pageable_d2h_ns": 8000,
    "capture_begin_ns": 1000,
    "capture_node_ns": 700,
    "capture_end_ns": 3000,
    "graph_instantiate_ns": 20000,
    "graph_instantiate_node_ns": 1000,
    "graph_upload_ns": 10000,
    "graph_upload_node_ns": 100,
    "graph_update_ns": 10000,
    "graph_update_node_ns": 500,
    "graph_launch_ns": 5000,
    "graph_launch_node_ns": 20,
    "graph_start_ns": 4000,
    "graph_gap_ns": 800,
    "knee": 1024,
}


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--fake-dir", type=Path, help="where the fake driver is built and kept")
    options.add_argument("--probe", metavar="NAME[,NAME]", help="only these rows")
    args = options.parse_args(argv)
    runs = 1 if args.quick else 5
    chosen = ["--device", "cuda", *(["--probe", args.probe] if args.probe else [])]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        places: dict[str, dict[str, str] | str] = {"GPU": cuda_unavailable_reason() or {}}
        places["fake driver"] = fake_environment(args.fake_dir or Path(folder))
        for place, environment in places.items():
            quick, default = f"wall time, --quick, {place}", f"wall time, {place}"
            if isinstance(environment, str):
                rows += [skipped(name, environment) for name in (quick, default)]
                continue
            measure = functools.partial(walls, environment=environment)
            brief = [*chosen, "--quick"]
            rows += attempt(quick, functools.partial(measure, quick, brief, runs, QUICK_S))
            if not args.quick:
                rows += attempt(default, functools.partial(measure, default, chosen, 1, DEFAULT_S))
    return finish("cuda_wall", rows, args, {"runs": runs, **COSTS})


def fake_environment(folder: Path) -> dict[str, str] | str:
    """What makes a process find the fake driver; or why there is none."""
    sys.path.insert(0, str(ROOT / "tests"))
    import fake_cupti
    from fake_cuda.build import Builder, NotBuildable

    if not core().has_cuda:
        return str(cuda_unavailable_reason())
    try:
        builder = Builder(folder)
        libraries = builder.driver(), builder.runtime()
    except NotBuildable as reason:
        return str(reason)
    return {
        "CUDA_VISIBLE_DEVICES": "0",
        "FTAX_MICRO_CUDA_DRIVER": str(libraries[0]),
        "FTAX_MICRO_CUDA_RUNTIME": str(libraries[1]),
        "FAKE_CUDA": ",".join(f"{name}={value}" for name, value in COSTS.items()),
        "PYTHONPATH": str(fake_cupti.FOLDER),
    }


def walls(
    name: str, options: Sequence[str], runs: int, limit_s: float, environment: Mapping[str, str]
) -> Row:
    """Wall times of `runs` processes, and how many rows of the last ended how."""
    taken: list[float] = []
    for number in range(runs):
        message(f"{name}: run {number + 1}")
        result, wall_s = measured_by("launch_floor", *options, environment=environment)
        taken.append(wall_s)
    figures = [
        observed("median" if runs > 1 else "took", median(taken), "s", limit_s),
        *([observed("slowest", max(taken), "s")] if runs > 1 else []),
    ]
    ended = Counter(row.status for row in result.measurements)
    facts = {f"rows {status}": count for status, count in ended.items()}
    return Row(name=name, samples={"ours": taken}, figures=figures, facts=facts)


if __name__ == "__main__":
    sys.exit(main())
