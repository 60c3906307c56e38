"""Making a built convolutional network narrower: the same layers, each with fewer channels."""

from __future__ import annotations

import math

from torch import nn

# An image's channels, which stay.
_COLOURS = 3


def narrow(module: nn.Module, divisor: int) -> None:
    """Divide the number of channels of each layer of `module` by `divisor`, rounded up, in place.

    The layers get new random weights. What concatenates or splits channels stays consistent where
    the parts are multiples of `divisor`. A convolution keeps as many groups as its channels allow.
    """
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            narrower = _narrower(child, divisor)
            if narrower is not None:
                setattr(parent, name, narrower)
        scale = getattr(parent, "layer_scale", None)  # ConvNeXt's, one weight a channel
        if isinstance(scale, nn.Parameter):
            parent.layer_scale = nn.Parameter(scale[: _fewer(scale.shape[0], divisor)].clone())


def _narrower(layer: nn.Module, divisor: int) -> nn.Module | None:
    if isinstance(layer, nn.Conv2d):
        return _convolution(layer, divisor)
    if isinstance(layer, nn.Linear):
        sizes = (_fewer(size, divisor) for size in (layer.in_features, layer.out_features))
        return nn.Linear(*sizes, bias=layer.bias is not None)
    if isinstance(layer, nn.BatchNorm2d):
        return nn.BatchNorm2d(_fewer(layer.num_features, divisor), layer.eps, layer.momentum)
    if isinstance(layer, nn.LayerNorm):
        return type(layer)([_fewer(size, divisor) for size in layer.normalized_shape], layer.eps)
    return None


def _convolution(layer: nn.Conv2d, divisor: int) -> nn.Conv2d:
    into = layer.in_channels
    into = into if into == _COLOURS else _fewer(into, divisor)
    out = _fewer(layer.out_channels, divisor)
    depthwise = layer.groups == layer.in_channels
    return nn.Conv2d(
        into,
        out,
        layer.kernel_size,
        stride=layer.stride,
        padding=layer.padding,
        dilation=layer.dilation,
        groups=into if depthwise and out % into == 0 else math.gcd(layer.groups, into, out),
        bias=layer.bias is not None,
        padding_mode=layer.padding_mode,
    )


def _fewer(channels: int, divisor: int) -> int:
    return -(-channels // divisor)
