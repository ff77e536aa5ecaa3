"""MindSpore's meaning of assignments: to a Parameter, and to the settings of a layer.

``assign(p, x * 3)`` gives ``p`` a value that is independent of ``x``: a gradient that reaches ``p`` later ends there,
as the gradient by ``p`` itself. msnb, as JAX and PyTorch, follows it on into ``x``.

A layer hands some of its settings to an operator when it is made: ``norm.eps = 1e-3`` changes nothing afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from msnb import nn
from msnb.base import events
from msnb.core import Tensor, slot
from msnb.eager.recording import is_eager
from msnb.ir import WITH_VJP, HostFn
from msnb.nn.cells.cell import Cell
from msnb.ops.elementwise.identity_and_effects import fitting


def _by_variable(variable: Any, value: Any, dout: Any) -> list[Any]:
    return [dout]


_ATTRS = {"n_in": 1, "n_out": 1, "own": False, "fn": HostFn(_by_variable, "assign")}


def stored(variable: Tensor, value: Tensor) -> Tensor:
    """What ``assign(variable, value)`` stores: ``value``, with the gradient of the variable.

    Args:
        variable: a Parameter, or what stands for it where a gradient by it is taken; any tensor of ``ops.assign``.
        value: a tensor that broadcasts to its shape; one element of any shape where the variable is a scalar.
    """
    value = fitting(variable._type, value)
    tracked = not is_eager(slot.engine) or value._rec is not None or variable._rec is not None
    if not tracked:
        return value
    found: Tensor = slot.engine.apply(WITH_VJP, (variable, value), _ATTRS)
    return found


_POOLS = " ".join(f"{kind}Pool{n}d" for kind in ("Avg", "Max") for n in (1, 2, 3))
_SETTLED = {
    "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm": "eps momentum num_features",
    "LayerNorm": "normalized_shape begin_norm_axis begin_params_axis epsilon",
    "Conv1d Conv2d Conv3d Conv1dTranspose Conv2dTranspose Conv3dTranspose": "stride padding dilation pad_mode group",
    _POOLS: "kernel_size stride pad_mode padding dilation return_indices ceil_mode count_include_pad",
    "Softmax LogSoftmax": "axis",
    "ELU CELU": "alpha",
    "HShrink SoftShrink": "lambd",
    "SmoothL1Loss": "reduction beta",
    "MSELoss MAELoss FocalLoss SoftmaxCrossEntropyWithLogits SoftMarginLoss CosineEmbeddingLoss": "reduction",
}
"""Layers -> what they read once, when they are made."""


def settle_layers(on: bool) -> None:
    """Whether these layers keep the settings that they were made with, whatever is assigned later."""
    for names, settings in _SETTLED.items():
        for layer in (getattr(nn, name) for name in names.split()):
            if on:
                layer.__setattr__ = _assigning(frozenset(settings.split()))
            elif "__setattr__" in vars(layer):
                del layer.__setattr__


def _assigning(settled: frozenset[str]) -> Callable[[Cell, str, object], None]:
    def assign(layer: Cell, name: str, value: object) -> None:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if name not in settled or caller.startswith("msnb.") or not _stays(layer, name, value):
            Cell.__setattr__(layer, name, value)

    return assign


def _stays(layer: Cell, name: str, value: object) -> bool:
    """Whether a setting stays what it was: it is there already, and the layer computes as msnb's does."""
    if not hasattr(layer, name) or not type(layer).construct.__module__.startswith("msnb."):
        return False
    if getattr(layer, name) != value:
        kind = type(layer).__name__
        events.notice(f"{kind}.{name} = {value!r} changes nothing, as in MindSpore: {kind} reads {name} when it is "
                      f"made; pass it to {kind}(...).", key=f"settled {kind}.{name}")  # fmt: skip
    return True
