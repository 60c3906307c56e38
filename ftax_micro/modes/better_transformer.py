"""BetterTransformer: BERT's weights in PyTorch's own encoder, on its fast path for inference.

A layer is one fused operation there, and where sentences are padded, its input is a nested tensor
that holds the tokens and no padding. What the encoder answers at padding is zero.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import PreparationError, preparing
from ftax_micro.frameworks.quiet import quiet
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.encoder_weights import Encoder, encoder_of
from ftax_micro.modes.exchange import runner
from ftax_micro.modes.executed import dispatched
from ftax_micro.modes.outputs import on_cpu
from ftax_micro.modes.waiting import waiting_for

if TYPE_CHECKING:
    import torch

    from ftax_micro.models.workload import Workload

_LAYER = "aten::_transformer_encoder_layer_fwd"
_NESTED = "aten::_nested_tensor_from_mask"
# What the encoder can be given; anything else would be left out silently.
_INPUTS = {"input_ids", "attention_mask"}


class BetterTransformer:
    """`torch.nn.TransformerEncoder` with ``enable_nested_tensor``, between the model's own
    embeddings and pooler.
    """

    def prepare(self, workload: Workload) -> Prepared:
        """Copy the weights, run twice, and see that the fast path is taken.

        On a device, making the nested tensor waits for the mask, at the beginning of a forward.
        """
        found = _checked(workload)
        inputs, synchronise = workload.inputs, waiting_for(workload)
        nested = "attention_mask" in inputs
        begin_s = time.perf_counter()
        with preparing("converting the encoder"), quiet():
            module = _converted(found)
        converted_s = time.perf_counter()

        def forward() -> Any:
            return module(**inputs)

        # The first nested tensor of a process warns that nested tensors may change.
        with preparing("the first run of the converted encoder"), quiet():
            forward()
            executed = dispatched(forward)
            if synchronise:
                synchronise()
        _check_path(executed, len(found.layers), nested)
        first_runs_s = time.perf_counter() - converted_s
        return Prepared(
            forward,
            on_cpu,
            costs_s={"convert": converted_s - begin_s, "first_runs": first_runs_s},
            facts={"nested": nested},
            synchronise=synchronise,
            run=runner(module, tuple(inputs)),
            executed=lambda: dispatched(forward),
        )


def _checked(workload: Workload) -> Encoder:
    """The parts of a model that can run so, with these inputs. Errors: `Skip`."""
    import torch

    if not torch.backends.mha.get_fastpath_enabled():
        raise Skip("PyTorch's fast path is switched off (torch.backends.mha)")
    found = encoder_of(workload.module)
    if extra := set(workload.inputs) - _INPUTS:
        raise Skip(f"PyTorch's encoder has no input {' or '.join(sorted(extra))}")
    if "attention_mask" in workload.inputs:
        _check_mask(workload.inputs["attention_mask"])
    return found


def _converted(found: Encoder) -> torch.nn.Module:
    from torch import nn

    first = found.layers[0]
    layer = nn.TransformerEncoderLayer(
        d_model=first.width,
        nhead=found.heads,
        dim_feedforward=first.inner_width,
        dropout=0.0,
        activation=found.activation,
        layer_norm_eps=first.epsilon,
        batch_first=True,
        device="meta",
        dtype=first.linear1.weight.dtype,
    )
    # Whether padding is to the right is asked once, here, instead of in every forward.
    encoder = nn.TransformerEncoder(
        layer, len(found.layers), enable_nested_tensor=True, mask_check=False
    )
    encoder.to_empty(device=first.linear1.weight.device)
    encoder.requires_grad_(False)
    for own, given in zip(encoder.layers, found.layers, strict=True):
        given.copy_into(own)

    class Converted(nn.Module):  # type: ignore[misc]  # torch's types are not followed
        """The model's forward, its layers replaced."""

        def __init__(self) -> None:
            super().__init__()
            self.embeddings, self.encoder, self.pooler = found.embeddings, encoder, found.pooler

        def forward(
            self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None
        ) -> tuple[torch.Tensor, ...]:
            hidden = self.embeddings(input_ids)
            padding = None if attention_mask is None else attention_mask == 0
            hidden = self.encoder(hidden, src_key_padding_mask=padding)
            return (hidden,) if self.pooler is None else (hidden, self.pooler(hidden))

    return Converted().eval()


def _check_mask(mask: torch.Tensor) -> None:
    """Errors: `Skip` for a mask that a nested tensor cannot stand for."""
    kept = mask != 0
    if mask.dim() != 2 or bool((kept[:, 1:] & ~kept[:, :-1]).any()) or not bool(kept[:, 0].all()):
        raise Skip("a nested tensor needs padding at the right of each sentence, and nowhere else")


def _check_path(executed: dict[str, int], layers: int, nested: bool) -> None:
    """Errors: `PreparationError` where PyTorch chose another path, which it does silently."""
    fused = executed.get(_LAYER, 0)
    if fused != layers:
        raise PreparationError(f"PyTorch took its fast path in {fused} of {layers} layers")
    if nested and not executed.get(_NESTED):
        raise PreparationError("PyTorch made no nested tensor of the padded sentences")
