"""Embedding: rows of a table, looked up by number.

embedding(ids, table)[..., :] = table[ids[...], :]      a gather; its gradient adds each row's gradient where it lay
"""

from __future__ import annotations

from typing import Any

from msnb.base.errors import AttributeValueError, DTypeError, ShapeError
from msnb.core.tensor import Tensor
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.definition.type_inference import operand_lines
from msnb.ops.elementwise.comparison import equal, where
from msnb.ops.elementwise.identity_and_effects import stop_gradient
from msnb.ops.indexing.gather import gather
from msnb.ops.shape.views import expand_dims


def embedding(ids: Any, weight: Any, padding_idx: int | None = None) -> Tensor:
    """Rows of ``weight`` at ``ids``.

    Args:
        ids: integers of any shape, from 0 to rows - 1.
        weight: [rows, features].
        padding_idx: a row that gets no gradient; may count from the end.

    Returns:
        Tensor [*ids.shape, features].

    Raises:
        DTypeError: ids are not integers. ShapeError: weight has not two axes. IndexError: an id outside the table.

    Source: https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.embedding.html

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
    rows = gather(weight, ids, axis=0)
    if padding_idx is None:
        return rows
    index = _row_number(padding_idx, weight.shape[0])
    return where(expand_dims(equal(ids, index), -1), stop_gradient(rows), rows)


def _row_number(index: Any, rows: Any) -> int:
    if not isinstance(index, int) or not -rows <= index < rows:
        raise AttributeValueError(f"embedding: padding_idx {index!r} is not a row of a table of {rows} rows.")
    return index % int(rows)


__all__ = ["embedding"]
