"""Where BERT and its like keep what PyTorch's own encoder layer is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import Skip

if TYPE_CHECKING:
    import torch

_BERT = {
    "layers": "encoder.layer",
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}
_DISTILBERT = {
    "layers": "transformer.layer",
    "query": "attention.q_lin",
    "key": "attention.k_lin",
    "value": "attention.v_lin",
    "out": "attention.out_lin",
    "norm1": "sa_layer_norm",
    "linear1": "ffn.lin1",
    "linear2": "ffn.lin2",
    "norm2": "output_layer_norm",
}
# By the name of transformers' class: each has `embeddings`, layers in these places, which compute
# what PyTorch's layer computes, and may have a `pooler`.
_PLACES = {"BertModel": _BERT, "RobertaModel": _BERT, "DistilBertModel": _DISTILBERT}
# The activations that the fast path fuses; its GELU is the exact one, as BERT's is.
_ACTIVATIONS = {"gelu": "gelu", "relu": "relu"}


@dataclass(frozen=True)
class Layer:
    """The parts of one layer: linear layers, and two norms that follow a residual sum."""

    query: Any
    key: Any
    value: Any
    out: Any
    norm1: Any
    linear1: Any
    linear2: Any
    norm2: Any

    @property
    def width(self) -> int:
        """Values of a token between layers."""
        return int(self.linear1.in_features)

    @property
    def inner_width(self) -> int:
        """Values of a token inside of the feed-forward part."""
        return int(self.linear1.out_features)

    @property
    def epsilon(self) -> float:
        """What the norms add to the variance."""
        return float(self.norm1.eps)

    def copy_into(self, own: Any) -> None:
        """Copy all weights into an `nn.TransformerEncoderLayer`."""
        import torch

        inward = (self.query, self.key, self.value)
        pairs = [
            (own.self_attn.in_proj_weight, torch.cat([each.weight for each in inward])),
            (own.self_attn.in_proj_bias, torch.cat([each.bias for each in inward])),
        ]
        parts = (
            (own.self_attn.out_proj, self.out),
            (own.norm1, self.norm1),
            (own.linear1, self.linear1),
            (own.linear2, self.linear2),
            (own.norm2, self.norm2),
        )
        for one, two in parts:
            pairs += [(one.weight, two.weight), (one.bias, two.bias)]
        for target, source in pairs:
            target.copy_(source)


@dataclass(frozen=True)
class Encoder:
    """A text encoder taken apart: embeddings, layers, and a pooler where the model has one."""

    embeddings: Any
    layers: list[Layer]
    heads: int
    activation: str
    pooler: Any


# Without the class's name: one reason for all models of a sweep is one line in a report.
_NO_BERT = "the model is no BERT, RoBERTa or DistilBERT: its layers are not PyTorch's own"


def encoder_of(module: torch.nn.Module) -> Encoder:
    """The parts of a BERT, RoBERTa or DistilBERT of transformers.

    Errors: `Skip` for other models, and for settings that PyTorch's layer or its fast path does not
    have.
    """
    kind = type(module).__name__
    if kind not in _PLACES:
        raise Skip(_NO_BERT)
    places, config = _PLACES[kind], module.config
    settings = config.to_dict() | {key: getattr(config, key) for key in config.attribute_map}
    _check_settings(settings)
    layers = [_layer(each, places) for each in module.get_submodule(places["layers"])]
    if not layers:
        raise Skip("the model has no layers")
    return Encoder(
        embeddings=module.embeddings,
        layers=layers,
        heads=int(settings["num_attention_heads"]),
        activation=_ACTIVATIONS[_activation(settings)],
        pooler=getattr(module, "pooler", None),
    )


def _layer(module: torch.nn.Module, places: Mapping[str, str]) -> Layer:
    found = {name: module.get_submodule(at) for name, at in places.items() if name != "layers"}
    return Layer(**found)


def _check_settings(settings: Mapping[str, Any]) -> None:
    if settings.get("is_decoder"):
        raise Skip("a decoder masks what comes later, which the fast path does not")
    if settings.get("position_embedding_type", "absolute") != "absolute":
        raise Skip("PyTorch's encoder layer has no relative positions")
    if _activation(settings) not in _ACTIVATIONS:
        raise Skip(f"PyTorch's fast path has no activation {_activation(settings)!r}")
    heads = int(settings["num_attention_heads"])
    if heads % 2:
        raise Skip(f"PyTorch's fast path needs an even number of heads, not {heads}")


def _activation(settings: Mapping[str, Any]) -> str:
    return str(settings.get("hidden_act") or settings.get("activation"))
