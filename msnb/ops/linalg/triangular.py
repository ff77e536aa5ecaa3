"""Triangles and diagonals of matrices, the last two axes (or two named ones).

    tril  x 0 0    triu  x x x    diagonal(offset=1)  . x .     diag  [x y] -> x 0
          x x 0          0 x x                        . . x                   0 y
          x x x          0 0 x                        . . .

The triangles are records; a diagonal is read by ``index`` and written by ``unindex``, each the other's adjoint.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import Tensor, TensorType, cached, dtypes, keep_calls, tensor_type
from msnb.core.temporary_writes import mark, own
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import as_tensor, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, define
from msnb.ops.definition.type_inference import need_ints, normal_axis, operand_lines
from msnb.ops.shape import INDEX, INDEX_UPDATE, TRANSPOSE, UNINDEX, arange, reshape
from msnb.ops.shape.views import inverse_permutation

__all__ = ["diag", "diag_embed", "diagflat", "diagonal", "trace", "tril", "tril_indices", "triu", "triu_indices"]

FAMILY = "triangle"  # of the records in this module: pictures and the JSON of graphs name it

_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])
_C = np.arange(18.0).reshape(2, 3, 3) / 8 - 1
FULL = (None, None, None)


def _triangle(name: str, doc: str) -> Op:
    def infer(x: TensorType, *, diagonal: int) -> TensorType:
        if isinstance(diagonal, bool) or not isinstance(diagonal, int):
            raise ArgumentError(f"{name}: diagonal must be an int, got {diagonal!r}.")
        if x.ndim < 2:
            raise ShapeError(f"{name} needs a tensor of at least two axes.", operands=operand_lines(x))
        return tensor_type(x.shape, strong_dtype(x))

    def grad(dout: Any, diagonal: int) -> Any:
        return op(dout, diagonal=diagonal)

    infer.__module__ = __name__
    op = define(
        name,
        "x",
        onnx=f"Trilu(x, diagonal, upper={int(name == 'triu')})",
        attrs={"diagonal": 0},
        infer=infer,
        body=lambda xp, x, *, diagonal: getattr(xp, name)(x, diagonal),
        grad=grad,
        axes="... m! n! -> ... m! n!",
        traits=("pure", "linear"),
        doc=doc,
        examples=(
            Example((_C,), {"diagonal": 0}),
            Example((_A,), {"diagonal": -1}),
            Example((_A,), {"diagonal": 1}),
            Example((_A[:0],), {}),
        ),
        wrong=(InvalidExample((_A[0],), {}, "at least two axes", ShapeError),),
    )
    return op


TRIL = _triangle("tril", "The elements on and below a diagonal of every matrix; zero above.")
TRIU = _triangle("triu", "The elements on and above a diagonal of every matrix; zero below.")


@cached
def tril(x: Any, diagonal: int = 0) -> Tensor:
    """``x`` with zeros above a diagonal.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.tril(ms.Tensor([[1, 2], [3, 4]])).tolist()
        [[1, 0], [3, 4]]
    """
    return TRIL(as_tensor(x), diagonal=diagonal)


@cached
def triu(x: Any, diagonal: int = 0) -> Tensor:
    """``x`` with zeros below a diagonal.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.triu(ms.Tensor([[1, 2], [3, 4]])).tolist()
        [[1, 2], [0, 4]]
    """
    return TRIU(as_tensor(x), diagonal=diagonal)


def _pair_last(name: str, ndim: int, axis1: int, axis2: int) -> tuple[int, ...]:
    """The order of axes in which the two named ones are the last."""
    a, b = normal_axis(name, axis1, ndim), normal_axis(name, axis2, ndim)
    if a == b:
        raise AttributeValueError(f"{name}: axis1 and axis2 are both {axis1}.")
    return (*(i for i in range(ndim) if i not in (a, b)), a, b)


def _steps(rows: Any, cols: Any, offset: int) -> tuple[Any, Any]:
    length = max(min(rows + min(offset, 0), cols - max(offset, 0)), 0)
    along = arange(length)
    return along + max(-offset, 0), along + max(offset, 0)


class _Diagonals(NamedTuple):
    """The diagonals of the last two axes, in the place of an op with ``restore``."""

    offset: int

    def _place(self, x: Any) -> tuple[Any, Any]:
        return _steps(x.shape[-2], x.shape[-1], self.offset), (FULL,) * (x.ndim - 2) + ("t", "t")

    def __call__(self, x: Any) -> Tensor:
        pair, spec = self._place(x)
        return INDEX(x, *pair, spec=spec)

    def restore(self, x: Any, part: Any, at: int) -> Tensor:
        """``x`` with other diagonals."""
        pair, spec = self._place(x)
        return INDEX_UPDATE(x, part, *pair, spec=spec)

    def body(self, xp: Any, x: Any) -> Any:
        """NumPy's view."""
        return xp.diagonal(x, self.offset, -2, -1)


