"""Layers of MindSpore that are short compositions: triangles, tables of a part, two inputs, a layer over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import Parameter, dtypes
from msnb.nn.cells.cell import Cell
from msnb.nn.initializer import Uniform, initializer
from msnb.nn.training.loss import LossBase
from msnb.ops.definition.type_inference import need_numbers

__all__ = [
    "BiDense", "CentralCrop", "EmbeddingLookup", "L1Regularizer", "MultiLabelSoftMarginLoss",
    "TimeDistributed", "Tril", "Triu",
]  # fmt: skip


class Tril(Cell):
    """The lower triangle of matrices.

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.Tril.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Tril()(ms.Tensor([[1, 2], [3, 4]])).tolist()
        [[1, 0], [3, 4]]
    """

    def construct(self, x: Any, k: int = 0) -> Any:
        """x with zeros above diagonal k."""
        return ops.tril(x, k)


class Triu(Cell):
    """The upper triangle of matrices.

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.Triu.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Triu()(ms.Tensor([[1, 2], [3, 4]])).tolist()
        [[1, 2], [0, 4]]
    """

    def construct(self, x: Any, k: int = 0) -> Any:
        """x with zeros below diagonal k."""
        return ops.triu(x, k)


class BiDense(Cell):
    """x1 W x2 + b, one matrix W for each output.

    Args:
        in1_channels, in2_channels: sizes of the last axes of the inputs.
        out_channels: size of the last axis of the result.
        weight_init, bias_init: tensors or initializers; uniform within 1/sqrt(in1_channels) unless given.
        has_bias: whether b is added.
        dtype: of the Parameters.

    Source: `mindspore.nn.BiDense`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.BiDense(20, 30, 40)(ms.ops.ones((128, 20)), ms.ops.ones((128, 30))).shape
        (128, 40)
    """

    weight: Parameter

    def __init__(
        self, in1_channels: int, in2_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None,
        has_bias: bool = True, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        if min(in1_channels, in2_channels, out_channels) < 1:
            raise AttributeValueError("BiDense: the numbers of channels must be at least 1.")
        near = Uniform(in1_channels**-0.5)
        shape = (out_channels, in1_channels, in2_channels)
        self.weight = Parameter(initializer(near if weight_init is None else weight_init, shape, dtype), name="weight")
        self.bias: Parameter | None = None
        if has_bias:
            self.bias = Parameter(initializer(near if bias_init is None else bias_init, (out_channels,), dtype), "bias")

    def construct(self, input1: Any, input2: Any) -> Any:
        """The layer."""
        return ops.bilinear(input1, input2, self.weight, self.bias)


class EmbeddingLookup(Cell):
    """Rows of a table; an index outside of it gives zeros.

    Args:
        vocab_size: rows of the table.
        embedding_size: columns.
        param_init: a tensor or an initializer.
        target: "CPU" or "DEVICE": the table lies where the program runs.
        slice_mode, manual_shapes, vocab_cache_size: their defaults only.
        max_norm: rows are shortened to this norm, None: they stay.
        sparse: a bool; gradients of the table are dense tensors.
        dtype: of the table.

    Source: `mindspore.nn.EmbeddingLookup`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.EmbeddingLookup(4, 2, param_init="ones")(ms.Tensor([0, 9])).tolist()
        [[1.0, 1.0], [0.0, 0.0]]
    """

    BATCH_SLICE, FIELD_SLICE = "batch_slice", "field_slice"
    TABLE_ROW_SLICE, TABLE_COLUMN_SLICE = "table_row_slice", "table_column_slice"

    def __init__(
        self, vocab_size: int, embedding_size: int, param_init: Any = "normal", target: str = "CPU",
        slice_mode: str = "batch_slice", manual_shapes: Any = None, max_norm: float | None = None,
        sparse: bool = True, vocab_cache_size: int = 0, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        if target not in ("CPU", "DEVICE") or not isinstance(sparse, bool):
            raise AttributeValueError(f"EmbeddingLookup: target is 'CPU' or 'DEVICE', got {target!r}.")
        if slice_mode != "batch_slice" or manual_shapes is not None or vocab_cache_size:
            raise AttributeValueError("EmbeddingLookup: slice_mode, manual_shapes and vocab_cache_size split the table "
                                      "over machines in MindSpore; ms.parallel plans that here.")  # fmt: skip
        self.vocab_size: int = vocab_size
        self.embedding_size: int = embedding_size
        self.max_norm: float | None = max_norm
        table = initializer(param_init, (vocab_size, embedding_size), dtype)
        self.embedding_table: Parameter = Parameter(table, name="embedding_table")

    def construct(self, indices: Any) -> Any:
        """[...] -> [..., embedding_size]."""
        inside = ops.logical_and(indices >= 0, indices < self.vocab_size)
        rows = ops.gather(self.embedding_table, ops.where(inside, indices, 0), 0)
        rows = ops.where(ops.expand_dims(inside, -1), rows, ops.zeros_like(rows))
        if self.max_norm is None:
            return rows
        norm = ops.sqrt(ops.square(rows).sum(-1, keepdims=True))
        return rows * (self.max_norm / ops.maximum(norm, self.max_norm))


class TimeDistributed(Cell):
    """A layer applied to each slice along an axis.

    Args:
        layer: a Cell or a function of tensors.
        time_axis: the axis of the slices, of input and result.
        reshape_with_axis: MindSpore's hint to join this axis with the time axis; the result is the same without.

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.TimeDistributed.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.TimeDistributed(ms.nn.Dense(10, 6), time_axis=1)(ms.ops.ones((32, 5, 10))).shape
        (32, 5, 6)
    """

    def __init__(self, layer: Callable[..., Any], time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        if not callable(layer):
            raise ArgumentError(f"TimeDistributed takes a Cell or a function, not a {type(layer).__name__}.")
        if reshape_with_axis is not None and reshape_with_axis == time_axis:
            raise AttributeValueError("TimeDistributed: reshape_with_axis must be another axis than time_axis.")
        self.layer: Callable[..., Any] = layer
        self.time_axis: int = int(time_axis)

    def construct(self, inputs: Any) -> Any:
        """The layer on every slice."""
        return ops.stack([self.layer(x) for x in ops.unbind(inputs, self.time_axis)], self.time_axis)


class CentralCrop(Cell):
    """The middle of images.

    Args:
        central_fraction: share of the height and the width that stays, above 0 and at most 1.

    Raises:
        ValueError: another share, or images of other than 3 or 4 axes. TypeError: no number.

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.CentralCrop.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.CentralCrop(0.5)(ms.ops.ones((4, 3, 8, 8))).shape
        (4, 3, 4, 4)
    """

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        need_numbers("CentralCrop", central_fraction=central_fraction)
        if not 0 < central_fraction <= 1:
            raise AttributeValueError(f"CentralCrop: central_fraction must lie in (0, 1], got {central_fraction}.")
        self.central_fraction: float = central_fraction

    def construct(self, image: Any) -> Any:
        """[..., height, width], of 3 or 4 axes -> the middle of it."""
        if image.ndim not in (3, 4):
            raise ShapeError("CentralCrop takes images of 3 or 4 axes.", operands=[f"image: {image._type!r}"])
        top, left = (int((n - n * self.central_fraction) / 2) for n in image.shape[-2:])
        height, width = image.shape[-2:]
        return image[..., top : height - top, left : width - left]


class L1Regularizer(Cell):
    """scale times the sum of absolute weights.

    Args:
        scale: above 0.

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.L1Regularizer.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.L1Regularizer(0.5)(ms.Tensor([1.0, -3.0])).item()
        2.0
    """

    def __init__(self, scale: float) -> None:
        super().__init__()
        if scale <= 0:
            raise AttributeValueError(f"L1Regularizer: scale must be above 0, got {scale}.")
        self.scale: Any = scale

    def construct(self, weights: Any) -> Any:
        """The penalty."""
        return self.scale * ops.abs(weights).sum()


class MultiLabelSoftMarginLoss(LossBase):
    """Binary cross entropy of each label, averaged over the labels.

    Args:
        weight: of each label, or None.
        reduction: "mean", "sum" or "none".

    Source: `mindspore.nn.MultiLabelSoftMarginLoss`

    Examples:
        >>> import msnb as ms
        >>> loss = ms.nn.MultiLabelSoftMarginLoss()
        >>> round(loss(ms.Tensor([[0.0, 0.0]]), ms.Tensor([[1.0, 0.0]])).item(), 4)
        0.6931
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Any, target: Any) -> Any:
        """The loss."""
        return ops.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)
