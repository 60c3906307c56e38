"""Zero-work twins: a model's depth and sequence of operations with next to nothing to compute.

Every dimension is shrunk to the least that leaves the operations what they are, so that almost only
dispatch remains of a forward. Whether they are the same is for whoever uses a twin to check, by the
operations that both execute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ftax_micro.errors import Skip
from ftax_micro.models.contract import Override, Overrides, Shape
from ftax_micro.models.decoders import LLAMA_160M, QWEN3_600M
from ftax_micro.models.request import ModelRequest

# Two heads of 8: one head's axes may be swapped without a copy, which others need, and GPUs' fused
# attention takes none that is narrower.
_HEADS, _HEAD = 2, 8
_WIDTH = _HEADS * _HEAD

Settings = dict[str, Override]


@dataclass(frozen=True)
class _Rule:
    """Settings and input sizes of a twin; `more` are settings that follow from the full model's
    settings and shape, `sized` sizes that do, `drops` the settings of the full model that the
    twin's replace by another name.
    """

    settings: Settings
    sizes: dict[str, int] = field(default_factory=dict)
    more: Callable[[Overrides, Shape], Settings] | None = None
    drops: tuple[str, ...] = ()
    sized: Callable[[Overrides, Shape], dict[str, int]] | None = None


def twin_of(request: ModelRequest, shape: Shape) -> tuple[dict[str, Override], Shape]:
    """Settings and input shape of the zero-work twin of `request` at `shape`, at batch 1.

    What the request sets and the twin does not (depth, activation, …) stays.
    Errors: `Skip` with the reason where the model has none.
    """
    name = request.spec.name
    rule = _RULES.get(name)
    if rule is None:
        reason = "its dimensions are not for this package to set"
        raise Skip(f"{name} has no zero-work twin: {reason}")
    settings = dict(rule.settings)
    if rule.more:
        settings |= rule.more(request.overrides, shape)
    sizes = rule.sizes | (rule.sized(request.overrides, shape) if rule.sized else {})
    kept = {key: value for key, value in request.overrides.items() if key not in rule.drops}
    return {**kept, **settings}, shape.replaced(batch=1, **sizes)


_TEXT: Settings = {
    "hidden_size": _WIDTH,
    "num_attention_heads": _HEADS,
    "intermediate_size": _WIDTH,
    "vocab_size": _WIDTH,
}
# The class's own names, and the common ones that stand for them.
_COMMON = ("hidden_size", "num_attention_heads", "intermediate_size")
# Two tokens: of a single one, libraries know that it needs no mask.
_TOKENS = {"sequence": 2}
_CONVOLUTIONS = "-".join(["8"] * 7)
_SPEECH: Settings = {
    "hidden_size": _WIDTH,
    "num_attention_heads": _HEADS,
    "intermediate_size": _WIDTH,
    "conv_dim": _CONVOLUTIONS,
    "num_conv_pos_embeddings": 2,
    "num_conv_pos_embedding_groups": 1,
}
# The least that leaves two frames after seven convolutions.
_SOUND = {"audio": 720}


def _heads(given: Settings) -> Callable[[Overrides, Shape], Settings]:
    """The heads of the twin of a model that is `given` so many.

    Keys that several heads share are repeated by operations of their own, and by a copy unless all
    share a single one.
    """

    def settings(overrides: Overrides, _shape: Shape) -> Settings:
        asked = {**given, **overrides}
        heads, keys = asked["num_attention_heads"], asked["num_key_value_heads"]
        if heads == keys:
            return {"num_key_value_heads": _HEADS}
        if keys == 1:
            return {"num_key_value_heads": 1}
        return {"num_attention_heads": 2 * _HEADS, "num_key_value_heads": _HEADS}

    return settings


# Nyströmformer's own defaults, equal: its attention is then the full one.
_LANDMARKS = 64


def _landmarks(overrides: Overrides, _shape: Shape) -> Settings:
    segments, landmarks = (
        overrides.get(name, _LANDMARKS) for name in ("segment_means_seq_len", "num_landmarks")
    )
    full = segments == landmarks
    return {"segment_means_seq_len": 4, "num_landmarks": 4 if full else 2}


# Reformer attends within chunks of so many tokens, and pads what is not a multiple of them.
_CHUNK, _TWIN_CHUNK = 64, 4
_CHUNKS = ("local_attn_chunk_length", "lsh_attn_chunk_length")


def _as_many_chunks(overrides: Overrides, shape: Shape) -> dict[str, int]:
    """Tokens of as many chunks as the full model's; Errors: `Skip` for chunks of two lengths."""
    local, hashed = (int(overrides.get(name, _CHUNK)) for name in _CHUNKS)
    if local != hashed:
        raise Skip("reformer has a zero-work twin only where all its chunks are of one length")
    whole, rest = divmod(shape.sequence or 1, local)
    return {"sequence": _TWIN_CHUNK * whole + (_TWIN_CHUNK // 2 if rest else 0)}


def _text(**settings: Override) -> _Rule:
    return _Rule({**_TEXT, **settings}, _TOKENS)


def _convolutional(divisor: int, image: int) -> _Rule:
    return _Rule({"narrow": divisor}, {"image": image})


_PHASES = ("", "_prefill", "_decode", "_generate")
_DECODERS = {
    "gpt2": _Rule(
        {"n_embd": _WIDTH, "n_head": _HEADS, "vocab_size": _WIDTH},
        _TOKENS,
        drops=(*_COMMON, "n_inner"),
    ),
    "llama_style": _Rule({**_TEXT, "head_dim": _HEAD}, _TOKENS, _heads(LLAMA_160M)),
    "qwen3_style": _Rule({**_TEXT, "head_dim": _HEAD}, _TOKENS, _heads(QWEN3_600M)),
}

_RULES: dict[str, _Rule] = {
    **{f"{name}{phase}": rule for name, rule in _DECODERS.items() for phase in _PHASES},
    **dict.fromkeys(("bert_base", "bert_large", "bert_tiny", "roberta"), _text()),
    "distilbert": _Rule(
        {"dim": _WIDTH, "n_heads": _HEADS, "hidden_dim": _WIDTH, "vocab_size": _WIDTH},
        _TOKENS,
        drops=_COMMON,
    ),
    "albert": _text(embedding_size=_WIDTH),
    "squeezebert": _text(embedding_size=_WIDTH),
    "mobilebert": _text(embedding_size=_WIDTH, intra_bottleneck_size=_WIDTH),
    "funnel": _Rule(
        {
            "d_model": _WIDTH,
            "n_head": _HEADS,
            "d_head": _HEAD,
            "d_inner": _WIDTH,
            "vocab_size": _WIDTH,
        },
        {"sequence": 8},
        drops=_COMMON,
    ),
    "deberta": _text(),
    "deberta_v2": _text(),
    "longformer": _Rule({**_TEXT, "attention_window": 4}, _TOKENS),
    "nystromformer": _Rule({**_TEXT, "conv_kernel_size": 3}, {"sequence": 4}, _landmarks),
    "reformer": _Rule(
        {
            "hidden_size": _WIDTH,
            "num_attention_heads": _HEADS,
            "attention_head_size": _HEAD,
            "feed_forward_size": _WIDTH,
            "axial_pos_embds_dim": f"{_WIDTH // 2}-{_WIDTH // 2}",
            "vocab_size": _WIDTH,
            **dict.fromkeys(_CHUNKS, _TWIN_CHUNK),
        },
        sized=_as_many_chunks,
    ),
    "fnet": _Rule(
        {"hidden_size": _WIDTH, "intermediate_size": _WIDTH, "vocab_size": _WIDTH}, _TOKENS
    ),
    # Longer than its window, as the full model's input is than half of its own.
    "modernbert": _Rule({**_TEXT, "pad_token_id": 0, "local_attention": 2}, {"sequence": 4}),
    **dict.fromkeys(("wavlm", "hubert", "wav2vec2"), _Rule(_SPEECH, _SOUND)),
    "speecht5": _Rule(
        {
            "hidden_size": _WIDTH,
            "encoder_attention_heads": _HEADS,
            "encoder_ffn_dim": _WIDTH,
            "conv_dim": _CONVOLUTIONS,
            "num_conv_pos_embeddings": 2,
            "num_conv_pos_embedding_groups": 1,
        },
        _SOUND,
        drops=_COMMON,
    ),
    **dict.fromkeys(
        ("resnet18", "resnet50", "resnet101", "resnet152", "wide_resnet50_2", "resnext50"),
        _convolutional(64, 32),
    ),
    # Channels are concatenated or split: the divisor is one of all parts.
    "shufflenet_v2": _convolutional(29, 64),
    "squeezenet": _convolutional(16, 32),
    "densenet121": _convolutional(32, 32),
    "densenet161": _convolutional(48, 32),
    "inception_v3": _convolutional(16, 75),
    "googlenet": _convolutional(16, 32),
    "mobilenet_v2": _convolutional(64, 32),
    "efficientnet_b0": _convolutional(64, 32),
    "mnasnet": _convolutional(64, 32),
    "convnext_tiny": _convolutional(96, 32),
    "regnet_y_400mf": _convolutional(64, 32),
    # Adaptive pooling leaves 7 × 7 and 6 × 6 values a channel to the first linear layer.
    "vgg16": _convolutional(512, 32),
    "alexnet": _convolutional(256, 64),
    # As many windows of two as the model has of seven, shifted in the same three of four stages.
    "swin_t": _Rule(
        {"embed_dim": _WIDTH, "num_heads": "2-4-8-16", "window_size": 2, "num_classes": _WIDTH},
        {"image": 64},
    ),
    "vit_b_16": _Rule(
        {"num_heads": _HEADS, "hidden_dim": _WIDTH, "mlp_dim": _WIDTH, "num_classes": _WIDTH},
        {"image": 16},
    ),
    "feed_forward": _Rule({"hidden_size": _WIDTH, "intermediate_size": _WIDTH}, {"sequence": 1}),
    # Step by step: their length is depth.
    "rnn": _Rule({"hidden_size": _WIDTH}),
    "lstm": _Rule({"hidden_size": _WIDTH}),
    "conv1d": _Rule({"channels": _WIDTH}, {"sequence": 1}),
    "conv2d": _Rule({"channels": _WIDTH}, {"image": 1}),
    "depthwise_conv2d": _Rule({"channels": _WIDTH}, {"image": 1}),
    "layer_norm": _Rule({"hidden_size": _WIDTH}, {"sequence": 1}),
    "multi_head_attention": _Rule(
        {"hidden_size": _WIDTH, "num_attention_heads": _HEADS}, {"sequence": 1}
    ),
    "moe_block": _Rule({"hidden_size": _WIDTH, "intermediate_size": _WIDTH}, {"sequence": 1}),
}
