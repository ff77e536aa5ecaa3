"""Systems of equations from factors that are known, and the factors themselves.

    cholesky_solve     L L' x = b                    lu_factor, lu_solve, lu_unpack    P L U = A
    cholesky_inverse   (L L')^-1                     geqrf, orgqr, ormqr               Q as reflections I - tau v v'
    solve_triangular   T x = b

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.ops.html; LAPACK's users' guide (storage)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import TensorType, dtypes, tensor_type
from msnb.ops.definition import Example, InvalidExample, Op, as_tensor, define, operand_lines
from msnb.ops.elementwise.cast import cast, conj
from msnb.ops.elementwise.comparison import where
from msnb.ops.elementwise.factory import adjoint
from msnb.ops.indexing.gather import gather_elements
from msnb.ops.linalg.matmul import added, conjugate_transpose, matmul, outer, turned
from msnb.ops.linalg.matrix_functions import TRIANGULAR_SOLVE, in_single, inverse, solve
from msnb.ops.linalg.triangular import tril, triu
from msnb.ops.shape import broadcast_to, concat, expand_dims, eye, ones_like, stack, zeros

__all__ = [
    "addr", "cholesky_inverse", "cholesky_solve", "geqrf", "ger", "lu_factor", "lu_solve", "lu_unpack", "matrix_solve",
    "orgqr", "ormqr", "solve_triangular",
]  # fmt: skip

FAMILY = "factors"


def _square(name: str, x: Any) -> Any:
    t = as_tensor(x)
    if t.ndim < 2 or t.shape[-1] != t.shape[-2]:
        raise ShapeError(f"{name} needs square matrices in the last two axes.", operands=operand_lines(t._type))
    return t


def _columns(t: Any, b: Any) -> tuple[Any, bool]:
    """The right-hand sides as columns, and whether they were one vector."""
    right = as_tensor(b)
    alone = right.ndim == 1 or right.ndim == t.ndim - 1
    return (expand_dims(right, -1), True) if alone else (right, False)


def solve_triangular(a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
    """The x with a x = b for a triangular ``a``; what lies in the other triangle is not read.

    Args:
        a: [..., n, n].
        b: [..., n] or [..., n, k].
        trans: 0 or "N": a; 1 or "T": its transpose; 2 or "C": its conjugate transpose.
        lower: the triangle that is read.
        unit_diagonal: the diagonal counts as ones.

    Raises:
        ShapeError: ``a`` is not square. ValueError: another ``trans``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.solve_triangular(ms.Tensor([[2.0, 0.0], [1.0, 4.0]]), ms.Tensor([2.0, 9.0]), lower=True).tolist()
        [1.0, 2.0]
    """
    t = _square("solve_triangular", a)
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise AttributeValueError(f"solve_triangular: trans is 0, 1 or 2 (N, T or C), not {trans!r}.")
    t = conj(t) if trans in (2, "C") else t
    right, alone = _columns(t, b)
    found = _triangular(t, right, bool(lower), bool(unit_diagonal), trans not in (0, "N"))
    return found.squeeze(-1) if alone else found


@in_single
def _triangular(a: Any, b: Any, lower: bool, unit_diagonal: bool, transposed: bool) -> Any:
    return TRIANGULAR_SOLVE(a, b, lower=lower, unit_diagonal=unit_diagonal, transposed=transposed)


@in_single
def cholesky_inverse(input_x: Any, upper: bool = False) -> Any:
    """The inverse of the matrix whose Cholesky factor is given: (L L')^-1, or (U' U)^-1 with ``upper``.

    Raises:
        ShapeError: the factor is not square.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.cholesky_inverse(ms.Tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.25, 0.0], [0.0, 0.0625]]
    """
    factor = _square("cholesky_inverse", input_x)
    factor = triu(factor) if upper else tril(factor)
    other = conjugate_transpose(factor)
    return inverse(matmul(other, factor) if upper else matmul(factor, other))


def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Any:
    """The x with A x = ``input``, where ``input2`` is the Cholesky factor of A.

    Args:
        input: [..., n, k].
        input2: [..., n, n], a lower triangle, or an upper one with ``upper``.

    Raises:
        ShapeError: the factor is not square.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.cholesky_solve(ms.Tensor([[4.0], [16.0]]), ms.Tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[1.0], [1.0]]
    """
    factor = _square("cholesky_solve", input2)
    first, then = (2, 0) if upper else (0, 2)
    return solve_triangular(factor, solve_triangular(factor, input, first, not upper), then, not upper)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    """The x with ``matrix`` x = ``rhs``, or its conjugate transpose x = ``rhs`` with ``adjoint``."""
    t = _square("matrix_solve", matrix)
    return solve(conjugate_transpose(t) if adjoint else t, as_tensor(rhs))


def addr(x: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta x + alpha times the outer product of two vectors."""
    return added(x, beta, outer(vec1, vec2), alpha)


