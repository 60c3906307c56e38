"""model_latency's timing of a forward against optimum-benchmark's, on the same model and inputs.

    python bench/latency_peers.py [--quick] [-o FILE]

A 3-layer BERT of width 128, its random weights saved to a temporary folder, loaded from there by
optimum-benchmark's PyTorch backend (its own `no_weights` asks a hub for the configuration). Both
time that module in eager on the inputs that optimum-benchmark makes (tokens, mask, types and
positions) at batch 1, sequence 128, on one thread of the cpu, in one process, by turns:

latency    medians of as many samples; the same thing but for what is said below
time       wall time of as many samples, warm-up included. They are of one distribution, and so are
           as wide an interval's: less time for them is less time for any width
interval   half-widths of both medians' intervals, from each tool's own samples: how alike they are
by its own rule    what one answer takes as each tool comes: ours until its interval is 1 %,
           optimum-benchmark's 10 s, whatever the noise

What is timed differs a little. Ours is ``module(**inputs)`` between two clock reads, in inference
mode throughout. Theirs is a ``with`` statement around a method that enters inference mode, merges
two dictionaries and calls ``module.forward``: some 30 µs more. It tells mean, deviation and
percentiles, but no interval: the one compared here is ours, of its samples.

Targets: ratio of the latencies 0.98 to 1.02; times at most theirs. optimum-benchmark
0.6 imports names that transformers 5 no longer has: it takes an environment of its own, with
transformers 4.57. Without it there is a skipped row.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
from common import attempt, finish, message, parser, ratio
from latency_accuracy import measured, two_sided, typical
from rows import Row, skipped

from ftax_micro import stats
from ftax_micro.collector import old_objects_set_aside
from ftax_micro.interleaving import ForwardProbe, measure_interleaved
from ftax_micro.orchestration.latency.run import LATENCY_PLAN, QUICK_LATENCY_PLAN
from ftax_micro.records import Plan

PEER = "optimum-benchmark"
BATCH, SEQUENCE = 1, 128
SIZES = {
    "hidden_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 512,
}
DEFAULT_S = 10.0  # InferenceConfig's own `duration`


class Answer(NamedTuple):
    """Latencies in seconds, and what it took to get them, warm-up included."""

    samples: Sequence[float]
    wall_s: float

    @property
    def half_width(self) -> float:
        """Of the median's interval, relative; NaN where there are too few samples for one."""
        return stats.median_interval(self.samples).half_width or float("nan")


class Peer(Protocol):
    """optimum-benchmark's own timing: so many forwards at least, for so long at least."""

    def __call__(self, iterations: int, duration_s: float) -> Answer: ...


