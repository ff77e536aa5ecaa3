"""Linear algebra by SciPy's names and arguments.

``overwrite_a``, ``overwrite_b``, ``check_finite`` and ``turbo`` allow SciPy something that it may leave; here memory
is never overwritten, and what is not finite gives NaN or the error of the factorization. They have to be bools.

Source: https://docs.scipy.org/doc/scipy/reference/linalg.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.ops.definition import as_tensor, need_bools, operand_lines

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eigh", "inv", "lstsq", "lu", "lu_factor", "lu_solve",
    "solve_triangular",
]  # fmt: skip

_REALS = (dtypes.float32, dtypes.float64)
_NUMBERS = (*_REALS, dtypes.complex64, dtypes.complex128)
_WHOLE = (dtypes.int32, dtypes.int64)


def block_diag(*arrs: Any) -> Tensor:
    """Matrices along a diagonal, zeros elsewhere; numbers and vectors count as rows.

    Args:
        arrs: [m, n], [n] or [] each; none at all make [1, 0].

    Raises:
        ShapeError: more than two axes.

    Source: `mindspore.scipy.linalg.block_diag`

    Examples:
        >>> import msnb as ms
        >>> ms.scipy.linalg.block_diag(ms.Tensor([[1, 2]]), ms.Tensor(3)).tolist()
        [[1, 2, 0], [0, 0, 3]]
    """
    return ops.block_diag(*arrs) if arrs else ops.zeros((1, 0))


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The inverse of a square matrix.

    Args:
        a: [n, n]; int32 and int64 count as float64.
        overwrite_a, check_finite: see the module.

    Raises:
        ShapeError: not square. DTypeError: other numbers. LinAlgError: singular.

    Source: `mindspore.scipy.linalg.inv`

    Examples:
        >>> import msnb as ms
        >>> ms.scipy.linalg.inv(ms.Tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    need_bools("inv", overwrite_a=overwrite_a, check_finite=check_finite)
    return ops.inverse(_matrix("inv", a))


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The determinant of a square matrix.

    Args:
        a: [n, n]; int32 and int64 count as float64.
        overwrite_a, check_finite: see the module.

    Raises:
        ShapeError: not square. DTypeError: other numbers.

    Source: `mindspore.scipy.linalg.det`

    Examples:
        >>> import msnb as ms
        >>> ms.scipy.linalg.det(ms.Tensor([[2.0, 1.0], [0.0, 4.0]])).item()
        8.0
    """
    need_bools("det", overwrite_a=overwrite_a, check_finite=check_finite)
    return ops.det(_matrix("det", a))


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The triangle R with R' R = a, or L with L L' = a.

    Args:
        a: [n, n], Hermitian and positive definite.
        lower: L and not R; this triangle of ``a`` is read.
        overwrite_a, check_finite: see the module.

    Raises:
        ShapeError: not square. DTypeError: other numbers. LinAlgError: not positive definite.

    Source: `mindspore.scipy.linalg.cholesky`

    Examples:
        >>> import msnb as ms
        >>> ms.scipy.linalg.cholesky(ms.Tensor([[4.0, 2.0], [2.0, 2.0]])).tolist()
        [[2.0, 1.0], [0.0, 1.0]]
    """
    need_bools("cholesky", lower=lower, overwrite_a=overwrite_a, check_finite=check_finite)
    return ops.cholesky(_hermitian(_matrix("cholesky", a), lower), not lower)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Tensor, bool]:
    """The Cholesky factor for ``cho_solve``.

    Args:
        a, lower, overwrite_a, check_finite: as for ``cholesky``.

    Returns:
        the factor (zeros in the other triangle, where SciPy leaves anything) and ``lower``.

    Raises:
        ShapeError, DTypeError, LinAlgError: as ``cholesky``.

    Source: `mindspore.scipy.linalg.cho_factor`

    Examples:
        >>> import msnb as ms
        >>> c, low = ms.scipy.linalg.cho_factor(ms.Tensor([[4.0, 2.0], [2.0, 2.0]]))
        >>> c.tolist(), low
        ([[2.0, 1.0], [0.0, 1.0]], False)
    """
    return cholesky(a, lower, overwrite_a, check_finite), lower


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """The x with a x = b, from the Cholesky factor of a.

    Args:
        c_and_lower: what ``cho_factor`` gave.
        b: [n] or [n, k].
        overwrite_b, check_finite: see the module.

    Raises:
        ShapeError: sizes that do not fit. DTypeError: other numbers.

    Source: `mindspore.scipy.linalg.cho_solve`

    Examples:
        >>> import msnb as ms
        >>> c = ms.scipy.linalg.cho_factor(ms.Tensor([[4.0, 0.0], [0.0, 2.0]]))
        >>> [round(v, 4) for v in ms.scipy.linalg.cho_solve(c, ms.Tensor([8.0, 2.0])).tolist()]
        [2.0, 1.0]
    """
    need_bools("cho_solve", overwrite_b=overwrite_b, check_finite=check_finite)
    c, lower = c_and_lower
    right, dtype = as_tensor(b), _matrix("cho_solve", c).dtype
    columns = right.astype(dtype).reshape(-1, 1) if right.ndim == 1 else right.astype(dtype)
    found = ops.cholesky_solve(columns, c, not lower)
    return found.reshape(-1) if right.ndim == 1 else found  # type: ignore[no-any-return]


def eigh(
    a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, turbo: bool = True, eigvals: Any = None, type: int = 1, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Eigenvalues, increasing, and eigenvectors of a Hermitian matrix.

    Args:
        a: [n, n]; int32 and int64 count as float64.
        b: None: the generalized problem is not there, as in MindSpore.
        lower: the triangle of ``a`` that is read.
        eigvals_only: without the vectors.
        overwrite_a, overwrite_b, turbo, check_finite: see the module.
        eigvals: None: all of them. type: 1.

    Returns:
        [n], and unless ``eigvals_only`` [n, n] with a vector in each column.

    Raises:
        ShapeError: not square. DTypeError: other numbers. ArgumentError: a flag that is no bool.
        AttributeValueError: ``b``, ``eigvals`` or another ``type``.

    Source: `mindspore.scipy.linalg.eigh`

    Examples:
        >>> import msnb as ms
        >>> ms.scipy.linalg.eigh(ms.Tensor([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True).tolist()
        [1.0, 2.0]
    """
    need_bools(
        "eigh", lower=lower, eigvals_only=eigvals_only, overwrite_a=overwrite_a, overwrite_b=overwrite_b, turbo=turbo,
        check_finite=check_finite,
    )  # fmt: skip
    if b is not None or eigvals is not None or type != 1:
        raise AttributeValueError("eigh solves a v = w v for all eigenvalues: b and eigvals are None, type is 1.")
    found = ops.eigh(_hermitian(_matrix("eigh", a, stacked=False), lower))
    return found[0] if eigvals_only else found


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Tensor:  # fmt: skip
    """The x with a x = b for a triangular ``a``.

    Args:
        a: [..., n, n]; int32 and int64 count as float64.
        b: [..., n] or [..., n, k], of the dtype of ``a``.
        trans: 0 or "N": a; 1 or "T": its transpose; 2 or "C": its conjugate transpose.
        lower: the triangle that is read.
        unit_diagonal: the diagonal counts as ones.
        overwrite_b, check_finite: see the module.

    Raises:
        ShapeError: sizes that do not fit. DTypeError: other numbers, or two dtypes.
        ArgumentError: a flag that is no bool. AttributeValueError: another ``trans``.

    Source: `mindspore.scipy.linalg.solve_triangular`

    Examples:
        >>> import msnb as ms
        >>> a = ms.Tensor([[2.0, 0.0], [1.0, 4.0]])
        >>> ms.scipy.linalg.solve_triangular(a, ms.Tensor([2.0, 9.0]), lower=True).tolist()
        [1.0, 2.0]
    """
    need_bools(
        "solve_triangular", lower=lower, unit_diagonal=unit_diagonal, overwrite_b=overwrite_b,
        check_finite=check_finite,
    )  # fmt: skip
    left, right = as_tensor(a), as_tensor(b)
    if left.dtype != right.dtype:
        raise DTypeError(f"solve_triangular takes a and b of one dtype, not {left.dtype} and {right.dtype}.")
    left = _matrix("solve_triangular", left)
    right = right.astype(left.dtype)
    fits = right.ndim in (left.ndim - 1, left.ndim) and right.shape[: left.ndim - 1] == left.shape[:-1]
    if not fits:
        raise ShapeError("solve_triangular: b has the rows of a.", operands=operand_lines(left._type, right._type))
    return ops.solve_triangular(left, right, trans, lower, unit_diagonal)  # type: ignore[no-any-return]


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, Tensor]:
    """The LU factors of a square matrix, with exchanges of rows.

    Args:
        a: [n, n]; int32 and int64 count as float64.
        overwrite_a, check_finite: see the module.

    Returns:
        both triangles in one matrix (ones on L's diagonal are not stored); int32 pivots: row i was exchanged with it.

    Raises:
        ShapeError: not square. DTypeError: other numbers.

    Source: `mindspore.scipy.linalg.lu_factor`

    Examples:
        >>> import msnb as ms
        >>> lu, pivots = ms.scipy.linalg.lu_factor(ms.Tensor([[1.0, 2.0], [4.0, 2.0]]))
        >>> lu.tolist(), pivots.tolist()
        ([[4.0, 2.0], [0.25, 1.5]], [1, 1])
    """
    need_bools("lu_factor", overwrite_a=overwrite_a, check_finite=check_finite)
    return ops.lu_factor(_matrix("lu_factor", a))


