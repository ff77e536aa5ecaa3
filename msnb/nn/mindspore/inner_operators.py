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
from msnb.base import events
from msnb.nn.cells.cell import Cell
from msnb.nn.layers.activation import LogSoftmax, ReLU, Sigmoid, Softmax, Tanh
from msnb.nn.layers.basic import Dense, Dropout, Embedding
from msnb.nn.layers.convolution import Conv1d, Conv2d, Conv2dTranspose
from msnb.nn.layers.normalization import BatchNorm1d, BatchNorm2d, LayerNorm
from msnb.nn.layers.pooling import AvgPool2d, MaxPool2d
from msnb.nn.training.loss import LossBase, SoftmaxCrossEntropyWithLogits
from msnb.nn.training.loss_scale import TrainOneStepWithLossScaleCell


class InnerOperator:
    """An attribute of a layer that is made of the layer's settings; an assignment to the layer's attribute wins."""

    def __init__(self, name: str, attributes: Callable[[Any], dict[str, Any]]) -> None:
        self.name: str = name
        self.attributes: Callable[..., Any] = attributes

    def __get__(self, layer: Any, owner: type) -> Any:
        if layer is None:
            return self
        made = getattr(ops, self.name)(**self.attributes(layer))
        made.__dict__["shard"] = lambda *strategies, **named: self._keep(layer, made)
        return made

    def _keep(self, layer: Any, made: Any) -> Any:
        kind = type(layer).__name__
        events.notice(
            f"{kind} does not call the operator {self.name} that it shows: its strategy changes nothing. "
            f"layer.shard(in_strategy) says how a {kind} is split.",
            key=f"InnerOperator.shard {kind}.{self.name}",
        )
        return made


def _convolution(layer: Any) -> dict[str, Any]:
    return {
        "out_channel": layer.out_channels, "kernel_size": layer.kernel_size, "pad_mode": layer.pad_mode,
        "pad": layer.padding, "stride": layer.stride, "dilation": layer.dilation, "group": layer.group,
        "data_format": getattr(layer, "data_format", "NCHW"),
    }  # fmt: skip


def _row_convolution(layer: Any) -> dict[str, Any]:
    sizes = {name: (1, *_last(getattr(layer, name))) for name in ("kernel_size", "stride", "dilation")}
    return {**_convolution(layer), **sizes, "pad": (0, 0, *(_last(layer.padding) * 2))}


def _last(size: Any) -> tuple[int, ...]:
    return tuple(size[-1:]) if isinstance(size, (tuple, list)) else (size,)


def _pooling(layer: Any) -> dict[str, Any]:
    return {"kernel_size": layer.kernel_size, "strides": layer.stride, "pad_mode": layer.pad_mode,
            "data_format": layer.data_format}  # fmt: skip


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
    Conv1d: {
        "conv2d": InnerOperator("Conv2D", _row_convolution),
        "expand_dims": InnerOperator("ExpandDims", lambda layer: {}),
        "squeeze": InnerOperator("Squeeze", lambda layer: {"axis": 2}),
        **_plain(bias_add="BiasAdd", shape="Shape"),
    },
    Conv2dTranspose: {
        "conv2d_transpose": InnerOperator(
            "Conv2DTranspose", lambda layer: {**_convolution(layer), "out_channel": layer.in_channels}
        )
    },
    Embedding: _plain(
        gather="Gather", expand="ExpandDims", reshape="Reshape", reshape_flat="Reshape", get_shp="Shape",
        array_mul="MatMul",
    ),
    Dropout: {"dropout": InnerOperator("Dropout", lambda layer: {"keep_prob": layer.keep_prob})},
    MaxPool2d: {"max_pool": InnerOperator("MaxPool", _pooling)},
    AvgPool2d: {"avg_pool": InnerOperator("AvgPool", _pooling)},
    Softmax: {"softmax": InnerOperator("Softmax", lambda layer: {"axis": layer.axis})},
    LogSoftmax: {"log_softmax": InnerOperator("LogSoftmax", lambda layer: {"axis": layer.axis})},
    Tanh: _plain(tanh="Tanh"),
    Sigmoid: _plain(sigmoid="Sigmoid"),
    ReLU: _plain(relu="ReLU"),
    SoftmaxCrossEntropyWithLogits: _plain(
        softmax_cross_entropy="SoftmaxCrossEntropyWithLogits", one_hot="OneHot",
        sparse_softmax_cross_entropy="SparseSoftmaxCrossEntropyWithLogits",
    ),
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
