"""RowTensor: some rows of a tensor, such as the gradient of a table of which few rows were read.

indices [0, 2], values [[1, 2], [3, 4]], shape (3, 2)      ->      1 2
                                                                   0 0
                                                                   3 4
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from msnb.base import ArgumentError, ShapeError
from msnb.core import Shape, Tensor
from msnb.ops.shape.index_records import UNINDEX
from msnb.ops.sparse.row_pointers import check_columns
from msnb.ops.sparse.sparse_tensor import as_values, is_known, need_indices, need_shape


@dataclasses.dataclass(init=False, eq=False, repr=False, frozen=True)
class RowTensor:
    """Some rows of a tensor: ``dense[indices[i]] = values[i]``, zero elsewhere.

    Args:
        indices: integers [n], the numbers of the rows.
        values: [n, ...], the rows.
        shape: the dense shape.
        row_tensor: another RowTensor to take all of this from.

    Raises:
        ShapeError: the three do not fit each other.
        IndexOutOfRange: a row lies outside of the shape.

    Source: `mindspore.RowTensor`

    Examples:
        >>> import msnb as ms
        >>> x = ms.RowTensor(ms.Tensor([2]), ms.Tensor([[1.0, 2.0]]), (3, 2))
        >>> x.to_dense().tolist()
        [[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]]
    """

    CONSTANTS: ClassVar[tuple[str, ...]] = ("indices", "dense_shape")

    indices: Any
    values: Any
    dense_shape: Shape

    def __init__(
        self, indices: Any = None, values: Any = None, shape: Any = None, row_tensor: RowTensor | None = None
    ) -> None:
        if row_tensor is not None:
            if not isinstance(row_tensor, RowTensor) or any(x is not None for x in (indices, values, shape)):
                raise ArgumentError("RowTensor: give indices, values and shape, or a RowTensor as row_tensor.")
            indices, values, shape = row_tensor.indices, row_tensor.values, row_tensor.dense_shape
        elif indices is None or values is None or shape is None:
            raise ArgumentError("RowTensor needs indices, values and shape, or a RowTensor as row_tensor.")
        sizes, rows = need_shape("RowTensor", shape), need_indices("RowTensor", "indices", indices, 1)
        stored = as_values("RowTensor", values, rows.shape[0])
        if not sizes or tuple(stored.shape[1:]) != sizes[1:]:
            raise ShapeError(f"RowTensor: values of shape {stored.shape} are no rows of the shape {sizes}.")
        if is_known(rows):
            check_columns(np, rows.asnumpy(), sizes[0], "row")
        for name, part in (("indices", rows), ("values", stored), ("dense_shape", sizes)):
            object.__setattr__(self, name, part)

    def __repr__(self) -> str:
        return f"RowTensor(shape={self.dense_shape}, indices={self.indices!r}, values={self.values!r})"

    @property
    def shape(self) -> Shape:
        """The dense shape."""
        return self.dense_shape

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.values.dtype

    def to_dense(self) -> Tensor:
        """The dense tensor; rows of one number are added up."""
        spec = ("t", *((None, None, None),) * (len(self.dense_shape) - 1))
        return UNINDEX(self.values, self.indices, spec=spec, shape=self.dense_shape)