def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """The x with a x = b, from the LU factors of a.

    Args:
        lu_and_piv: what ``lu_factor`` gave.
        b: [n] or [n, k].
        trans: 0: a; 1: its transpose; 2: its conjugate transpose.
        overwrite_b, check_finite: see the module.

    Raises:
        ShapeError: sizes that do not fit. AttributeValueError: another ``trans``.

    Source:
        https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.lu_solve.html

    Examples:
        >>> import msnb as ms
        >>> factors = ms.scipy.linalg.lu_factor(ms.Tensor([[1.0, 2.0], [4.0, 2.0]]))
        >>> [round(v, 4) for v in ms.scipy.linalg.lu_solve(factors, ms.Tensor([3.0, 6.0])).tolist()]
        [1.0, 1.0]
    """
    need_bools("lu_solve", overwrite_b=overwrite_b, check_finite=check_finite)
    if trans not in (0, 1, 2):
        raise AttributeValueError(f"lu_solve: trans is 0, 1 or 2, not {trans!r}.")
    factors, pivots = lu_and_piv
    if trans == 0:
        return ops.lu_solve(b, factors, pivots)  # type: ignore[no-any-return]
    turn, lower, upper = ops.lu_unpack(factors, pivots)
    found = solve_triangular(upper, as_tensor(b), trans)
    return ops.matmul(turn, solve_triangular(lower, found, trans, True, True))


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The LU factors of a matrix as matrices: a = P L U.

    Args:
        a: [m, n]; int32 and int64 count as float64.
        permute_l: P L in one matrix.
        overwrite_a, check_finite: see the module.

    Returns:
        P [m, m], L [m, k] and U [k, n], k = min(m, n); with ``permute_l`` P L and U.

    Raises:
        ShapeError: no matrix. DTypeError: other numbers.

    Source: `mindspore.scipy.linalg.lu`

    Examples:
        >>> import msnb as ms
        >>> p, l, u = ms.scipy.linalg.lu(ms.Tensor([[1.0, 2.0], [4.0, 2.0]]))
        >>> l.tolist(), u.tolist()
        ([[1.0, 0.0], [0.25, 1.0]], [[4.0, 2.0], [0.0, 1.5]])
    """
    need_bools("lu", permute_l=permute_l, overwrite_a=overwrite_a, check_finite=check_finite)
    t = _matrix("lu", a, square=False)
    rows, columns = t.shape[-2:]
    turn, lower, upper = _tall_factors(t) if rows > columns else _wide_factors(t)
    return (ops.matmul(turn, lower), upper) if permute_l else (turn, lower, upper)


def _wide_factors(t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of the square on the left; the columns beside it follow."""
    rows = t.shape[-2]
    turn, lower, upper = ops.lu_unpack(*ops.lu_factor(t[..., :rows]))
    beside = ops.matmul(turn.mT, t[..., rows:])
    return turn, lower, ops.concat((upper, ops.solve_triangular(lower, beside, 0, True, True)), -1)


