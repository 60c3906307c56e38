"""Image classifiers of torchvision, without downloaded weights, on random images.

What can be changed is what the model's own class takes: depth and width of residual networks and of
the transformers, the width multiplier of the mobile ones, always the number of classes; of
convolutional ones also `narrow`, by which the channels of every layer are divided.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import Skip, UsageError
from ftax_micro.models.contract import Family, Inputs, ModelSpec, Overrides, Shape
from ftax_micro.models.torchvision_import import import_torchvision

if TYPE_CHECKING:
    import torch

_IMAGE = Shape(image=224)
# Only what a number or a word can say can be given on a command line.
_PLAIN = (bool, int, float, str)
_SWIN = "swin_transformer.SwinTransformer"
_TRANSFORMERS = ("vision_transformer.VisionTransformer", _SWIN)


def _classifier(
    name: str,
    source: str,
    settings: Mapping[str, Any] | None = None,
    *,
    shape: Shape = _IMAGE,
    stands_for: str | None = None,
) -> ModelSpec:
    """`source` is a function of torchvision.models, or a class given with its module.

    Only a class lets its depth and width be changed: the function would set them itself.
    """
    given = dict(settings or {})
    return ModelSpec(
        name=name,
        family=Family.vision,
        source=f"torchvision.models.{source}",
        shape=shape,
        build=functools.partial(_build, source, given),
        inputs=_images,
        parameters=functools.partial(_parameters, source, given),
        stands_for=stands_for,
    )


def _resnet(name: str, block: str, layers: str, **settings: Any) -> ModelSpec:
    return _classifier(name, "resnet.ResNet", {"block": block, "layers": layers, **settings})


def _images(_module: torch.nn.Module, shape: Shape, _overrides: Overrides) -> Inputs:
    import torch

    side = shape.image or 1
    return {"x": torch.randn(shape.batch, 3, side, side)}


def _build(
    source: str, given: Mapping[str, Any], shape: Shape, overrides: Overrides
) -> torch.nn.Module:
    settings = {**given, **overrides}
    divisor = settings.pop("narrow", 1)
    if source == "resnet.ResNet":
        settings = _resnet_settings(settings)
    if source == _SWIN:
        settings = _swin_settings(settings)
    if source == "vision_transformer.VisionTransformer":
        settings.setdefault("image_size", shape.image)
    make = _target(source)
    try:
        module: torch.nn.Module = make(**settings)
    except (ValueError, TypeError, AssertionError, ZeroDivisionError) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"torchvision.models.{source} cannot be built so: {words}") from error
    if divisor != 1:
        _narrow(source, module, divisor)
    return module


def _narrow(source: str, module: torch.nn.Module, divisor: Any) -> None:
    from ftax_micro.models.narrowing import narrow

    if not isinstance(divisor, int) or divisor < 1:
        raise UsageError(f"torchvision.models.{source}: narrow is at least 1, not {divisor}")
    narrow(module, divisor)


def _resnet_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Blocks by name, layers as ``3-4-6-3``: a comma separates models on the command line."""
    blocks = {"basic": "BasicBlock", "bottleneck": "Bottleneck"}
    block, layers = str(settings["block"]), str(settings["layers"])
    if block not in blocks:
        raise UsageError(f"block must be {' or '.join(blocks)}, not {block!r}")
    made = {"block": _target(f"resnet.{blocks[block]}"), "layers": _four("layers", layers)}
    return {**settings, **made}


def _swin_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """A number for each of four stages as ``2-2-6-2``, windows and patches by their side."""
    stages = {name: _four(name, str(settings[name])) for name in ("depths", "num_heads")}
    sides = {name: [settings[name]] * 2 for name in ("patch_size", "window_size")}
    return {**settings, **stages, **sides}


def _four(name: str, words: str) -> list[int]:
    numbers = words.split("-")
    if len(numbers) != 4 or not all(each.isdecimal() and int(each) > 0 for each in numbers):
        raise UsageError(f"{name} must be four numbers like 3-4-6-3, not {words!r}")
    return [int(each) for each in numbers]


def _parameters(source: str, given: Mapping[str, Any]) -> dict[str, Any]:
    own = {
        name: parameter.default
        for name, parameter in inspect.signature(_target(source)).parameters.items()
        if isinstance(parameter.default, _PLAIN)
    }
    convolutional = {} if source in _TRANSFORMERS else {"narrow": 1}
    return {"num_classes": 1000, **own, **given, **convolutional}


def _target(source: str) -> Any:
    library = import_torchvision()
    module, _, attribute = source.rpartition(".")
    try:
        home = importlib.import_module(f"torchvision.models.{module}".rstrip("."))
        return getattr(home, attribute)
    except (ImportError, AttributeError) as error:
        raise Skip(f"torchvision {library.__version__} has no models.{source}") from error


# Their default initialisation draws from a truncated distribution by a slow method; random weights
# are what they are meant to be here.
_NO_SLOW_INIT = {"init_weights": False}

SPECS = (
    _resnet("resnet18", "basic", "2-2-2-2"),
    _resnet("resnet50", "bottleneck", "3-4-6-3"),
    _resnet("resnet101", "bottleneck", "3-4-23-3"),
    _resnet("resnet152", "bottleneck", "3-8-36-3"),
    _resnet("wide_resnet50_2", "bottleneck", "3-4-6-3", width_per_group=128),
    _resnet("resnext50", "bottleneck", "3-4-6-3", groups=32, width_per_group=4),
    _classifier("mobilenet_v2", "mobilenet.MobileNetV2"),
    _classifier("shufflenet_v2", "shufflenet_v2_x1_0"),
    _classifier("squeezenet", "squeezenet1_0"),
    _classifier("efficientnet_b0", "efficientnet_b0"),
    _classifier("mnasnet", "mnasnet.MNASNet", {"alpha": 1.0}),
    _classifier("densenet121", "densenet121"),
    _classifier("densenet161", "densenet161"),
    _classifier("inception_v3", "inception_v3", _NO_SLOW_INIT, shape=Shape(image=299)),
    _classifier("googlenet", "googlenet", _NO_SLOW_INIT),
    _classifier("vgg16", "vgg16"),
    _classifier("alexnet", "alexnet"),
    _classifier("convnext_tiny", "convnext_tiny"),
    _classifier(
        "swin_t",
        _SWIN,
        {
            "patch_size": 4,
            "embed_dim": 96,
            "depths": "2-2-6-2",
            "num_heads": "3-6-12-24",
            "window_size": 7,
            "stochastic_depth_prob": 0.2,
        },
    ),
    _classifier("regnet_y_400mf", "regnet_y_400mf"),
    _classifier(
        "vit_b_16",
        "vision_transformer.VisionTransformer",
        {"patch_size": 16, "num_layers": 12, "num_heads": 12, "hidden_dim": 768, "mlp_dim": 3072},
    ),
)
