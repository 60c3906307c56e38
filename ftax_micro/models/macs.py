"""Multiply-accumulates of a forward, by the formulas of PyTorch's own counter, on tensors without
memory.

There is one for each operation that multiplies matrices, convolves or attends. The counter takes
every other one for free, in silence. So each operation without a formula must be known to multiply
nothing of weight; one that is not makes the count unknown, not too small.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import FtaxError, Skip
from ftax_micro.frameworks.dispatching import compiler_is_loaded
from ftax_micro.models.contract import Inputs, ModelSpec, Overrides, Shape
from ftax_micro.models.workload import import_torch

if TYPE_CHECKING:
    import torch

# Operations without a formula that need none: they move, look up, compare, reduce or normalise, at
# a cost in proportion to the elements that they read. Element-wise ones are known by their tag,
# views by their schema.
_FREE_NAMES = """
    _adaptive_avg_pool2d adaptive_max_pool2d all amax amin any arange argmax argmin argsort
    avg_pool1d avg_pool2d avg_pool3d _batch_norm_no_update bernoulli bincount bucketize cat
    constant_pad_nd copy copy_ count_nonzero cummax cummin cumprod cumsum diagonal_copy embedding
    embedding_bag empty empty_like empty_strided eye fill flip full full_like fused_rms_norm
    _fused_rms_norm gather index index_add index_copy index_copy_ index_fill index_put index_put_
    index_select isin item kthvalue lift_fresh lift_fresh_copy linspace _local_scalar_dense
    _log_softmax logcumsumexp logsumexp masked_fill masked_scatter masked_select max
    max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices mean median min mode
    multinomial native_batch_norm _native_batch_norm_legit_no_training native_dropout
    native_group_norm native_layer_norm new_empty new_full new_ones new_zeros nonzero norm normal
    ones ones_like _pdist_forward pixel_shuffle prod rand rand_like randint randn randn_like
    randperm reflection_pad1d reflection_pad2d repeat repeat_interleave replication_pad1d
    replication_pad2d resize_ roll rot90 _safe_softmax scalar_tensor scatter scatter_ scatter_add
    scatter_reduce searchsorted segment_reduce set_ _softmax sort split_with_sizes_copy stack std
    std_mean sum _thnn_fused_gru_cell _thnn_fused_lstm_cell _to_copy topk tril tril_indices triu
    triu_indices unfold_copy _unique2 unique_consecutive unique_dim _unsafe_index unsafe_split
    unsafe_split_with_sizes _unsafe_view upsample_bicubic2d upsample_bilinear2d upsample_linear1d
    upsample_nearest1d upsample_nearest2d var var_mean _weight_norm_interface zero zeros zeros_like