def _tall_factors(t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The order of the rows is that of the square with columns of zeros; in this order no row of the square on top is
    exchanged again, and the rows below it follow."""
    rows, columns = t.shape[-2:]
    square = ops.concat((ops.stop_gradient(t), ops.zeros((*t.shape[:-1], rows - columns), t.dtype)), -1)
    turn = ops.lu_unpack(*ops.lu_factor(square))[0]
    ordered = ops.matmul(turn.mT, t)
    _, top, upper = ops.lu_unpack(*ops.lu_factor(ordered[..., :columns, :]))
    below = ops.solve_triangular(upper.mT, ordered[..., columns:, :].mT, 0, True).mT
    return turn, ops.concat((top, below), -2), upper


def lstsq(
    A: Any, B: Any, rcond: float | None = None, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The X for which the squares of A X - B are least, the smallest one where there are several.

    Args:
        A: [..., m, n] floats. B: [..., m, k] or [m].
        rcond: singular values below ``rcond`` times the largest count as 0; None: the dtype's epsilon.
        driver: "gelsy", "gels", "gelsd" or "gelss" in other libraries; here all are the singular value decomposition.

    Returns:
        the solution [..., n, k] or [n]; sums of squares [..., k], or [0] where m <= n; the rank; the singular values,
        through which no gradient flows, as in MindSpore. (SciPy gives no sums either where the rank is below n < m:
        here they are there, since shapes do not depend on values.)

    Raises:
        ShapeError: sizes that do not fit. DTypeError: other numbers. AttributeValueError: another driver.

    Source: `mindspore.scipy.linalg.lstsq`

    Examples:
        >>> import msnb as ms
        >>> x, squares, rank, s = ms.scipy.linalg.lstsq(ms.Tensor([[1.0], [1.0]]), ms.Tensor([1.0, 3.0]))
        >>> round(x.item(), 4), round(squares.item(), 4), rank.item()
        (2.0, 2.0, 1)
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise AttributeValueError(f"lstsq: driver is gels, gelsy, gelsd or gelss, not {driver!r}.")
    t = _matrix("lstsq", A, square=False, dtypes_=_REALS)
    right = as_tensor(B).astype(t.dtype)
    vector = right.ndim == 1
    columns = right.reshape(-1, 1) if vector else right
    if columns.ndim != t.ndim or columns.shape[:-1] != t.shape[:-1]:
        raise ShapeError("lstsq: B has the rows of A.", operands=operand_lines(t._type, right._type))
    cut = float(np.finfo(t.dtype.numpy).eps) if rcond is None else rcond
    values = ops.stop_gradient(ops.svd(t, compute_uv=False))
    rank = (values > values.max(-1, keepdims=True) * cut).sum(-1)
    found = ops.matmul(ops.pinv(t, cut), columns)
    squares = ops.square(ops.matmul(t, found) - columns).sum(-2)
    if t.shape[-2] <= t.shape[-1]:
        squares = ops.zeros((0,), t.dtype)
    return (found.reshape(-1) if vector else found), squares, rank, values


def _matrix(
    name: str, a: Any, square: bool = True, stacked: bool = True, dtypes_: tuple[dtypes.DType, ...] = _NUMBERS
) -> Tensor:
    """A matrix, or several, of floats or complex numbers."""
    t = as_tensor(a)
    if t.dtype not in (*dtypes_, *_WHOLE):
        raise DTypeError(f"{name} takes {', '.join(str(d) for d in (*dtypes_, *_WHOLE))}, not {t.dtype}.")
    if t.ndim < 2 or (t.ndim > 2 and not stacked) or (square and t.shape[-1] != t.shape[-2]):
        kind = "square matrix" if square else "matrix"
        raise ShapeError(f"{name} takes a {kind}.", operands=operand_lines(t._type))
    return t.astype(dtypes.float64) if t.dtype in _WHOLE else t


def _hermitian(t: Tensor, lower: bool) -> Tensor:
    """The whole matrix of which one triangle is given."""
    half = ops.tril(t) if lower else ops.triu(t)
    other = ops.conj(half).mT if t.dtype.is_complex else half.mT
    return half + (ops.triu(other, 1) if lower else ops.tril(other, -1))
