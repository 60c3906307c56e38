"""A tiny configuration of every model: settings under which a forward takes milliseconds.

And of every family a smaller one still, for what takes seconds an operation: exports and compiles.
"""

from __future__ import annotations

_TEXT = "hidden_size=32,num_hidden_layers=2,num_attention_heads=2,intermediate_size=64"
_WORDS = "vocab_size=500"

TINY = {
    "bert_base": f"{_TEXT},{_WORDS}",
    "bert_large": f"{_TEXT},{_WORDS}",
    "bert_tiny": f"{_TEXT},{_WORDS}",
    "distilbert": f"dim=32,n_layers=2,n_heads=2,hidden_dim=64,{_WORDS}",
    "roberta": f"{_TEXT},{_WORDS}",
    "albert": f"{_TEXT},embedding_size=16,{_WORDS}",
    "squeezebert": f"{_TEXT},embedding_size=32,{_WORDS}",
    "mobilebert": f"num_hidden_layers=2,{_WORDS}",
    "funnel": f"d_model=32,n_head=2,d_head=16,d_inner=64,{_WORDS}",
    "deberta": f"{_TEXT},{_WORDS}",
    "deberta_v2": f"{_TEXT},{_WORDS}",
    "longformer": f"{_TEXT},{_WORDS}",
    "nystromformer": f"{_TEXT},{_WORDS}",
    "reformer": f"feed_forward_size=64,{_WORDS}",
    "fnet": f"hidden_size=32,num_hidden_layers=2,intermediate_size=64,{_WORDS}",
    "modernbert": f"{_TEXT},{_WORDS},pad_token_id=0",
    "gpt2": f"n_embd=32,n_layer=2,n_head=2,{_WORDS}",
    "llama_style": f"{_TEXT},num_key_value_heads=2,{_WORDS}",
    "qwen3_style": f"{_TEXT},num_key_value_heads=1,head_dim=16,{_WORDS}",
    "wavlm": _TEXT,
    "hubert": _TEXT,
    "wav2vec2": _TEXT,
    "speecht5": "encoder_layers=2,encoder_attention_heads=2,encoder_ffn_dim=64,hidden_size=32",
    "resnet50": "layers=1-1-1-1,width_per_group=8",
    "resnext50": "layers=1-1-1-1,groups=2,width_per_group=4",
    "vit_b_16": "num_layers=2,num_heads=2,hidden_dim=32,mlp_dim=64",
    "mobilenet_v2": "width_mult=0.1",
    "feed_forward": "hidden_size=16,intermediate_size=32",
    "rnn": "hidden_size=16",
    "lstm": "hidden_size=16",
    "conv1d": "channels=8",
    "conv2d": "channels=8",
    "depthwise_conv2d": "channels=8",
    "layer_norm": "hidden_size=16",
    "multi_head_attention": "hidden_size=16,num_attention_heads=2",
    "moe_block": "hidden_size=16,intermediate_size=32",
}

# Their inputs and outputs do not all begin with the batch.
PHASES = {
    f"{name}_{phase}": TINY[name]
    for name in ("gpt2", "llama_style", "qwen3_style")
    for phase in ("prefill", "decode")
} | {"gpt2_generate": TINY["gpt2"]}

# Sizes under which every family's forward is short and still valid.
SIZES = {"sequence": 16, "image": 64, "audio": 4000}

_ONE_LAYER = "hidden_size=16,num_attention_heads=2,num_hidden_layers=1,intermediate_size=16"

# A model of each family with few operations, and the sizes of its input.
SMALLEST: dict[str, tuple[str, dict[str, int]]] = {
    "encoder": (f"bert_tiny@{_ONE_LAYER},vocab_size=50", {"sequence": 4}),
    "decoder": ("gpt2@n_embd=16,n_layer=1,n_head=2,vocab_size=50", {"sequence": 4}),
    "vision": ("alexnet@narrow=16,num_classes=10", {"image": 64}),
    "speech": (f"wav2vec2@{_ONE_LAYER}", {"audio": 800}),
    "layer": ("feed_forward@hidden_size=16,intermediate_size=16", {"sequence": 4}),
}


def tiny(name: str) -> str:
    """What to ask for to get `name` in its tiny configuration."""
    known = TINY | PHASES
    return f"{name}@{known[name]}" if name in known else name
