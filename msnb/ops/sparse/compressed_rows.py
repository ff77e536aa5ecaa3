"""CSRTensor: the stored values row by row; pointers say where each row begins.

    indptr [0, 1, 3], indices [1, 0, 2], values [5, 7, 9], shape (2, 3)      ->      0 5 0
                                                                                    7 0 9

Values may be rows themselves ([n, k] for the shape (rows, columns, k)): a matrix of vectors.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import Shape, Tensor, dtypes
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.elementwise.cast import cast
from msnb.ops.math.sort import argsort
from msnb.ops.reduction.cumulative import cumsum
from msnb.ops.shape import INDEX, UNINDEX, concat, ones_like, stack, zeros
from msnb.ops.sparse.coordinates import COOTensor, coo_of, dense_to_coo, flat_keys
from msnb.ops.sparse.entry_merge import ROW_JOIN, taken
from msnb.ops.sparse.row_pointers import CSR_ROWS, check_columns, check_pointers
from msnb.ops.sparse.row_products import CSR_MATMUL
from msnb.ops.sparse.sparse_tensor import SparseTensor, as_values, is_known, need_indices, need_shape, whole

_FULL = (None, None, None)


@dataclasses.dataclass(init=False, eq=False, repr=False, frozen=True)
class CSRTensor(SparseTensor):
    """A sparse tensor by compressed rows: row r has the values ``indptr[r]`` to ``indptr[r + 1]``.

    Args:
        indptr: integers [rows + 1], from 0 to n, never decreasing.
        indices: integers [n], the column of each value.
        values: [n], or [n, ...] for a matrix of rows.
        shape: the dense shape (rows, columns, ...).
        csr_tensor: another CSRTensor to take all of this from.

    Raises:
        ShapeError: the four do not fit each other.
        AttributeValueError: pointers decrease, or do not go from 0 to n.
        IndexOutOfRange: a column lies outside of the shape. Of pointers and columns that a compiled program works out,
            the operations that read them tell it.

    Source: `mindspore.CSRTensor`

    Examples:
        >>> import msnb as ms
        >>> x = ms.CSRTensor(ms.Tensor([0, 1, 3]), ms.Tensor([1, 0, 2]), ms.Tensor([5.0, 7.0, 9.0]), (2, 3))
        >>> x.to_dense().tolist()
        [[0.0, 5.0, 0.0], [7.0, 0.0, 9.0]]
    """

    CONSTANTS: ClassVar[tuple[str, ...]] = ("indptr", "indices", "shape")

    indptr: Any
    indices: Any
    values: Any
    shape: Shape

    def __init__(
        self, indptr: Any = None, indices: Any = None, values: Any = None, shape: Any = None,
        csr_tensor: CSRTensor | None = None,
    ) -> None:  # fmt: skip
        given = (indptr, indices, values, shape)
        if csr_tensor is not None:
            if not isinstance(csr_tensor, CSRTensor) or any(x is not None for x in given):
                raise ArgumentError("CSRTensor: give indptr, indices, values and shape, or a CSRTensor as csr_tensor.")
            given = (csr_tensor.indptr, csr_tensor.indices, csr_tensor.values, csr_tensor.shape)
        elif any(x is None for x in given):
            raise ArgumentError("CSRTensor needs indptr, indices, values and shape, or a CSRTensor as csr_tensor.")
        _fill(self, *_checked(*given))

    def __repr__(self) -> str:
        return (
            f"CSRTensor(shape={self.shape}, dtype={self.dtype}, indptr={self.indptr!r}, indices={self.indices!r}, "
            f"values={self.values!r})"
        )

    def with_values(self, values: Any) -> CSRTensor:
        """The same places with other values."""
        return csr_of(self.indptr, self.indices, values, self.shape)

    def rows(self) -> Tensor:
        """The row of every stored value."""
        return CSR_ROWS(self.indptr, self.indices)

    def at_places(self, dense: Any) -> Tensor:
        """The elements of a dense tensor, of this shape or one that broadcasts to it, at the stored places."""
        spec = ("t", "t", *(_FULL,) * (self.ndim - 2))
        return INDEX(whole(self, dense), self.rows(), self.indices, spec=spec)

    def to_tuple(self) -> tuple[Tensor, Tensor, Tensor, Shape]:
        """(indptr, indices, values, shape)."""
        return self.indptr, self.indices, self.values, self.shape

    def to_dense(self) -> Tensor:
        """The dense tensor; values at one place are added up.

        Examples:
            >>> import msnb as ms
            >>> ms.CSRTensor(ms.Tensor([0, 1]), ms.Tensor([1]), ms.Tensor([5.0]), (1, 2)).to_dense().tolist()
            [[0.0, 5.0]]
        """
        spec = ("t", "t", *(_FULL,) * (self.ndim - 2))
        return UNINDEX(self.values, self.rows(), self.indices, spec=spec, shape=self.shape)

    def to_coo(self) -> COOTensor:
        """The same matrix by coordinates.

        Examples:
            >>> import msnb as ms
            >>> ms.CSRTensor(ms.Tensor([0, 0, 1]), ms.Tensor([1]), ms.Tensor([5.0]), (2, 2)).to_coo().indices.tolist()
            [[1, 1]]
        """
        _need_matrix("to_coo", self)
        return coo_of(stack((self.rows(), self.indices), axis=1), self.values, self.shape)

    def add(self, b: Any, alpha: Any = 1, beta: Any = 1) -> CSRTensor:
        """``alpha * self + beta * b`` for another CSRTensor of this shape.

        Examples:
            >>> import msnb as ms
            >>> x = ms.CSRTensor(ms.Tensor([0, 1]), ms.Tensor([1]), ms.Tensor([5.0]), (1, 2))
            >>> x.add(x, 1.0, 2.0).values.tolist()
            [15.0]
        """
        if not isinstance(b, CSRTensor):
            raise ArgumentError(f"CSRTensor.add takes another CSRTensor, got {type(b).__name__}.")
        if b.shape != self.shape:
            raise ShapeError(f"CSRTensor.add needs two tensors of one shape, got {self.shape} and {b.shape}.")
        first, second = self.to_coo(), b.to_coo()
        return coo_to_csr(first.with_values(_times(self.values, alpha)).add(second.with_values(_times(b.values, beta))))

    def plus(self, other: Any) -> CSRTensor:
        """The sum with another CSRTensor."""
        return self.add(other)

    def mm(self, matrix: Any) -> Any:
        """The product with a dense matrix (dense) or with a CSRTensor (a CSRTensor).

        Examples:
            >>> import msnb as ms
            >>> x = ms.CSRTensor(ms.Tensor([0, 1]), ms.Tensor([1]), ms.Tensor([5.0]), (1, 2))
            >>> x.mm(ms.Tensor([[1.0], [2.0]])).tolist()
            [[10.0]]
        """
        _need_matrix("mm", self)
        return _sparse_product(self, matrix) if isinstance(matrix, CSRTensor) else _dense_product(self, matrix)

    def mv(self, dense_vector: Any) -> Tensor:
        """The product with a vector: [columns, 1] gives [rows, 1], and [columns] gives [rows].

        Examples:
            >>> import msnb as ms
            >>> x = ms.CSRTensor(ms.Tensor([0, 1]), ms.Tensor([1]), ms.Tensor([5.0]), (1, 2))
            >>> x.mv(ms.Tensor([1.0, 2.0])).tolist()
            [10.0]
        """
        v = as_tensor(dense_vector)
        if v.ndim == 2 and v.shape[1] != 1 or v.ndim not in (1, 2):
            raise ShapeError(f"CSRTensor.mv takes a vector [columns] or [columns, 1], got the shape {v.shape}.")
        _need_matrix("mv", self)
        return _dense_product(self, v) if v.ndim == 2 else _dense_product(self, v.reshape(-1, 1))[:, 0]

    def sum(self, axis: int) -> Tensor:
        """The sums along one of the first two axes, which stays with size 1: axis 1 gives [rows, 1].

        Examples:
            >>> import msnb as ms
            >>> x = ms.CSRTensor(ms.Tensor([0, 2]), ms.Tensor([0, 1]), ms.Tensor([5.0, 2.0]), (1, 2))
            >>> x.sum(1).tolist()
            [[7.0]]
        """
        if not isinstance(axis, int) or not -self.ndim <= axis < self.ndim or axis % self.ndim > 1:
            raise AttributeValueError(f"CSRTensor.sum: axis is 0 or 1, got {axis!r}.")
        kept = 1 - axis % self.ndim
        places = self.rows() if kept == 0 else self.indices
        spec = ("t", *(_FULL,) * (self.ndim - 2))
        total = UNINDEX(self.values, places, spec=spec, shape=(self.shape[kept], *self.shape[2:]))
        return total.expand_dims(1 - kept)


def _checked(indptr: Any, indices: Any, values: Any, shape: Any) -> tuple[Any, Any, Any, Shape]:
    """The parts of a CSRTensor as they are kept; raises where they do not fit."""
    sizes = need_shape("CSRTensor", shape)
    pointers = need_indices("CSRTensor", "indptr", indptr, 1)
    columns = need_indices("CSRTensor", "indices", indices, 1)
    stored = as_values("CSRTensor", values, columns.shape[0])
    if len(sizes) != stored.ndim + 1 or tuple(sizes[2:]) != tuple(stored.shape[1:]):
        raise ShapeError(f"CSRTensor: values of shape {stored.shape} do not fit the shape {sizes}.")
    if type(sizes[0]) is int and type(pointers.shape[0]) is int and pointers.shape[0] != sizes[0] + 1:
        raise ShapeError(f"CSRTensor: {sizes[0]} rows have {sizes[0] + 1} pointers, got {pointers.shape[0]}.")
    if is_known(pointers) and is_known(columns):
        found = columns.asnumpy()
        check_pointers(np, pointers.asnumpy(), len(found))
        check_columns(np, found, sizes[1])
    return pointers, columns, stored, sizes


def _fill(made: CSRTensor, *parts: Any) -> None:
    for name, part in zip(("indptr", "indices", "values", "shape"), parts):
        object.__setattr__(made, name, part)


def csr_of(indptr: Any, indices: Any, values: Any, shape: Shape) -> CSRTensor:
    """A CSRTensor of parts that are known to fit."""
    made: CSRTensor = object.__new__(CSRTensor)
    _fill(made, indptr, indices, values, shape)
    return made


def _need_matrix(what: str, x: CSRTensor) -> None:
    if x.ndim != 2:
        raise ShapeError(f"CSRTensor.{what} needs two axes, got the shape {x.shape}.")


def _times(values: Any, factor: Any) -> Any:
    return values if isinstance(factor, (int, float)) and factor == 1 else values * cast(factor, values.dtype)


def common(values: Any, dense: Any) -> tuple[Any, Any]:
    """Two operands in their common dtype."""
    kind = dtypes.promote(values.dtype, dense.dtype)
    return cast(values, kind), cast(dense, kind)


def pointers_like(x: CSRTensor) -> tuple[Any, Any]:
    """Pointers and columns in one dtype, as the records' loops want them."""
    same = x.indptr.dtype is x.indices.dtype
    return (x.indptr if same else cast(x.indptr, x.indices.dtype)), x.indices