def main(argv: Sequence[str] | None = None) -> int:
    args = parser(__doc__).parse_args(argv)
    blocks, seconds = (2, 0.05) if args.quick else (150, 0.2)
    name = f"model latency against {PEER}"
    if importlib.util.find_spec("optimum_benchmark") is None:
        return finish("latency_peers", [skipped(name, f"{PEER} is not installed")], args)
    try:
        import torch

        torch.set_num_threads(1)
        forward, peer = same_case()
    except ImportError as error:
        return finish("latency_peers", [skipped(name, f"{PEER} cannot be used: {error}")], args)
    # As in a run of model_latency, which goes through all that a framework has made once.
    gc.collect()
    with torch.inference_mode(), old_objects_set_aside():
        rows = attempt(name, lambda: same_samples(forward, peer, blocks, seconds))
        plan, peer_s = (QUICK_LATENCY_PLAN, 0.2) if args.quick else (LATENCY_PLAN, DEFAULT_S)
        rows += attempt(name, lambda: own_rules(forward, peer, blocks // 12 or 2, plan, peer_s))
    return finish("latency_peers", rows, args, {"blocks": blocks, "block_s": seconds})


def same_case() -> tuple[Callable[[], Any], Peer]:
    """The forward as our eager mode runs it, and optimum-benchmark ready to time the same.

    Errors: `ImportError` where it does not go with the other packages here.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from optimum_benchmark import InferenceConfig, PyTorchConfig
    from optimum_benchmark.backends.pytorch.backend import PyTorchBackend
    from optimum_benchmark.scenarios.inference.scenario import InferenceScenario
    from transformers import BertConfig, BertModel

    message(f"loading a small BERT in {PEER}")
    shapes = {"batch_size": BATCH, "sequence_length": SEQUENCE}
    scenario = InferenceScenario(InferenceConfig(iterations=2, duration=0, input_shapes=shapes))
    with tempfile.TemporaryDirectory() as folder:
        BertModel(BertConfig(**SIZES)).save_pretrained(folder)
        config = PyTorchConfig(
            model=folder, task="feature-extraction", library="transformers", device="cpu"
        )
        backend = PyTorchBackend(config)
        scenario.run(backend)

    def peer(iterations: int, duration_s: float) -> Answer:
        scenario.config.iterations, scenario.config.duration = iterations, duration_s
        begin_s = time.perf_counter()
        scenario.warmup_inference()
        scenario.run_inference_latency_tracking()
        wall_s = time.perf_counter() - begin_s
        return Answer(scenario.report.forward.latency.values, wall_s)

    return eager(backend.pretrained_model, dict(scenario.inputs)), peer


def eager(module: Any, inputs: dict[str, Any]) -> Callable[[], Any]:
    """A forward of `module` in our eager mode."""
    from ftax_micro.models.request import own_spec
    from ftax_micro.models.workload import build_workload
    from ftax_micro.modes import MODES

    workload = build_workload(own_spec("bert", lambda: (module, inputs)))
    return MODES.open("eager")().prepare(workload).forward  # type: ignore[no-any-return]


def same_samples(forward: Callable[[], Any], peer: Peer, blocks: int, seconds: float) -> list[Row]:
    """Latency, time and interval of both, from equally many samples in every block."""
    # Whole blocks of ours, which takes no fewer.
    wanted = max(2, int(seconds / typical(forward)))
    count = len(measured({"it": forward}, samples=wanted, pipelined=False)["it"].samples)

    def ours() -> Answer:
        begin_s = time.perf_counter()
        found = measured({"it": forward}, samples=count, pipelined=False)["it"].samples
        return Answer(found, time.perf_counter() - begin_s)

    answers = by_turns(ours, lambda: peer(count, 0.0), blocks)
    medians = {
        name: [stats.median_interval(each.samples).value for each in given]
        for name, given in answers.items()
    }
    return [
        *two_sided(f"latency over {PEER}'s", medians, PEER),
        times(f"time of as many samples as {PEER}", answers),
        widths(f"interval of as many samples as {PEER}", answers),
    ]


def own_rules(
    forward: Callable[[], Any], peer: Peer, blocks: int, plan: Plan, peer_s: float
) -> Row:
    """Wall time of one answer as each tool gives it, and how wide its interval was."""

    def ours() -> Answer:
        begin_s = time.perf_counter()
        found = measure_interleaved({"it": ForwardProbe(forward)}, plan)["it"].latency
        return Answer(found.samples, time.perf_counter() - begin_s)

    answers = by_turns(ours, lambda: peer(10, peer_s), blocks)
    facts: dict[str, str | float | int | None] = {}
    for name, given in answers.items():
        found = stats.median_interval([each.half_width for each in given])
        facts[f"half-width, {name}"] = found.value
        facts[f"samples, {name}"] = len(given[0].samples)
    row = times(f"time of an answer by its own rule against {PEER}", answers)
    return msgspec.structs.replace(row, facts=facts)


def by_turns(
    ours: Callable[[], Answer], theirs: Callable[[], Answer], blocks: int
) -> dict[str, list[Answer]]:
    """Answers of both in each block, the order turned round from block to block."""
    answers: dict[str, list[Answer]] = {"ours": [], PEER: []}
    tools = {"ours": ours, PEER: theirs}
    for block in range(blocks):
        message(f"against {PEER}, block {block + 1} of {blocks}")
        for name in list(tools)[:: -1 if block % 2 else 1]:
            answers[name].append(tools[name]())
    return answers


def times(name: str, answers: dict[str, list[Answer]]) -> Row:
    """A row of the wall times."""
    walls = {tool: [each.wall_s for each in given] for tool, given in answers.items()}
    return Row(name=name, samples=walls, figures=[ratio(*walls.values(), limit=1.0)])


def widths(name: str, answers: dict[str, list[Answer]]) -> Row:
    """A row of the blocks in which both have an interval: it wants six samples and noise."""
    pairs = [
        (mine.half_width, other.half_width)
        for mine, other in zip(answers["ours"], answers[PEER], strict=True)
        if mine.half_width > 0 and other.half_width > 0  # a NaN is neither
    ]
    if not pairs:
        return skipped(name, "there were too few samples for an interval")
    samples = {"ours": [mine for mine, _ in pairs], PEER: [other for _, other in pairs]}
    return Row(name=name, unit="fraction", samples=samples, figures=[ratio(*samples.values())])


if __name__ == "__main__":
    raise SystemExit(main())
