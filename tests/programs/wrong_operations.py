"""Operations called wrongly: shapes, dtypes, attributes, indices, labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from wrong_register import wrong

import msnb as ms
from msnb import ops
from msnb.base.errors import (
    ArgumentError,
    AttributeValueError,
    DTypeError,
    IndexOutOfRange,
    LostWriteError,
    ShapeError,
)


def of(*shape: int, dtype: Any = np.float32) -> Any:
    """Makes a tensor of this shape, filled with 1 .. n."""
    size = int(np.prod(shape))
    return lambda: ms.Tensor(np.arange(1, size + 1).reshape(shape).astype(dtype))


X = of(2, 3)
V = of(3)
INTS = of(2, 3, dtype=np.int32)
IMAGE = of(1, 3, 8, 8)


# ---- shapes ----------------------------------------------------------------------------------------------------------


@wrong(ShapeError, "add: the shapes [2, 3] and [4] do not broadcast.", X, of(4))
def add_shapes(x: Any, y: Any) -> Any:
    return x + y  # <- here


@wrong(ShapeError, "multiply: the shapes [2, 3] and [3, 2] do not broadcast.", X, of(3, 2))
def in_a_long_expression(x: Any, y: Any) -> Any:
    return (x * 2).sum() + (x * y).sum()  # <- here: x * y


@wrong(ShapeError, "matmul: the last axis of x has size 3, the axis of y it meets has size 2.", X, of(2, 3))
def matmul_sizes(x: Any, y: Any) -> Any:
    z = ops.relu(x)
    return z @ y  # <- here


@wrong(ShapeError, "matmul needs operands with at least one axis.", X)
def matmul_with_a_number(x: Any) -> Any:
    return ops.matmul(x, 2.0)  # <- here


@wrong(ShapeError, "reshape: f32[2,3] cannot become [4, 2]: it has 6 elements, the new shape 8.", X)
def reshape_size(x: Any) -> Any:
    return x.reshape(4, 2)  # <- here


@wrong(ShapeError, "reshape: f32[2,3] cannot become [4, -1]: its 6 elements do not divide by 4.", X)
def reshape_unknown_size(x: Any) -> Any:
    return x.reshape(4, -1)  # <- here


@wrong(ShapeError, "reshape: f32[2,3] cannot become [-1, -1]: only one size may be -1.", X)
def reshape_two_unknown(x: Any) -> Any:
    return ops.reshape(x, (-1, -1))  # <- here


@wrong(ShapeError, "concat: along axis 0 the tensors must agree in every other axis.", X, of(2, 4, 3))
def concat_ranks(x: Any, y: Any) -> Any:
    return ops.concat((x, y))  # <- here


@wrong(ShapeError, "concat: along axis 1 the tensors must agree in every other axis.", X, of(4, 3))
def concat_sizes(x: Any, y: Any) -> Any:
    return ops.concat((x, y), axis=1)  # <- here


@wrong(ShapeError, "stack needs tensors of one shape.", X, of(4, 3))
def stack_shapes(x: Any, y: Any) -> Any:
    return ops.stack([x, y])  # <- here


@wrong(ArgumentError, "stack needs a tuple or list of tensors, at least one, got [].")
def stack_of_nothing() -> Any:
    return ops.stack([])  # <- here


@wrong(ShapeError, "broadcast_to: f32[2,3] does not broadcast to [2, 4].", X)
def broadcast_smaller(x: Any) -> Any:
    return ops.broadcast_to(x, (2, 4))  # <- here


@wrong(ShapeError, "squeeze: axis 1 has size 3, only axes of size 1 can be left out.", X)
def squeeze_of_a_wide_axis(x: Any) -> Any:
    return x.squeeze(1)  # <- here


@wrong(ShapeError, "split: the sizes [2, 2] do not add up to the 3 of axis 1.", X)
def split_sizes(x: Any) -> Any:
    a, b = ops.split(x, [2, 2], axis=1)  # <- here
    return a + b


@wrong(ShapeError, "conv2d: x has 3 channels, the weight expects 2.", IMAGE, of(4, 2, 3, 3))
def conv_channels(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w)  # <- here


@wrong(ShapeError, "conv2d needs x (batch, channels, rows, columns) and a weight of 4 axes.", X, of(4, 3, 3, 3))
def conv_of_a_matrix(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w)  # <- here


@wrong(ShapeError, "conv2d: the window spans 3 rows, the padded input has 2.", of(1, 3, 2, 2), of(4, 3, 3, 3))
def conv_larger_than_its_image(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w, pad_mode="valid")  # <- here


@wrong(ShapeError, "where: the shapes [5] and [2, 3] and [2, 3] do not broadcast.", X, X)
def where_condition(x: Any, y: Any) -> Any:
    return ops.where(ops.ones((5,), ms.bool_), x, y)  # <- here


@wrong(ShapeError, "layer_norm: the weight needs 3 values.", X)
def layer_norm_weight(x: Any) -> Any:
    return ops.layer_norm(x, (3,), ops.ones((4,)), ops.zeros((4,)))  # <- here


# ---- dtypes ----------------------------------------------------------------------------------------------------------


@wrong(DTypeError, "bitwise_and does not take float32 tensors; it takes bool or integer ones.", X, INTS)
def bits_of_floats(x: Any, n: Any) -> Any:
    return x & n  # <- here


@wrong(
    DTypeError,
    "greater does not take complex64 tensors; it takes bool or integer or floating-point ones.",
    of(3, dtype=np.complex64),
)
def order_of_complex(z: Any) -> Any:
    return z > 1.0  # <- here


@wrong(
    DTypeError,
    "'float31' is not a dtype of msnb; legal: bool, int8, int16, int32, int64, uint8, uint16, uint32, "
    "uint64, float16, bfloat16, float32, float64, complex64, complex128.",
    X,
)
def unknown_dtype(x: Any) -> Any:
    return x.astype("float31")  # <- here


@wrong(DTypeError, "gather needs an index of integers.", X, V)
def floats_as_indices(x: Any, i: Any) -> Any:
    return ops.gather(x, i, axis=0)  # <- here


@wrong(DTypeError, "an index tensor holds integers, not float32.", of(4, 3), V)
def float_index_in_brackets(x: Any, i: Any) -> Any:
    return x[i]  # <- here


@wrong(DTypeError, "embedding needs integer ids.", INTS, of(4, 3, dtype=np.int32))
def embedding_of_floats(i: Any, table: Any) -> Any:
    return ops.embedding(i.float(), table)  # <- here


@wrong(DTypeError, "conv2d needs a floating-point x.", of(1, 3, 8, 8, dtype=np.int32), of(4, 3, 3, 3, dtype=np.int32))
def conv_of_integers(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w)  # <- here


# ---- attributes ------------------------------------------------------------------------------------------------------


@wrong(AttributeValueError, "sum: axis 2 is outside a tensor of 2 axes.", X)
def sum_axis(x: Any) -> Any:
    return x.sum(2)  # <- here


@wrong(AttributeValueError, "sum: axis (1, -1) names an axis twice.", X)
def sum_axis_twice(x: Any) -> Any:
    return x.sum(axis=(1, -1))  # <- here


@wrong(AttributeValueError, "softmax: axis -3 is outside a tensor of 2 axes.", X)
def softmax_axis(x: Any) -> Any:
    return ops.softmax(x, axis=-3)  # <- here


@wrong(ArgumentError, "mean: axis must be an int, got 'rows'.", X)
def axis_by_name(x: Any) -> Any:
    return x.mean(axis="rows")  # <- here


@wrong(AttributeValueError, "transpose: axis 2 is outside a tensor of 2 axes.", X)
def transpose_axes(x: Any) -> Any:
    return x.transpose(0, 2)  # <- here


@wrong(
    AttributeValueError,
    "pad: there is no mode 'mirror'; legal: constant, reflect, edge, replicate, circular, wrap.",
    X,
)
def pad_mode(x: Any) -> Any:
    return ops.pad(x, (1, 1), mode="mirror")  # <- here


@wrong(AttributeValueError, "conv2d: pad_mode must be 'valid', 'same' or 'pad', got 'full'.", IMAGE, of(4, 3, 3, 3))
def conv_pad_mode(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w, pad_mode="full")  # <- here


@wrong(AttributeValueError, "conv2d: stride must be an int or two ints of at least 1, got 0.", IMAGE, of(4, 3, 3, 3))
def conv_stride(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w, stride=0)  # <- here


@wrong(ShapeError, "max_pool2d: the window spans 9 rows, the padded input has 8.", IMAGE)
def pool_window(x: Any) -> Any:
    return ops.max_pool2d(x, kernel_size=9, stride=1)  # <- here


@wrong(AttributeValueError, "topk: k = 5 for an axis of size 3; k must be an int from 0 to that size.", X)
def topk_more_than_there_are(x: Any) -> Any:
    values, _ = ops.topk(x, 5)  # <- here
    return values


@wrong(AttributeValueError, "dropout: p must be in [0, 1], got 1.5.", X)
def dropout_rate(x: Any) -> Any:
    return ops.dropout(x, p=1.5)  # <- here


@wrong(ArgumentError, "einsum: there are 2 terms for 1 operands in 'ij,jk->ik'.", X)
def einsum_equation(x: Any) -> Any:
    return ops.einsum("ij,jk->ik", x)  # <- here


@wrong(ShapeError, "einsum 'ij,jk->ik': the axes called 'j' have sizes 3 and 4.", X, of(4, 5))
def einsum_sizes(x: Any, y: Any) -> Any:
    return ops.einsum("ij,jk->ik", x, y)  # <- here


@wrong(ArgumentError, "einsum: the result names 'k', which no operand has in 'ij->ik'.", X)
def einsum_label_from_nowhere(x: Any) -> Any:
    return ops.einsum("ij->ik", x)  # <- here


@wrong(AttributeValueError, "zeros: a shape is made of ints >= 0, got (2, -3).")
def negative_shape() -> Any:
    return ops.zeros((2, -3))  # <- here


@wrong(AttributeValueError, "mse_loss: reduction must be 'mean', 'sum' or 'none', got 'avg'.", X, X)
def loss_reduction(x: Any, y: Any) -> Any:
    return ops.mse_loss(x, y, reduction="avg")  # <- here


# ---- losses and labels -----------------------------------------------------------------------------------------------


@wrong(
    DTypeError,
    "cross_entropy: the target must be class indices (ints), or probabilities (floats) of the input's shape.",
    X,
    of(2),
)
def labels_are_floats(logits: Any, labels: Any) -> Any:
    return ops.cross_entropy(logits, labels)  # <- here


@wrong(
    ShapeError,
    "cross_entropy: the target must be class indices (ints), or probabilities (floats) of the input's shape.",
    X,
    of(3),
)
def probabilities_of_another_shape(logits: Any, labels: Any) -> Any:
    return ops.cross_entropy(logits, labels)  # <- here


@wrong(ShapeError, "cross_entropy: class indices have shape [3] where [2] is expected.", X, of(3, dtype=np.int32))
def labels_of_another_batch(logits: Any, labels: Any) -> Any:
    return ops.cross_entropy(logits, labels)  # <- here


@wrong(ShapeError, "cross_entropy: class indices have shape [2, 1] where [2] is expected.", X, of(2, 1, dtype=np.int32))
def labels_in_a_column(logits: Any, labels: Any) -> Any:
    return ops.cross_entropy(logits, labels)  # <- here


@wrong(ShapeError, "mse_loss: the shapes [2, 3] and [2] do not broadcast.", of(2, 3), of(2))
def mse_of_other_rows(x: Any, y: Any) -> Any:
    return ops.mse_loss(x, y)  # <- here


# ---- indices ---------------------------------------------------------------------------------------------------------


@wrong(IndexOutOfRange, "index 5 is outside axis 0 of size 2.", X)
def index_out_of_range(x: Any) -> Any:
    return x[5]  # <- here


@wrong(IndexOutOfRange, "index -4 is outside axis 1 of size 3.", X)
def column_out_of_range(x: Any) -> Any:
    return x[:, -4]  # <- here


@wrong(IndexOutOfRange, "too many indices: the tensor has 2 axes and 3 were indexed.", X)
def too_many_indices(x: Any) -> Any:
    return x[0, 1, 0]  # <- here


@wrong(
    ArgumentError,
    "a tensor is indexed with ints, slices, ..., None, masks, integer arrays, not with str 'first'.",
    X,
)
def index_by_a_string(x: Any) -> Any:
    return x["first"]  # <- here


@wrong(ArgumentError, "a tensor is indexed with ints, slices, ..., None, masks, integer arrays, not with float 1.5.", X)
def index_by_a_float(x: Any) -> Any:
    return x[1.5]  # <- here


@wrong(ShapeError, "a value of shape [4] does not broadcast to the shape [3] of the place.", X)
def assign_a_row_of_another_size(x: Any) -> Any:
    y = x * 1
    y[0] = ops.ones((4,))  # <- here: y[0]
    return y


@wrong(IndexOutOfRange, "index 2 is outside axis 0 of size 2.", X)
def assign_out_of_range(x: Any) -> Any:
    y = x * 1
    y[2] = 0.0  # <- here: y[2]
    return y


LOST = (
    "this writes into a value that nobody keeps, so nothing would change: x[mask], x.flip(0) and what "
    "a function returns are values of their own, never views."
)


@wrong(LostWriteError, LOST, X)
def assign_to_an_item_of_chosen_rows(x: Any) -> Any:
    x[[0]][0] = 5.0  # <- here: x[[0]][0]
    return x


@wrong(LostWriteError, LOST, X)
def add_to_an_item_of_chosen_rows(x: Any) -> Any:
    for i in range(2):
        x[[i]][0] += 5.0  # <- here: x[[i]][0] | x[[i]][0] += 5.0
    return x


@wrong(LostWriteError, LOST, X)
def assign_to_what_an_operator_made(x: Any) -> Any:
    if x.sum() > 0:
        x.flip(0)[0:2] = x[0, 0]  # <- here: x.flip(0)[0:2]
    return x


@wrong(IndexOutOfRange, "a mask of size 4 cannot index axis 0 of size 2.", X)
def mask_of_another_shape(x: Any) -> Any:
    return x[ops.ones((4,)) > 0]  # <- here


@wrong(IndexOutOfRange, "index 3 is outside axis 0 of size 2.", X, of(2, dtype=np.int32))
def index_tensor_out_of_range(x: Any, i: Any) -> Any:
    y = x + 1
    return y[i * 3]  # <- here


@wrong(IndexOutOfRange, "index 4 is outside axis 0 of size 4.", of(4, 3), INTS)
def embedding_out_of_range(table: Any, words: Any) -> Any:
    return ops.embedding(words, table).sum()  # <- here: ops.embedding(words, table)