def _dense_product(x: CSRTensor, matrix: Any) -> Tensor:
    t = as_tensor(matrix)
    if t.ndim != 2 or t.shape[0] != x.shape[1]:
        raise ShapeError(f"a sparse matrix of shape {x.shape} meets a matrix of shape {t.shape}: sizes do not fit.")
    values, dense = common(x.values, t)
    return CSR_MATMUL(*pointers_like(x), values, dense)


def _sparse_product(a: CSRTensor, b: CSRTensor) -> CSRTensor:
    """Every entry of ``a`` times the entries of ``b`` in the row that its column names."""
    _need_matrix("mm", b)
    if a.shape[1] != b.shape[0]:
        raise ShapeError(f"sparse matrices of shapes {a.shape} and {b.shape} do not fit for a product.")
    left, right = ROW_JOIN(b.indptr, a.indices)
    values = taken(a.values, left, a.indices) * taken(b.values, right, b.indices)
    columns = cast(taken(b.indices, right, b.indices), a.indices.dtype)
    places = stack((taken(a.rows(), left, a.indices), columns), axis=1)
    return coo_to_csr(coo_of(places, values, (a.shape[0], b.shape[1])).coalesce())


def row_pointers(rows: Any, count: Any) -> Tensor:
    """The pointers for rows in order: 0, then how many entries the first rows have together."""
    ends = cumsum(UNINDEX(ones_like(rows), rows, spec=("t",), shape=(count,)), 0)
    return concat((zeros((1,), dtype=rows.dtype), cast(ends, rows.dtype)))