def ger(input: Any, vec2: Any) -> Any:
    """The outer product of two vectors."""
    return outer(input, vec2)


# ---- LU ----


def _lu_type(x: TensorType) -> tuple[TensorType, TensorType]:
    if not x.dtype.differentiable or x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError("lu_factor needs square matrices of floats.", operands=operand_lines(x))
    return tensor_type(x.shape, x.dtype), tensor_type(x.shape[:-1], dtypes.int32)


def _lu_body(xp: Any, x: Any) -> Any:
    """Gauss's elimination with the largest pivot, all matrices at once."""
    a, n = x.copy(), x.shape[-1]
    flat = a.reshape(-1, n, n)
    at, pivots = xp.arange(len(flat)), xp.zeros((len(flat), n), np.int32)
    for k in range(n):
        p = xp.argmax(xp.abs(flat[:, k:, k]), axis=1) + k if len(flat) else at
        pivots[:, k] = p
        rows = flat[at, p].copy()
        flat[at, p] = flat[:, k]
        flat[:, k] = rows
        pivot = flat[:, k, k]
        below = flat[:, k + 1 :, k] / xp.where(pivot == 0, xp.ones_like(pivot), pivot)[:, None]
        flat[:, k + 1 :, k] = below
        flat[:, k + 1 :, k + 1 :] -= below[:, :, None] * flat[:, None, k, k + 1 :]
    return flat.reshape(x.shape), pivots.reshape(x.shape[:-1])


def _lu_grad(douts: Any, outs: Any) -> Any:
    """dA = P L'^-1 (tril(L' dL, -1) + triu(dU U')) U'^-1"""
    dout, (factors, pivots) = douts[0], outs
    low, high = _unit_lower(factors), triu(factors)
    inner = tril(matmul(conjugate_transpose(low), tril(dout, -1)), -1)
    inner = inner + triu(matmul(triu(dout), conjugate_transpose(high)))
    left = solve_triangular(low, inner, 2, True, True)
    right = conjugate_transpose(solve_triangular(high, conjugate_transpose(left)))
    return matmul(_permutation(pivots, factors.dtype), right)


_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75], [-0.75, 2.5, 0.25]])
LU: Op = define(
    "lu_factor", "x", infer=_lu_type, body=_lu_body, grad=_lu_grad, axes="... m! n! -> ... m! n!, ... p!",
    doc="Both triangles of P L U = x in one matrix, and which row each step exchanged with its own.",
    examples=(Example((_A,)), Example((np.stack([_A, _A.T]),)), Example((np.zeros((0, 3, 3)),))),
    wrong=(InvalidExample((_A[:2],), {}, "square matrices", ShapeError),), family=FAMILY,
)  # fmt: skip


def _unit_lower(factors: Any) -> Any:
    return tril(factors, -1) + eye(factors.shape[-1], None, factors.dtype)


def _row_order(pivots: Any) -> Any:
    """Row i of P' A is row order[i] of A: the exchanges done one after the other."""
    n = pivots.shape[-1]
    steps = as_tensor(np.arange(n, dtype=np.int32))
    order = broadcast_to(steps, pivots.shape)
    for k in range(n):
        there = pivots[..., k : k + 1]
        mine, other = order[..., k : k + 1], gather_elements(order, -1, there)
        order = where(steps == there, mine, order)
        order = where(steps == k, other, order)
    return order


def _permutation(pivots: Any, dtype: Any) -> Any:
    rows = as_tensor(np.arange(pivots.shape[-1], dtype=np.int32))
    return cast(expand_dims(rows, -1) == expand_dims(_row_order(pivots), -2), dtype)


def lu_factor(a: Any) -> tuple[Any, Any]:
    """The LU factors of square matrices, with exchanges of rows.

    Args:
        a: [..., n, n] floats.

    Returns:
        both triangles in one matrix (ones on L's diagonal are not stored), and int32 pivots counted from 0.

    Raises:
        ShapeError: not square, or no floats.

    Examples:
        >>> import msnb as ms
        >>> lu, pivots = ms.ops.lu_factor(ms.Tensor([[1.0, 2.0], [4.0, 2.0]]))
        >>> lu.tolist(), pivots.tolist()
        ([[4.0, 2.0], [0.25, 1.5]], [1, 1])
    """
    factors, pivots = LU(as_tensor(a))
    return factors, pivots


