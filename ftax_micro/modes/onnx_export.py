"""A workload as an ONNX model: by PyTorch's dynamo exporter, or by its older one.

The older exporter traces one forward and can be wrong where the other refuses (Longformer); whether
it was is asked of the outputs, as for every mode.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro.errors import FtaxError
from ftax_micro.frameworks.onnx_packages import import_for_export
from ftax_micro.frameworks.preparation import PreparationError, first_line
from ftax_micro.modes.onnx_silence import silenced
from ftax_micro.records import Record

if TYPE_CHECKING:
    import torch

    from ftax_micro.models.workload import Workload

_LOG = logging.getLogger("ftax_micro.modes")
MODEL_FILE = "model.onnx"
EXPORTERS = ("dynamo", "legacy")


class Exported(Record, frozen=True, kw_only=True):
    """How a model was exported: by which exporter, to which opset, with how many nodes.

    `refused` is why the exporters tried before could not, one line each.
    """

    exporter: str
    opset: int
    nodes: int
    refused: tuple[str, ...] = ()


def export(workload: Workload, folder: Path) -> Exported:
    """`workload` at its own shapes as `MODEL_FILE` in `folder`, weights in files beside it.

    Errors: `PreparationError` with the reason of each exporter, where none can; `Skip` where a
    package is missing.
    """
    onnx = import_for_export()
    refused: list[str] = []
    for exporter in EXPORTERS:
        try:
            _export(workload, folder / MODEL_FILE, exporter)
            model = onnx.load(folder / MODEL_FILE, load_external_data=False)
        except Exception as error:
            _raise_own(error)
            _LOG.info("ONNX export by the %s exporter failed", exporter, exc_info=True)
            refused.append(f"{exporter} exporter: {first_line(_cause(error))}")
            _clear(folder)
            continue
        opset = next(each.version for each in model.opset_import if each.domain in ("", "ai.onnx"))
        nodes = len(model.graph.node)
        return Exported(exporter=exporter, opset=opset, nodes=nodes, refused=tuple(refused))
    raise PreparationError(f"ONNX export failed: {'; '.join(refused)}")


def _export(workload: Workload, path: Path, exporter: str) -> None:
    import torch

    from ftax_micro.modes.positional import Positional

    names, inputs = tuple(workload.inputs), tuple(workload.inputs.values())
    module = Positional(workload.module, names).eval()
    dynamo = exporter == "dynamo"
    with silenced(), contextlib.nullcontext() if dynamo else _plain_attention(torch):
        torch.onnx.export(
            module,
            inputs,
            str(path),
            input_names=list(names),
            dynamo=dynamo,
            external_data=True,
            verbose=False,
        )


@contextlib.contextmanager
def _plain_attention(torch: torch.types.ModuleType) -> Iterator[None]:
    """Attention as plain operations: the fused one has no counterpart in the older exporter."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _raise_own(error: BaseException) -> None:
    """An interruption stays one, even where an exporter wrapped it into an error of its own."""
    each: BaseException | None = error
    while each is not None:
        if isinstance(each, FtaxError):
            raise each
        each = each.__cause__ or each.__context__


def _cause(error: Exception) -> Exception:
    """What an exporter's error was raised from: its own text is the same for all of them."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