def coo_to_csr(tensor: Any) -> CSRTensor:
    """A COOTensor as a CSRTensor, rows and columns in order.

    Raises:
        ShapeError: it has not two axes.

    Source: `mindspore.ops.coo_to_csr`

    Examples:
        >>> import msnb as ms
        >>> x = ms.COOTensor(ms.Tensor([[1, 2], [0, 1]]), ms.Tensor([7.0, 5.0]), (2, 3))
        >>> ms.ops.coo_to_csr(x).indptr.tolist()
        [0, 1, 2]
    """
    if not isinstance(tensor, COOTensor) or tensor.ndim != 2:
        raise ShapeError("coo_to_csr takes a COOTensor of two axes.")
    order = argsort(flat_keys(tensor.indices, tensor.shape))
    places = taken(tensor.indices, order, order)
    rows, columns = places[:, 0], places[:, 1]
    return csr_of(row_pointers(rows, tensor.shape[0]), columns, taken(tensor.values, order, order), tensor.shape)


def dense_to_csr(tensor: Any) -> CSRTensor:
    """The elements of a dense matrix that are not zero, row by row; pointers and columns are int32."""
    t = as_tensor(tensor)
    if t.ndim != 2:
        raise ShapeError(f"a CSRTensor is made of a matrix, got the shape {t.shape}.")
    found = dense_to_coo(t)
    rows, columns = (cast(found.indices[:, axis], dtypes.int32) for axis in (0, 1))
    return csr_of(row_pointers(rows, t.shape[0]), columns, found.values, t.shape)


COOTensor.to_csr = coo_to_csr  # type: ignore[method-assign, assignment]
