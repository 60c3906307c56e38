"""Text encoders: the paper's, its authors' list, and one of today's, in their base sizes.

Configurations are those of the published base checkpoints; where a configuration class has these as
its defaults, nothing is said here.
"""

from __future__ import annotations

from typing import Any

from ftax_micro.models.contract import Family, ModelSpec
from ftax_micro.models.transformers_spec import transformers_spec

_BASE: dict[str, Any] = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}
_LARGE: dict[str, Any] = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
}
# The smallest published BERT: two layers of width 128, dispatch and little else.
_TINY: dict[str, Any] = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 512,
}


def _encoder(name: str, stem: str, config: dict[str, Any] | None = None, **more: Any) -> ModelSpec:
    model = more.pop("model", f"{stem}Model")
    return transformers_spec(name, Family.encoder, (model, f"{stem}Config"), config, **more)


SPECS = (
    _encoder("bert_base", "Bert", _BASE),
    _encoder("bert_large", "Bert", _LARGE),
    _encoder("bert_tiny", "Bert", _TINY),
    _encoder("distilbert", "DistilBert"),
    _encoder("roberta", "Roberta", {**_BASE, "vocab_size": 50265, "max_position_embeddings": 514}),
    # The class's defaults are ALBERT xxlarge.
    _encoder("albert", "Albert", {**_BASE, "embedding_size": 128}),
    _encoder("squeezebert", "SqueezeBert"),
    _encoder("mobilebert", "MobileBert"),
    # Three blocks of four layers, halving the length twice: 42 % fewer MACs than BERT-Base.
    _encoder("funnel", "Funnel", model="FunnelBaseModel"),
    _encoder(
        "deberta",
        "Deberta",
        {
            **_BASE,
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "position_biased_input": False,
        },
    ),
    # The class's defaults are v2 xlarge; this is v3 base.
    _encoder(
        "deberta_v2",
        "DebertaV2",
        {
            **_BASE,
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_buckets": 256,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "position_biased_input": False,
        },
    ),
    _encoder(
        "longformer",
        "Longformer",
        {**_BASE, "attention_window": 512, "vocab_size": 50265, "max_position_embeddings": 4098},
    ),
    # As published: as many landmarks as segments, with which the attention is the full one. The
    # approximation, `@segment_means_seq_len=128` at sequence 128, cannot be traced: a mask of ones
    # is left out in eager alone, and does not fit its scores.
    _encoder("nystromformer", "Nystromformer"),
    # Hashes are drawn anew at each forward unless seeded, and then no two outputs are equal.
    _encoder("reformer", "Reformer", {"hash_seed": 0, "num_buckets": 32, "is_decoder": False}),
    _encoder("fnet", "FNet"),
    _encoder("modernbert", "ModernBert"),
)
