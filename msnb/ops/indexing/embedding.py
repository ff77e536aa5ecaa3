"""Embedding: rows of a table, looked up by number.

embedding(ids, table)[..., :] = table[ids[...], :]      a gather; its gradient adds each row's gradient where it lay
"""

from __future__ import annotations

from typing import Any

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Parameter, Tensor, cached
from msnb.ops.definition import as_tensor, operand_lines
from msnb.ops.elementwise import abs as absolute, assign, equal, logical_and, stop_gradient, where
from msnb.ops.elementwise.arithmetic import power
from msnb.ops.elementwise.cast import cast
from msnb.ops.indexing.gather import gather
from msnb.ops.indexing.scatter import tensor_scatter_add
from msnb.ops.reduction.functional import sum as sum_of
from msnb.ops.shape import expand_dims, full, reshape


@cached
def embedding(
    ids: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:  # fmt: skip
    """Rows of ``weight`` at ``ids``.

    Args:
        ids: integers of any shape, from 0 to rows - 1.
        weight: [rows, features].
        padding_idx: a row that gets no gradient; may count from the end.
        max_norm: rows that are looked up and longer are made so short first; a Parameter keeps them so.
        norm_type: the order of that norm.
        scale_grad_by_freq: the gradient of a row is divided by how often it is looked up here.

    Returns:
        Tensor [*ids.shape, features].

    Raises:
        DTypeError: ids are not integers. ShapeError: weight has not two axes. IndexError: an id outside the table.

    Source: `mindspore.ops.embedding`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.embedding(ms.Tensor([1, 0]), ms.Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[3.0, 4.0], [1.0, 2.0]]
    """
    ids, weight = as_tensor(ids), as_tensor(weight)
    lines = operand_lines(ids._type, weight._type, names=("ids", "weight"))
    if not ids.dtype.is_int:
        raise DTypeError("embedding needs integer ids.", operands=lines, hint="convert with ids.astype(ms.int32).")
    if weight.ndim != 2:
        raise ShapeError("embedding needs a weight of two axes (rows, features).", operands=lines)
    if max_norm is not None:
        weight = _shortened(weight, ids, max_norm, norm_type)
    rows = gather(weight, ids, axis=0)
    if scale_grad_by_freq:
        share = 1.0 / gather(_counts(ids, weight.shape[0]), ids, axis=0)
        rows = stop_gradient(rows) + (rows - stop_gradient(rows)) * expand_dims(cast(share, rows.dtype), -1)
    if padding_idx is None:
        return rows
    index = _row_number(padding_idx, weight.shape[0])
    return where(expand_dims(equal(ids, index), -1), stop_gradient(rows), rows)


def _counts(ids: Any, rows: int) -> Any:
    """How often each row is looked up, as floats."""
    flat = reshape(ids, (-1, 1)) % rows
    return tensor_scatter_add(full((rows,), 0.0), flat, full((flat.shape[0],), 1.0))


def _shortened(weight: Tensor, ids: Any, max_norm: float, norm_type: float) -> Tensor:
    """The table with the rows that are looked up no longer than ``max_norm``."""
    table = stop_gradient(weight)
    length = power(sum_of(power(absolute(table), norm_type), 1, True), 1.0 / norm_type)
    asked = expand_dims(_counts(ids, weight.shape[0]) > 0, -1)
    factor = where(logical_and(asked, length > max_norm), max_norm / (length + 1e-7), 1.0)
    if isinstance(weight, Parameter):
        assign(weight, table * cast(factor, table.dtype))
        return weight
    return weight * cast(factor, weight.dtype)


def _row_number(index: Any, rows: Any) -> int:
    if not isinstance(index, int) or not -rows <= index < rows:
        raise AttributeValueError(f"embedding: padding_idx {index!r} is not a row of a table of {rows} rows.")
    return index % int(rows)


__all__ = ["embedding"]
