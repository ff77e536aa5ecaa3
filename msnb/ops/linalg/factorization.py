"""Factors of rectangular matrices, and what they answer.

    qr    A = Q R          Q' Q = 1, R upper triangular       M = R dR' - dQ' Q
                           dA = (dQ + Q sym(tril(M))) R'^-1,  sym(T) = T + T' with the diagonal once
    svd   A = U diag(s) V' U' U = V' V = 1, s decreasing      F[i,j] = 1/(s[j]^2 - s[i]^2) off the diagonal
                           dA = (U (F o (U'dU - dU'U)) S + (1 - U U') dU / s) V' + U diag(ds) V'
                                + U (S (F o (V'dV - dV'V)) V' + (dV / s)' (1 - V V'))
    pinv  V diag(1/s) U'   lstsq: the x with the smallest |A x - b|

Columns of the factors are known up to their signs, and vectors of equal singular values up to a rotation: a loss must
not depend on those, or its gradient is not one number.

Source: Giles 2008; Townsend 2016, "Differentiating the singular value decomposition"; Walter and Lehmann 2012
(arXiv:1001.1654). Complex matrices have the same rules, ' conjugates; the phases of their vectors are nobody's
choice as the signs are, and what turns them adds i Im(U'dU) / s to the middle of svd's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, GradientError, ShapeError
from msnb.core import Tensor, TensorType, dtypes, tensor_type
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import as_float, as_tensor
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define
from msnb.ops.definition.symbolic_sizes import bound_of, product
from msnb.ops.definition.type_inference import normal_axis, operand_lines
from msnb.ops.elementwise import arithmetic, is_complex, real, stop_gradient, times_adjoint, transcendental, where
from msnb.ops.indexing.rearrange import moveaxis
from msnb.ops.linalg.failures import refusing
from msnb.ops.linalg.matmul import conjugate_transpose, matmul
from msnb.ops.linalg.matrix_functions import in_single, inverse
from msnb.ops.linalg.triangular import diag_embed, tril
from msnb.ops.reduction import functional
from msnb.ops.shape import EXPAND_DIMS, SQUEEZE, broadcast_to, concat, eye

__all__ = ["cond", "lstsq", "matrix_norm", "matrix_rank", "pinv", "qr", "svd"]

FAMILY = "factors"  # of the records in this module: pictures and the JSON of graphs name it

_TALL = np.array([[2.0, 0.5], [0.75, -1.5], [0.25, 1.0]])
_WIDE = np.array([[1.0, -0.5, 0.25], [0.5, 2.0, -1.5]])
_STACK = np.stack([_TALL, -2 * _TALL[::-1]])
_NONE = np.zeros((0, 3, 2))


def _need_matrix(name: str, x: TensorType) -> tuple[Any, Any, Any]:
    """Rows, columns, and the smaller of both."""
    if x.dtype not in (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128):
        raise DTypeError(f"{name} needs float32, float64 or complex matrices.", operands=operand_lines(x),
                         hint="convert with x.astype(ms.float32).")  # fmt: skip
    if x.ndim < 2 or not all(isinstance(s, int) for s in x.shape[-2:]):
        raise ShapeError(f"{name} needs matrices of known sizes in the last two axes.", operands=operand_lines(x))
    return x.shape[-2], x.shape[-1], min(x.ints(-2))


def _cubic(types: Any, out_types: Any, attrs: Any) -> Work:
    sizes = (*types[0].shape, min(types[0].ints(-2)))
    return Work(cube=2.0 * (bound_of(product(sizes)) or 0))


_WRONG = (
    InvalidExample((_TALL[0],), {}, "needs matrices", ShapeError),
    InvalidExample((np.ones((2, 2), np.int32),), {}, "needs float32, float64 or complex", DTypeError),
)


# ---- QR ----


def _qr_type(x: TensorType) -> tuple[TensorType, TensorType]:
    m, n, k = _need_matrix("qr", x)
    return tensor_type((*x.shape[:-2], m, k), x.dtype), tensor_type((*x.shape[:-2], k, n), x.dtype)


def _qr_grad(douts: Any, outs: Any) -> Any:
    (dq, dr), (q, r) = douts, outs
    if r.shape[-1] > r.shape[-2]:
        raise GradientError("qr has a gradient for matrices with at least as many rows as columns.",
                            operands=operand_lines(r._type), hint="qr of x.mT, or svd, has one.")  # fmt: skip
    inner = matmul(r, conjugate_transpose(dr)) - matmul(conjugate_transpose(dq), q)
    half = (tril(inner) + tril(inner, -1)) * 0.5
    whole = half + conjugate_transpose(half)
    return matmul(dq + matmul(q, whole), conjugate_transpose(inverse(r)))


QR: Op = define(
    "qr", "x", infer=_qr_type, body=lambda xp, x: tuple(xp.linalg.qr(x)), grad=_qr_grad,
    axes="... m! n! -> ... M! K!, ... K! N!", work=_cubic,
    doc="Orthonormal columns Q and an upper triangular R with Q R = x.",
    examples=(Example((_TALL,)), Example((_STACK,)), Example((_NONE,))), wrong=_WRONG,
)  # fmt: skip


@in_single
def qr(x: Any, mode: str = "reduced") -> tuple[Any, Any]:
    """Orthonormal columns and a triangle whose product is x.

    Args:
        x: [..., m, n] float32, float64 or complex.
        mode: "reduced", or "complete": Q has all m columns.

    Returns:
        Q [..., m, k] and R [..., k, n], k the smaller of m and n; of "complete" k is m.

    Raises:
        ValueError: another mode.

    Source: `mindspore.ops.qr`

    Examples:
        >>> import msnb as ms
        >>> q, r = ms.ops.qr(ms.Tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> round(abs(r[0, 0].item()), 4)
        5.0
    """
    if mode not in ("reduced", "complete"):
        raise AttributeValueError(f"qr: mode is 'reduced' or 'complete', not {mode!r}.")
    t = as_tensor(x)
    if mode == "reduced" or t.shape[-2] <= t.shape[-1]:
        q, r = QR(t)
        return q, r
    n, rest = t.shape[-1], eye(t.shape[-2], dtype=t.dtype)  # the columns behind those of x: of anything independent
    q, r = QR(concat([t, broadcast_to(rest, (*t.shape[:-2], *rest.shape))], axis=-1))
    return q, r[..., :n]


# ---- singular values ----


def _svd_type(x: TensorType) -> tuple[TensorType, TensorType, TensorType]:
    m, n, k = _need_matrix("svd", x)
    lead = x.shape[:-2]
    values = tensor_type((*lead, k), x.dtype.real)
    return values, tensor_type((*lead, m, k), x.dtype), tensor_type((*lead, n, k), x.dtype)


def _svd_body(xp: Any, x: Any) -> Any:
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return s, u, xp.conj(xp.swapaxes(vh, -1, -2))


def _rotated(d: Any, factor: Any, away: Any) -> Any:
    """F o (W' dW - dW' W): what a turn of the singular vectors adds."""
    inner = matmul(conjugate_transpose(factor), d)
    return away * (inner - conjugate_transpose(inner))


def _outside(d: Any, factor: Any, small: Any) -> Any:
    """(1 - W W') dW / s: what leaves the space of the singular vectors; nothing where that is the whole space."""
    if factor.shape[-1] == factor.shape[-2]:
        return None
    return (d - matmul(factor, matmul(conjugate_transpose(factor), d))) * small


def _svd_grad(douts: Any, outs: Any) -> Any:
    (ds, du, dv), (s, u, v) = douts, outs
    row, column = EXPAND_DIMS(s, axis=-2), EXPAND_DIMS(s, axis=-1)
    gaps = row * row - column * column
    away = where(gaps == 0, 0, 1 / where(gaps == 0, 1, gaps))
    small = where(row == 0, 0, 1 / where(row == 0, 1, row))
    if is_complex(u):
        turn = functional.sum(times_adjoint(du, u), -2)
        ds = ds + (turn - real(turn)) * SQUEEZE(small, axis=-2)
    middle = diag_embed(ds) + _rotated(du, u, away) * row + column * _rotated(dv, v, away)
    out = matmul(matmul(u, middle), conjugate_transpose(v))
    left, right = _outside(du, u, small), _outside(dv, v, small)
    out = out if left is None else out + matmul(left, conjugate_transpose(v))
    return out if right is None else out + matmul(u, conjugate_transpose(right))


SVD: Op = define(
    "svd", "x", infer=_svd_type, body=refusing("svd", _svd_body), grad=_svd_grad,
    axes="... m! n! -> ... K!, ... M! K!, ... N! K!", work=_cubic,
    doc="Singular values (decreasing) and vectors: U diag(s) V' = x; equal values have no gradient of their vectors.",
    examples=(Example((_TALL,)), Example((_WIDE,)), Example((_STACK,)), Example((_NONE,))), wrong=_WRONG,
)  # fmt: skip


def svd(x: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular values and vectors.

    Args:
        x: [..., m, n] float32, float64 or complex.
        full_matrices: whether U and V are square; vectors without a value complete the basis, in any way.
        compute_uv: False: the values alone.

    Returns:
        s [..., k] decreasing, U [..., m, k], V [..., n, k] with U diag(s) V' = x, k the smaller of m and n; or s. No
        gradient goes through vectors without a value.

    Source: `mindspore.ops.svd`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.svd(ms.Tensor([[0.0, 2.0], [1.0, 0.0]]), compute_uv=False).tolist()
        [2.0, 1.0]
    """
    s, u, v = SVD(as_tensor(x))
    if full_matrices:
        u, v = _completed(u), _completed(v)
    return (s, u, v) if compute_uv else s


def _completed(u: Tensor) -> Tensor:
    """Orthonormal columns [..., m, k], and behind them m - k more."""
    m, k = u.shape[-2:]
    return u if m == k else concat([u, qr(stop_gradient(u), "complete")[0][..., k:]], axis=-1)


def pinv(x: Any, rtol: Any = None, *, atol: Any = None, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse (Moore and Penrose).

    Args:
        x: [..., m, n]. rtol: singular values below this part of the largest count as 0; by default the larger size
            times the dtype's precision. atol: below this they do, too.
        hermitian: x is its own conjugate transpose: only its lower triangle is read.

    Returns:
        [..., n, m].

    Examples:
        >>> import msnb as ms
        >>> ms.ops.pinv(ms.Tensor([[2.0, 0.0], [0.0, 0.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.0]]
    """
    t = as_tensor(x)
    if hermitian:
        t = tril(t) + conjugate_transpose(tril(t, -1))
    s, u, v = SVD(t)
    unsaid = max(t.shape[-2:]) * float(np.finfo(s.dtype.numpy).eps) if atol is None else 0.0
    bound = functional.amax(s, -1, True) * (unsaid if rtol is None else rtol)
    kept = s > (bound if atol is None else arithmetic.maximum(bound, atol))
    inverted = where(kept, 1 / where(kept, s, 1), 0)
    return matmul(v * EXPAND_DIMS(inverted, axis=-2), conjugate_transpose(u))


@in_single
def lstsq(x: Any, b: Any) -> Any:
    """The solution of x y = b in least squares, the shortest one where there are several.

    Args:
        x: [m, n]. b: [m] or [m, k].

    Returns:
        [n] or [n, k].

    Examples:
        >>> import msnb as ms
        >>> y = ms.ops.lstsq(ms.Tensor([[1.0], [1.0]]), ms.Tensor([1.0, 3.0]))
        >>> round(y.item(), 4)
        2.0
    """
    t, v = as_tensor(x), as_tensor(b)
    if t.ndim != 2 or v.ndim not in (1, 2) or t.shape[0] != v.shape[0]:
        raise ShapeError("lstsq takes [m, n] and [m] or [m, k].", operands=operand_lines(t._type, v._type))
    return SQUEEZE(matmul(pinv(t), EXPAND_DIMS(v, axis=1)), axis=-1) if v.ndim == 1 else matmul(pinv(t), v)


_OF_SINGULAR_VALUES: dict[Any, Any] = {"nuc": functional.sum, 2: functional.amax, -2: functional.amin}


@worded
def matrix_norm(x: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """A norm of matrices.

    Args:
        x: tensor. axis: the two axes of the matrices, rows first.
        ord: "fro", "nuc", 1, -1, 2, -2, inf or -inf, as in NumPy.
        dtype: in which it is computed.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.matrix_norm(ms.Tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc").item()
        7.0
    """
    t = as_tensor(x) if dtype is None else as_tensor(x).astype(dtype)
    rows, columns = (normal_axis("matrix_norm", a, t.ndim) for a in axis)
    if rows == columns:
        raise AttributeValueError(f"matrix_norm: a matrix has two axes, got {tuple(axis)}.")
    if ord == "fro":
        t = as_float(t)
        return transcendental.sqrt(functional.sum(arithmetic.square(arithmetic.abs(t)), (rows, columns), keepdims))
    if isinstance(ord, bool) or ord not in (*_OF_SINGULAR_VALUES, 1, -1, float("inf"), -float("inf")):
        raise ShapeError(f"matrix_norm: ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, not {ord!r}.")
    if ord in _OF_SINGULAR_VALUES:
        wide = t.astype(dtypes.float32) if t.dtype.is_int or t.dtype.itemsize == 2 else t
        out = _OF_SINGULAR_VALUES[ord](svd(moveaxis(wide, (rows, columns), (-2, -1)), compute_uv=False), -1)
        return EXPAND_DIMS(out, axis=tuple(sorted((rows, columns)))) if keepdims else out
    # 1: the largest sum of a column; inf: of a row; negative orders: the smallest
    inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = functional.sum(arithmetic.abs(t), inner, True)
    out = (functional.amax if ord > 0 else functional.amin)(sums, outer, True)
    return out if keepdims else SQUEEZE(out, axis=(rows, columns))


def cond(A: Any, p: Any = None) -> Tensor:
    """How much a matrix may enlarge relative errors: its norm times that of its inverse.

    Args:
        A: matrices [..., n, n], floats; [..., m, n] where singular values answer (``p`` None, 2 or -2).
        p: None (as 2), "fro", "nuc", 1, -1, 2, -2, inf or -inf, as of ``matrix_norm``.

    Returns:
        Tensor [...]; infinite where the smallest singular value is 0.

    Raises:
        LinAlgError: a matrix has no inverse, where one is needed.
        ValueError: another ``p``, or no square matrix where an inverse is needed.

    Source: `mindspore.ops.cond`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.cond(ms.Tensor([[4.0, 0.0], [0.0, 0.5]])).item()
        8.0
    """
    t = as_tensor(A)
    if p is None or p in (2, -2):
        s = svd(t, compute_uv=False)
        large, small = functional.amax(s, -1), functional.amin(s, -1)
        return small / large if p == -2 else large / small
    return matrix_norm(t, p) * matrix_norm(inverse(t), p)


def matrix_rank(x: Any, rtol: float | None = None) -> Tensor:
    """How many singular values are not 0 (not below ``rtol`` of the largest, as for ``pinv``)."""
    t = as_tensor(x)
    s = svd(t, compute_uv=False)
    share = max(t.shape[-2:]) * float(np.finfo(s.dtype.numpy).eps) if rtol is None else rtol
    return functional.sum((s > functional.amax(s, -1, True) * share).astype("int32"), -1)