@worded
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonals of the matrices that two axes span, along a new last axis.

    Args:
        x: tensor of at least two axes (of known sizes).
        offset: which diagonal: above the main one if positive.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.diagonal(ms.Tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]
    """
    need_ints("diagonal", offset=offset)
    t = as_tensor(x)
    if t.ndim < 2:
        raise ShapeError("diagonal needs a tensor of at least two axes.", operands=operand_lines(t._type))
    order = _pair_last("diagonal", t.ndim, axis1, axis2)
    moved = t if order == tuple(range(t.ndim)) else TRANSPOSE(t, perm=order)
    read = _Diagonals(offset)
    out = read(moved)
    mark(out, moved, [read, {}, -1])
    return out


def diag_embed(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last axis of ``x`` on a diagonal and zeros elsewhere."""
    t = as_tensor(x)
    if not t.ndim:
        raise ShapeError("diag_embed needs a tensor of at least one axis.", operands=operand_lines(t._type))
    side = t.shape[-1] + abs(offset)
    pair = _steps(side, side, offset)
    out = UNINDEX(t, *pair, spec=(FULL,) * (t.ndim - 1) + ("t", "t"), shape=(*t.shape[:-1], side, side))
    order = _pair_last("diag_embed", t.ndim + 1, dim1, dim2)
    return out if order == tuple(range(t.ndim + 1)) else TRANSPOSE(out, perm=inverse_permutation(order))


@cached
def diag(x: Any, diagonal_: int = 0, *, diagonal: int | None = None) -> Tensor:
    """A vector becomes a diagonal matrix, a matrix gives its diagonal.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.diag(ms.Tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """
    t = as_tensor(x)
    offset = diagonal_ if diagonal is None else diagonal
    if t.ndim not in (1, 2):
        raise ShapeError("diag needs a vector or a matrix.", operands=operand_lines(t._type))
    return diag_embed(t, offset) if t.ndim == 1 else own(_diagonal(t, offset))


def diagflat(input: Any, offset: int = 0) -> Tensor:
    """A matrix of zeros with all elements of a tensor on a diagonal.

    Args:
        input: tensor of any shape.
        offset: above the main diagonal; negative, below it.

    Raises:
        TypeError: no tensor, or an offset that is no whole number.

    Source: `mindspore.ops.diagflat`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.diagflat(ms.Tensor([[1, 2]])).tolist()
        [[1, 0], [0, 2]]
    """
    if not isinstance(input, Tensor) or isinstance(offset, bool) or not isinstance(offset, int):
        raise ArgumentError(f"diagflat takes a tensor and a whole number, got {type(input).__name__} and {offset!r}.")
    return diag_embed(reshape(input, (-1,)), offset)


_diagonal = diagonal


@worded
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum of a diagonal, in a dtype if one is asked for.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.trace(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])).item()
        5.0
    """
    return diagonal(x, offset, axis1, axis2).sum(axis=-1, dtype=dtype)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64) -> Tensor:
    """The row and column indices [2, n] of a lower triangle, int32 or int64."""
    return as_tensor(np.stack(np.tril_indices(int(row), int(offset), int(col))).astype(dtypes.as_dtype(dtype).numpy))


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64) -> Tensor:
    """The row and column indices [2, n] of an upper triangle, int32 or int64."""
    return as_tensor(np.stack(np.triu_indices(int(row), int(offset), int(col))).astype(dtypes.as_dtype(dtype).numpy))


keep_calls(globals(), "trace diagonal")