"""
_FREE = frozenset(_FREE_NAMES.split())
# Counting turns fast paths off, after which a forward takes some times as long.
_SHORT_S = 0.1


def count_macs(
    spec: ModelSpec, overrides: Overrides | None = None, shape: Shape | None = None
) -> int:
    """Multiply-accumulates of one step of `spec` at `shape`, half of the counter's FLOPs.

    Built without memory where the model can be; the dtype does not matter. Errors: as
    `build_workload`; `Skip` as `module_macs`.
    """
    torch = import_torch()
    chosen, settings = shape or spec.shape, overrides or {}
    with torch.random.fork_rng(devices=[]), torch.inference_mode(False):
        try:
            return module_macs(*_made(spec, chosen, settings, "meta"))
        except FtaxError:
            raise
        except (NotImplementedError, RuntimeError):
            # A module that computes with tensors while it is made, or asks one for its value.
            return module_macs(*_made(spec, chosen, settings, "cpu"))


def counts_soonest_in_place(forward_s: float) -> bool:
    """Whether a forward of so many seconds is run sooner than counted on ``meta``: what computes
    there imports PyTorch's compiler, which takes seconds where nothing else did.
    """
    return forward_s < _SHORT_S and not compiler_is_loaded()


def module_macs(module: torch.nn.Module, inputs: Inputs, *, in_place: bool = False) -> int:
    """Multiply-accumulates of ``module(**inputs)``; both stay as they are.

    Counted on ``meta``, without arithmetic. A module that asks a tensor for its value cannot run
    there: it runs where it is, as with `in_place`, with attention and recurrence taken apart into
    products that the counter knows. Errors: `Skip` with their names where it executes operations of
    unknown cost; what the module itself raises.
    """
    import torch

    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    # Detached, since the counter follows gradients of weights that could have them.
    state = {name: each.detach() for name, each in tensors.items()}

    def forward(device: str | None) -> None:
        weights = {name: each.to(device) for name, each in state.items()} if device else state
        given = {name: each.to(device) for name, each in inputs.items()} if device else inputs
        with torch.device(device) if device else contextlib.nullcontext():
            torch.func.functional_call(module, weights, kwargs=given)

    if in_place:
        return _counted(lambda: forward(None))
    try:
        return _counted(lambda: forward("meta"))
    except FtaxError:
        raise
    except (NotImplementedError, RuntimeError):  # "cannot be called on meta tensors", mixed devices
        if any(each.is_meta for each in (*state.values(), *inputs.values())):
            raise
        return _counted(lambda: forward(None))


def _made(
    spec: ModelSpec, shape: Shape, settings: Overrides, device: str
) -> tuple[torch.nn.Module, Inputs]:
    import torch

    with torch.device(device):
        module = spec.build(shape, settings).eval()
        return module, spec.inputs(module, shape, settings)


def _counted(forward: Callable[[], None]) -> int:
    """Half of the FLOPs of `forward`, once all operations have a formula or are free."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    counter = _counter()
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with (
            torch.inference_mode(False),
            torch.no_grad(),
            torch.backends.mkldnn.flags(enabled=False),
            torch.backends.cudnn.flags(enabled=False),
            sdpa_kernel(SDPBackend.MATH),
            counter,
        ):
            forward()
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
    if counter.unknown:
        names = ", ".join(sorted(counter.unknown))
        raise Skip(f"no count of multiply-accumulates is known for {names}")
    return int(counter.flops) // 2


def _counter() -> Any:
    """A dispatch mode that sums up `flops`, and keeps the names of what is `unknown`."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    class Count(TorchDispatchMode):  # type: ignore[misc]  # torch's types are not followed
        """What has no formula is taken apart, where it can be, and its parts are counted."""

        def __init__(self) -> None:
            super().__init__()
            self.flops = 0
            self.unknown: set[str] = set()

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return compiler_is_loaded()

        def __torch_dispatch__(
            self, func: Any, _types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = kwargs or {}
            formula = flop_registry.get(getattr(func, "_overloadpacket", func))
            if formula is None and hasattr(func, "decompose"):
                with self:
                    parts = func.decompose(*args, **given)
                if parts is not NotImplemented:
                    return parts
            output = func(*args, **given)
            if formula is not None:
                self.flops += formula(*args, **given, out_val=output)
            elif not _free(func):
                self.unknown.add(str(func).removesuffix(".default").replace(".", "::", 1))
            return output

    return Count()


def _free(operation: Any) -> bool:
    """Whether `operation` is known to multiply nothing of weight."""
    import torch

    schema = getattr(operation, "_schema", None)
    if schema is None:
        return False
    if torch.Tag.pointwise in operation.tags:
        return True
    space, _, name = schema.name.partition("::")
    if space not in ("aten", "prim", "prims"):
        return False
    # A view returns what it was given; so does `detach`, and nothing is computed.
    aliases = [each.alias_info for each in schema.returns]
    if aliases and all(alias is not None and not alias.is_write for alias in aliases):
        return True
    return name in _FREE or name.rstrip("_") in _FREE or torch.Tag.inplace_view in operation.tags