def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """The x with A x = b, from the LU factors of A.

    Args:
        b: [..., n] or [..., n, k].
        LU_data: [..., n, n] as ``lu_factor`` gives it.
        LU_pivots: [..., n] integers counted from 0.

    Raises:
        ShapeError: the factors are not square.
    """
    factors = _square("lu_solve", LU_data)
    right, alone = _columns(factors, b)
    right = matmul(turned(_permutation(as_tensor(LU_pivots), factors.dtype)), right)
    found = solve_triangular(factors, solve_triangular(factors, right, 0, True, True))
    return found.squeeze(-1) if alone else found


def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """The matrices P, L and U of LU factors; None for what is not asked for.

    Raises:
        ShapeError: the factors are not square.
    """
    factors = _square("lu_unpack", LU_data)
    turn = _permutation(as_tensor(LU_pivots), factors.dtype) if unpack_pivots else None
    return (turn, _unit_lower(factors), triu(factors)) if unpack_data else (turn, None, None)


# ---- reflections ----


def geqrf(input: Any) -> tuple[Any, Any]:
    """The QR factors as LAPACK stores them: R above, the vectors of the reflections below the diagonal.

    Args:
        input: [..., m, n] real matrices.

    Returns:
        [..., m, n] factors and [..., min(m, n)] scales tau: Q is the product of all I - tau v v', v = (1, stored part).

    Raises:
        ShapeError: no matrix. DTypeError: complex numbers or integers.

    Examples:
        >>> import msnb as ms
        >>> factors, tau = ms.ops.geqrf(ms.Tensor([[3.0], [4.0]]))
        >>> factors[0, 0].item(), round(tau.item(), 4)
        (-5.0, 1.6)
    """
    t = as_tensor(input)
    if t.ndim < 2:
        raise ShapeError("geqrf needs a matrix.", operands=operand_lines(t._type))
    if not t.dtype.is_float:
        raise DTypeError("geqrf needs real floating-point numbers.", operands=operand_lines(t._type))
    taus = []
    for k in range(min(t.shape[-2:])):
        head, below = t[..., k, k], t[..., k + 1 :, k]
        alone = (below * below).sum(-1) == 0
        length = where(alone, 1.0, head * head + (below * below).sum(-1)).sqrt()
        beta = where(alone, head, where(head > 0, -length, length))
        scale = where(alone, 1.0, head - beta)
        tau = where(alone, 0.0, (beta - head) / where(alone, 1.0, beta))
        v = concat([ones_like(head)[..., None], below / scale[..., None]], -1)
        rest = t[..., k:, k + 1 :]
        rest = rest - (tau[..., None] * v)[..., None] * matmul(v[..., None, :], rest)
        column = concat([beta[..., None], v[..., 1:]], -1)[..., None]
        corner = concat([t[..., k:, :k], column, rest], -1)
        t = concat([t[..., :k, :], corner], -2)
        taus.append(tau)
    return t, stack(taus, -1) if taus else zeros((*t.shape[:-2], 0), t.dtype)


def _reflected(name: str, factors: Any, tau: Any, x: Any, transpose: bool) -> Any:
    """Q x, or Q' x."""
    (*batch, m, columns), count = factors.shape, tau.shape[-1]
    if tau.shape[:-1] != (*batch,) or x.shape[:-1] != (*batch, m) or count > columns:
        raise ShapeError(f"{name}: factors [m, n], tau [k <= n] and rows of length m do not meet.",
                         operands=operand_lines(factors._type, tau._type, x._type))  # fmt: skip
    unit = tril(factors, -1) + eye(m, columns, factors.dtype)
    tau = adjoint(tau) if transpose else tau
    for k in range(count) if transpose else reversed(range(count)):
        v = unit[..., k : k + 1]
        x = x - matmul(tau[..., k : k + 1, None] * v, matmul(conjugate_transpose(v), x))
    return x


def orgqr(input: Any, input2: Any) -> Any:
    """The first n columns of Q, from the factors and scales that ``geqrf`` gives.

    Args:
        input: [..., m, n] factors.
        input2: [..., k] scales tau.

    Raises:
        ShapeError: shapes that do not meet.
    """
    factors, tau = as_tensor(input), as_tensor(input2)
    first = broadcast_to(eye(factors.shape[-2], factors.shape[-1], factors.dtype), factors.shape)
    return _reflected("orgqr", factors, tau, first, False)


def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """Q other (or Q' other, other Q, other Q'; Q' is conjugated too), from the factors and scales that ``geqrf`` gives.

    Raises:
        ShapeError: shapes that do not meet.
    """
    factors, scales, x = as_tensor(input), as_tensor(tau), as_tensor(other)
    if left:
        return _reflected("ormqr", factors, scales, x, transpose)
    found = _reflected("ormqr", factors, scales, conjugate_transpose(x), not transpose)
    return conjugate_transpose(found)
