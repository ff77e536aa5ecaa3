"""COOTensor: the coordinates of every stored value.

    indices [[0, 1], [1, 2]], values [5, 7], shape (2, 3)      ->      0 5 0
                                                                       0 0 7

Values at equal coordinates count together.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from msnb.base import ArgumentError, ShapeError
from msnb.core import Shape, Tensor, dtypes
from msnb.ops.definition.operand_checks import as_ints
from msnb.ops.elementwise.cast import cast
from msnb.ops.indexing.masked_select import masked_select, nonzero
from msnb.ops.shape import INDEX, UNINDEX, concat, stack
from msnb.ops.sparse.entry_merge import merged, taken
from msnb.ops.sparse.row_pointers import check_columns
from msnb.ops.sparse.sparse_tensor import SparseTensor, as_values, is_known, need_indices, need_shape, whole


@dataclasses.dataclass(init=False, eq=False, repr=False, frozen=True)
class COOTensor(SparseTensor):
    """A sparse tensor by coordinates: ``dense[indices[i]] = values[i]``, zero elsewhere.

    Args:
        indices: integers [n, d], the coordinates of each value.
        values: [n].
        shape: the dense shape, a tuple of d integers.
        coo_tensor: another COOTensor to take all of this from.

    Raises:
        ShapeError: the three do not fit each other.
        IndexOutOfRange: a coordinate lies outside of the shape. Of coordinates that a compiled program works out, the
            operations that read them tell it.

    Source: `mindspore.COOTensor`

    Examples:
        >>> import msnb as ms
        >>> x = ms.COOTensor(ms.Tensor([[0, 1], [1, 2]]), ms.Tensor([5.0, 7.0]), (2, 3))
        >>> x.to_dense().tolist()
        [[0.0, 5.0, 0.0], [0.0, 0.0, 7.0]]
    """

    CONSTANTS: ClassVar[tuple[str, ...]] = ("indices", "shape")

    indices: Any
    values: Any
    shape: Shape

    def __init__(
        self, indices: Any = None, values: Any = None, shape: Any = None, coo_tensor: COOTensor | None = None
    ) -> None:
        if coo_tensor is not None:
            if not isinstance(coo_tensor, COOTensor) or any(x is not None for x in (indices, values, shape)):
                raise ArgumentError("COOTensor: give indices, values and shape, or a COOTensor as coo_tensor.")
            indices, values, shape = coo_tensor.indices, coo_tensor.values, coo_tensor.shape
        elif indices is None or values is None or shape is None:
            raise ArgumentError("COOTensor needs indices, values and shape, or a COOTensor as coo_tensor.")
        sizes = need_shape("COOTensor", shape)
        places = need_indices("COOTensor", "indices", indices, 2)
        if places.shape[1] != len(sizes):
            raise ShapeError(f"COOTensor: {len(sizes)} coordinates for the shape {sizes}, got {places.shape[1]} each.")
        if is_known(places):
            for axis, size in enumerate(sizes):
                check_columns(np, places.asnumpy()[:, axis], size, f"coordinate {axis}:")
        object.__setattr__(self, "indices", places)
        object.__setattr__(self, "values", as_values("COOTensor", values, places.shape[0]))
        object.__setattr__(self, "shape", sizes)

    def __repr__(self) -> str:
        return f"COOTensor(shape={self.shape}, dtype={self.dtype}, indices={self.indices!r}, values={self.values!r})"

    def with_values(self, values: Any) -> COOTensor:
        """The same places with other values."""
        return coo_of(self.indices, values, self.shape)

    def at_places(self, dense: Any) -> Tensor:
        """The elements of a dense tensor, of this shape or one that broadcasts to it, at the stored places."""
        return INDEX(whole(self, dense), *self._columns(), spec=("t",) * self.ndim)

    def _columns(self) -> tuple[Tensor, ...]:
        return tuple(self.indices[:, axis] for axis in range(self.ndim))

    def to_tuple(self) -> tuple[Tensor, Tensor, Shape]:
        """(indices, values, shape)."""
        return self.indices, self.values, self.shape

    def to_dense(self) -> Tensor:
        """The dense tensor; values at equal coordinates are added up.

        Examples:
            >>> import msnb as ms
            >>> ms.COOTensor(ms.Tensor([[0, 1]]), ms.Tensor([5.0]), (1, 2)).to_dense().tolist()
            [[0.0, 5.0]]
        """
        return UNINDEX(self.values, *self._columns(), spec=("t",) * self.ndim, shape=self.shape)

    def coalesce(self) -> COOTensor:
        """The same tensor with coordinates in order, each of them once.

        Examples:
            >>> import msnb as ms
            >>> x = ms.COOTensor(ms.Tensor([[1, 0], [0, 1], [1, 0]]), ms.Tensor([1.0, 2.0, 4.0]), (2, 2)).coalesce()
            >>> x.indices.tolist(), x.values.tolist()
            ([[0, 1], [1, 0]], [2.0, 5.0])
        """
        most = math.prod(as_ints("a sparse tensor", self.shape))
        keys, sums = merged(flat_keys(self.indices, self.shape), self.values, most)
        return coo_of(cast(coordinates_of(keys, self.shape), self.indices.dtype), sums, self.shape)

    def is_coalesced(self) -> Any:
        """Whether coordinates stand in order, each of them once: a bool, in a graph a tensor."""
        keys = flat_keys(self.indices, self.shape)
        found = (keys[1:] > keys[:-1]).all()
        return bool(found) if is_known(found) else found

    def add(self, other: Any, thresh: Any = 0) -> COOTensor:
        """The sum with another COOTensor of this shape. Sums whose absolute value is below ``thresh`` are left out.

        Examples:
            >>> import msnb as ms
            >>> x = ms.COOTensor(ms.Tensor([[0, 1]]), ms.Tensor([5.0]), (1, 2))
            >>> x.add(x, 1.0).values.tolist()
            [10.0]
        """
        if not isinstance(other, COOTensor):
            raise ArgumentError(f"COOTensor.add takes another COOTensor, got {type(other).__name__}.")
        if other.shape != self.shape:
            raise ShapeError(f"COOTensor.add needs two tensors of one shape, got {self.shape} and {other.shape}.")
        places = concat((self.indices, cast(other.indices, self.indices.dtype)))
        added = coo_of(places, concat((self.values, other.values)), self.shape).coalesce()
        known = thresh if not isinstance(thresh, Tensor) else thresh.item() if is_known(thresh) else None
        return added if known == 0 else _large_enough(added, thresh)

    def plus(self, other: Any) -> COOTensor:
        """The sum with another COOTensor."""
        return self.add(other)

    def to_csr(self) -> Any:
        """The same matrix as a CSRTensor, rows and columns in order."""
        raise NotImplementedError


def coo_of(indices: Any, values: Any, shape: Shape) -> COOTensor:
    """A COOTensor of parts that are known to fit."""
    made: COOTensor = object.__new__(COOTensor)
    for name, part in (("indices", indices), ("values", values), ("shape", shape)):
        object.__setattr__(made, name, part)
    return made


def flat_keys(indices: Any, shape: Shape) -> Any:
    """The coordinates of each entry as one number, in row-major order."""
    steps, wide = _steps(shape), cast(indices, dtypes.int64)
    keys = wide[:, 0] * steps[0]
    for axis in range(1, len(shape)):
        keys = keys + wide[:, axis] * steps[axis]
    return keys


def _steps(shape: Shape) -> list[int]:
    """How far apart neighbours along each axis are, in row-major order."""
    sizes = as_ints("a sparse tensor", shape)
    return [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]


def coordinates_of(keys: Any, shape: Shape) -> Tensor:
    """The inverse of ``flat_keys``."""
    sizes = as_ints("a sparse tensor", shape)
    return stack([keys // max(step, 1) % max(size, 1) for step, size in zip(_steps(sizes), sizes)], axis=1)


def _large_enough(x: COOTensor, thresh: Any) -> COOTensor:
    kept = nonzero(x.values.abs() >= thresh)[:, 0]
    entries = x.indices[:, 0]
    return coo_of(taken(x.indices, kept, entries), taken(x.values, kept, entries), x.shape)


def dense_to_coo(tensor: Any) -> COOTensor:
    """The elements of a dense tensor that are not zero, with their coordinates."""
    return coo_of(nonzero(tensor), masked_select(tensor, tensor != 0), tensor.shape)
