"""Single layers in the sizes of BERT-Base and ResNet-50, and a mixture-of-experts block."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import UsageError
from ftax_micro.models.contract import Family, Inputs, ModelSpec, Overrides, Shape

if TYPE_CHECKING:
    import torch

_TEXT = Shape(sequence=128)
_FEATURES = Shape(image=56)


def feed_forward(hidden_size: int = 768, intermediate_size: int = 3072) -> torch.nn.Module:
    """A transformer's two linear layers with GELU between them."""
    from torch import nn

    return nn.Sequential(
        nn.Linear(hidden_size, intermediate_size),
        nn.GELU(),
        nn.Linear(intermediate_size, hidden_size),
    )


def rnn(hidden_size: int = 768, num_layers: int = 1) -> torch.nn.Module:
    """A recurrent layer over the sequence."""
    from torch import nn

    return nn.RNN(hidden_size, hidden_size, num_layers, batch_first=True)


def lstm(hidden_size: int = 768, num_layers: int = 1) -> torch.nn.Module:
    """A long short-term memory over the sequence."""
    from torch import nn

    return nn.LSTM(hidden_size, hidden_size, num_layers, batch_first=True)


def conv1d(channels: int = 768, kernel_size: int = 3) -> torch.nn.Module:
    """A convolution along the sequence."""
    from torch import nn

    return nn.Conv1d(channels, channels, kernel_size, padding=kernel_size // 2)


def conv2d(channels: int = 64, kernel_size: int = 3) -> torch.nn.Module:
    """A convolution over an image of features, as in ResNet-50's first stage."""
    from torch import nn

    return nn.Conv2d(channels, channels, kernel_size, padding=kernel_size // 2)


def depthwise_conv2d(channels: int = 64, kernel_size: int = 3) -> torch.nn.Module:
    """The same with each channel on its own."""
    from torch import nn

    return nn.Conv2d(channels, channels, kernel_size, padding=kernel_size // 2, groups=channels)


def layer_norm(hidden_size: int = 768) -> torch.nn.Module:
    """Layer normalisation."""
    from torch import nn

    return nn.LayerNorm(hidden_size)


def multi_head_attention(hidden_size: int = 768, num_attention_heads: int = 12) -> torch.nn.Module:
    """Self-attention with its four projections."""
    from ftax_micro.models.blocks import SelfAttention

    return SelfAttention(hidden_size, num_attention_heads)


def moe_block(
    hidden_size: int = 768, intermediate_size: int = 1536, experts: int = 8, chosen: int = 2
) -> torch.nn.Module:
    """Experts of which each token goes through `chosen`, computed densely for all tokens."""
    from ftax_micro.models.blocks import MixtureOfExperts

    return MixtureOfExperts(hidden_size, intermediate_size, experts, chosen)


def _layer(make: Callable[..., Any], width: str, shape: Shape) -> ModelSpec:
    return ModelSpec(
        name=make.__name__,
        family=Family.layer,
        source=f"torch.nn: {(make.__doc__ or '').rstrip('.')}",
        shape=shape,
        build=functools.partial(_build, make),
        inputs=functools.partial(_activations, make, width),
        parameters=functools.partial(_sizes, make, {}),
    )


def _build(make: Callable[..., Any], _shape: Shape, overrides: Overrides) -> torch.nn.Module:
    try:
        module: torch.nn.Module = make(**overrides)
    except (ValueError, TypeError, AssertionError, ZeroDivisionError, RuntimeError) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"{make.__name__} cannot be built so: {words}") from error
    return module


def _sizes(make: Callable[..., Any], overrides: Overrides) -> dict[str, Any]:
    own = {name: each.default for name, each in inspect.signature(make).parameters.items()}
    return {**own, **overrides}


def _activations(
    make: Callable[..., Any],
    width: str,
    module: torch.nn.Module,
    shape: Shape,
    overrides: Overrides,
) -> Inputs:
    """Random activations: batch × sequence × width, channels first for convolutions."""
    import torch

    channels = int(_sizes(make, overrides)[width])
    if shape.image is not None:
        size: tuple[int, ...] = (shape.batch, channels, shape.image, shape.image)
    elif make is conv1d:
        size = (shape.batch, channels, shape.sequence or 1)
    else:
        size = (shape.batch, shape.sequence or 1, channels)
    return {_first_parameter(module): torch.randn(size)}


def _first_parameter(module: torch.nn.Module) -> str:
    return next(iter(inspect.signature(module.forward).parameters))


SPECS = (
    _layer(feed_forward, "hidden_size", _TEXT),
    _layer(rnn, "hidden_size", _TEXT),
    _layer(lstm, "hidden_size", _TEXT),
    _layer(conv1d, "channels", _TEXT),
    _layer(conv2d, "channels", _FEATURES),
    _layer(depthwise_conv2d, "channels", _FEATURES),
    _layer(layer_norm, "hidden_size", _TEXT),
    _layer(multi_head_attention, "hidden_size", _TEXT),
    _layer(moe_block, "hidden_size", _TEXT),
)
