"""The operators that MindSpore's layers hold as attributes, for subclasses that call them.

    class Normed(nn.Dense):
        def construct(self, x):
            return self.bias_add(self.matmul(x, self.weight * scale), self.bias)

A layer here calls functions; these attributes are made when they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.nn.cells.cell import Cell
from msnb.nn.layers.basic import Dense
from msnb.nn.layers.convolution import Conv1d, Conv2d
from msnb.nn.layers.normalization import BatchNorm1d, BatchNorm2d, LayerNorm
from msnb.nn.training.loss import LossBase
from msnb.nn.training.loss_scale import TrainOneStepWithLossScaleCell


class InnerOperator:
    """An attribute of a layer that is made of the layer's settings; an assignment to the layer's attribute wins."""

    def __init__(self, name: str, attributes: Callable[[Any], dict[str, Any]]) -> None:
        self.name: str = name
        self.attributes: Callable[..., Any] = attributes

    def __get__(self, layer: Any, owner: type) -> Any:
        if layer is None:
            return self
        return getattr(ops, self.name)(**self.attributes(layer))


def _convolution(layer: Any) -> dict[str, Any]:
    return {
        "out_channel": layer.out_channels, "kernel_size": layer.kernel_size, "pad_mode": layer.pad_mode,
        "pad": layer.padding, "stride": layer.stride, "dilation": layer.dilation, "group": layer.group,
        "data_format": layer.data_format,
    }  # fmt: skip


def _normalization(layer: Any, training: bool) -> dict[str, Any]:
    share = 1.0 - layer._keep
    return {"is_training": training, "epsilon": layer.eps, "momentum": share, "data_format": layer.data_format}


def _plain(**names: str) -> dict[str, InnerOperator]:
    return {attribute: InnerOperator(name, lambda layer: {}) for attribute, name in names.items()}


_OPERATORS: dict[type[Cell], dict[str, InnerOperator]] = {
    Dense: {
        "matmul": InnerOperator("MatMul", lambda layer: {"transpose_b": True}),
        "bias_add": InnerOperator("BiasAdd", lambda layer: {}),
        **_plain(reshape="Reshape", shape_op="Shape"),
    },
    LossBase: _plain(reduce_mean="ReduceMean", reduce_sum="ReduceSum", mul="Mul", cast="Cast"),
    TrainOneStepWithLossScaleCell: _plain(
        hyper_map="HyperMap", allreduce="AllReduce", less_equal="LessEqual", reduce_sum="ReduceSum"
    ),
    Conv2d: {
        "conv2d": InnerOperator("Conv2D", _convolution),
        "bias_add": InnerOperator("BiasAdd", lambda layer: {"data_format": layer.data_format}),
    },
    Conv1d: {"bias_add": InnerOperator("BiasAdd", lambda layer: {})},
    LayerNorm: {
        "layer_norm": InnerOperator(
            "LayerNorm",
            lambda layer: {
                **dict.fromkeys(("begin_norm_axis", "begin_params_axis"), -len(layer.normalized_shape)),
                "epsilon": layer.epsilon,
            },
        )
    },
    **{
        kind: {
            "bn_train": InnerOperator("BatchNorm", lambda layer: _normalization(layer, True)),
            "bn_infer": InnerOperator("BatchNorm", lambda layer: _normalization(layer, False)),
            **_plain(shape="Shape", reshape="Reshape"),
        }
        for kind in (BatchNorm1d, BatchNorm2d)
    },
}  # fmt: skip


def bind() -> None:
    """Give the layers their attributes."""
    for kind, operators in _OPERATORS.items():
        for name, operator in operators.items():
            setattr(kind, name, operator)


bind()
