"""What the paper found, as data: Fernandez, Kahn, Na, Bisk, Strubell, *The Framework Tax:
Disparities Between Inference Efficiency in NLP Research and Deployment*, EMNLP 2023, arXiv
2302.06117v2. Facts and figures, in our words; where each is from stands beside it.
"""

from __future__ import annotations

from typing import NamedTuple

PAPER = "arXiv 2302.06117"

# Section 4: faster than eager at batch 1 in FP16, on average over its models; of eager's latency.
SAVED_OVER_EAGER = {"torchscript": 0.3416, "onnxruntime": 0.7138}
# Section 5: FNet in eager PyTorch against BERT in ONNX Runtime, at batch 1.
FNET_SAVED = 0.1031
# Section 4: sparse execution against static CUDA graphs, batch 128, Penn Treebank lengths.
NESTED_SAVED, NESTED_BATCH = 0.8056, 128
# Up to here the frameworks differ (section 4).
FRAMEWORKS_DIFFER_TO_BATCH = 16


class Finding(NamedTuple):
    """A check: its number or table, what the paper says, and where."""

    name: str
    claim: str
    source: str


FINDINGS = (
    Finding(
        "1",
        "at batch 1 in FP16, TorchScript and ONNX Runtime take 34.16 % and 71.38 % off eager's "
        "latency on average",
        f"{PAPER}, section 4",
    ),
    Finding(
        "2",
        "latency is flat in batch size up to a crossover, then grows; the crossover differs by "
        "model",
        f"{PAPER}, Figures 3 and 4",
    ),
    Finding(
        "3",
        "FP16 moves the crossover to larger batches, and does not help while framework-bound",
        f"{PAPER}, Figure 4",
    ),
    Finding(
        "4",
        "depth adds latency in both regimes; width is free while framework-bound",
        f"{PAPER}, Figure 6 and Table 1",
    ),
    Finding(
        "5",
        "Funnel Transformer is slower than BERT at every small batch in spite of fewer MACs",
        f"{PAPER}, Figure 7",
    ),
    Finding(
        "6",
        "SqueezeBERT and MobileBERT are slower than BERT at small batch and faster at large",
        f"{PAPER}, Figure 8",
    ),
    Finding(
        "7",
        "FNet in eager PyTorch beats BERT in ONNX Runtime by 10.31 % at batch 1",
        f"{PAPER}, section 5",
    ),
    Finding(
        "8",
        "sparse execution takes 80.56 % off static CUDA graphs' latency at batch 128 on Penn "
        "Treebank lengths",
        f"{PAPER}, Figure 5",
    ),
    Finding(
        "9",
        "a faster GPU need not be faster at batch 1",
        f"{PAPER}, Figure 9 and Table 2",
    ),
    Finding(
        "10",
        "faster GPUs stay framework-bound up to larger batches",
        f"{PAPER}, Figure 9",
    ),
    Finding("11", "above batch 16 frameworks hardly differ", f"{PAPER}, Figure 4"),
    Finding(
        "12",
        "for framework-bound models the number of operations predicts latency better than MACs",
        f"{PAPER}, Figure 1",
    ),
    Finding(
        "table 1",
        "BERT in eager takes as long with twice the width, four times the batch or four times the "
        "length",
        f"{PAPER}, Table 1",
    ),
    Finding(
        "table 3",
        "the less a framework costs the host, the shorter the latency and the busier the SMs",
        f"{PAPER}, Table 3",
    ),
)


class WidthRow(NamedTuple):
    """A row of Table 1 (RTX 8000, eager); seconds."""

    hidden: int
    feed_forward: int
    batch: int
    sequence: int
    latency_s: float


TABLE_1 = (
    WidthRow(768, 3072, 1, 128, 13.6e-3),
    WidthRow(768, 3072, 4, 128, 13.4e-3),
    WidthRow(768, 3072, 1, 512, 13.4e-3),
    WidthRow(1536, 6144, 1, 128, 13.4e-3),
)


class UtilisationRow(NamedTuple):
    """A row of Table 3 (BERT-Base, batch 1); seconds, and shares of the SMs and of their warps."""

    mode: str
    latency_s: float
    sm_active: float
    occupancy: float


TABLE_3 = (
    UtilisationRow("eager", 10.54e-3, 0.026, 0.009),
    UtilisationRow("torchscript", 6.14e-3, 0.185, 0.030),
    UtilisationRow("cuda_graph", 2.82e-3, 0.57, 0.092),
    UtilisationRow("onnxruntime", 2.56e-3, 0.223, 0.095),
    UtilisationRow("onnxruntime_cuda_graph", 2.11e-3, 0.59, 0.203),
)
