"""Linear algebra on the last two axes; leading axes are stacks of matrices.

    inverse   Y = A^-1          dA = -Y' dY Y'                    (' is the transposed conjugate)
    solve     A X = B           dB = A'^-1 dX,  dA = -dB X'
    det       d = |A|           dA = dd * d * A'^-1
    slogdet   s, l = sign, log|A|     dA = dl * A'^-1
    cholesky  A = L L'          dA = sym(L'^-1 phi(L' dL) L^-1),  phi: lower triangle with half the diagonal
    eigh      A = V diag(w) V'  dA = V (diag(dw) + F o (V' dV)) V',  F[i,j] = 1/(w[j] - w[i]) off the diagonal

Source: M. Giles, Collected matrix derivative results for forward and reverse mode AD, 2008.
Complex matrices have the same rules, ' conjugates; of slogdet the sign turns, of eigh the phases of V are nobody's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from msnb.base import DTypeError, ShapeError
from msnb.core import Tensor, TensorType, dtypes, result_dtype, tensor_type
from msnb.ops.definition.operand_checks import all_spread, as_ints, as_tensor
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define
from msnb.ops.definition.symbolic_sizes import bound_of, product
from msnb.ops.definition.type_inference import broadcast_shapes, common_shape, normal_axis, operand_lines
from msnb.ops.elementwise import is_complex, real, times_adjoint, where
from msnb.ops.elementwise.cast import conj
from msnb.ops.indexing.rearrange import roll
from msnb.ops.linalg.failures import refusing
from msnb.ops.linalg.matmul import conjugate_transpose, matmul
from msnb.ops.linalg.triangular import diag_embed, tril, triu
from msnb.ops.shape import EXPAND_DIMS, SQUEEZE, broadcast_to, eye, reshape

__all__ = ["adjoint", "cholesky", "cross", "det", "eigh", "inverse", "logdet", "matrix_power", "slogdet", "solve"]

FAMILY = "linalg"  # of the records in this module: pictures and the JSON of graphs name it

_A = np.array([[2.0, 0.5, -0.25], [0.75, -1.5, 0.5], [0.25, 1.0, 3.0]])
_STACK = np.stack([_A, _A.T + 2 * np.eye(3)])
_SPD = _A @ _A.T + np.eye(3)
_B = np.array([[1.0, -0.5], [0.25, 2.0], [-1.5, 0.75]])
_NONE = np.zeros((0, 3, 3))
_HALVES = (dtypes.float16, dtypes.bfloat16)
Function = TypeVar("Function", bound=Callable[..., Any])


def in_single(fn: Function) -> Function:
    """``fn``, which computes halves in float32 and gives what it finds in their dtype."""

    def wide(x: Any) -> Any:
        return x.astype(dtypes.float32) if isinstance(x, Tensor) and x.dtype in _HALVES else x

    @functools.wraps(fn)
    def call(*operands: Any, **options: Any) -> Any:
        first = as_tensor((*operands, *options.values(), None)[0])
        found = fn(*map(wide, operands), **{name: wide(x) for name, x in options.items()})
        if first.dtype not in _HALVES:
            return found
        return tuple([f.astype(first.dtype) for f in found]) if isinstance(found, tuple) else found.astype(first.dtype)

    return cast(Function, call)


def need_square(name: str, x: TensorType, any_dtype: bool = False) -> None:
    """Raise the error of an operand that is no stack of square matrices."""
    if not any_dtype and x.dtype not in (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128):
        raise DTypeError(f"{name} needs float32, float64 or complex matrices.", operands=operand_lines(x),
                         hint="convert with x.astype(ms.float32).")  # fmt: skip
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name} needs square matrices in the last two axes.", operands=operand_lines(x))


def _square(name: str, *results: Callable[[TensorType], TensorType]) -> Any:
    def infer(x: TensorType) -> Any:
        need_square(name, x)
        found = tuple(result(x) for result in results)
        return found if len(found) > 1 else found[0]

    infer.__module__ = __name__
    return infer


def cubic(types: Any, out_types: Any, attrs: Any) -> Work:
    """The work of an algorithm whose steps grow with the third power of the size."""
    size = bound_of(product((*types[0].shape, types[0].shape[-1]))) or 0
    return Work(cube=2.0 * size)


SQUARE_WRONG = (
    InvalidExample((_B,), {}, "square matrices", ShapeError),
    InvalidExample((np.eye(2, dtype=np.int64),), {}, "needs float32, float64 or complex", DTypeError),
)
_EXAMPLES = (Example((_A,)), Example((_STACK,)), Example((_NONE,)))


def _same(x: TensorType) -> TensorType:
    return x


def _scalars(x: TensorType) -> TensorType:
    return tensor_type(x.shape[:-2], x.dtype)


def _real_scalars(x: TensorType) -> TensorType:
    return tensor_type(x.shape[:-2], x.dtype.real)


def _inverse_grad(dout: Any, out: Any) -> Any:
    y = conjugate_transpose(out)
    return -matmul(matmul(y, dout), y)


INVERSE: Op = define(
    "inverse", "x", infer=_square("inverse", _same), body=refusing("inverse", lambda xp, x: xp.linalg.inv(x)),
    grad=_inverse_grad, axes="... m! n! -> ... m! n!", work=cubic, doc="The inverse of every matrix.",
    examples=_EXAMPLES, wrong=SQUARE_WRONG,
)  # fmt: skip


def _on_matrices(d: Any) -> Any:
    return EXPAND_DIMS(d, axis=(-2, -1))


DET: Op = define(
    "det", "x",
    onnx="Det(x)", infer=_square("det", _scalars), body=lambda xp, x: xp.linalg.det(x),
    grad=lambda dout, x, out: _on_matrices(times_adjoint(dout, out)) * conjugate_transpose(INVERSE(x)),
    axes="... m! n! -> ...", work=cubic, doc="The determinant of every matrix (regular ones have a gradient).",
    examples=_EXAMPLES, wrong=SQUARE_WRONG,
)  # fmt: skip


def _slogdet_grad(douts: Any, x: Any, outs: Any) -> Any:
    """The sign of a complex determinant turns with it: dA = (dl + i Im(s' ds)) A'^-1."""
    along = douts[1]
    if is_complex(x):
        turn = times_adjoint(douts[0], outs[0])
        along = along + turn - real(turn)
    return _on_matrices(along) * conjugate_transpose(INVERSE(x))


SLOGDET: Op = define(
    "slogdet", "x", infer=_square("slogdet", _scalars, _real_scalars), body=lambda xp, x: tuple(xp.linalg.slogdet(x)),
    grad=_slogdet_grad,
    axes="... m! n! -> ..., ...", work=cubic, doc="Sign and logarithm of the determinant of every matrix.",
    examples=_EXAMPLES, wrong=SQUARE_WRONG,
)  # fmt: skip


def _half_lower(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return (tril(x) + tril(x, -1)) * 0.5


def _cholesky_grad(dout: Any, out: Any) -> Any:
    inner = _half_lower(matmul(conjugate_transpose(out), tril(dout)))
    back = INVERSE(out)
    found = matmul(matmul(conjugate_transpose(back), inner), back)
    return tril((found + conjugate_transpose(found)) * 0.5) + tril((found + conjugate_transpose(found)) * 0.5, -1)


def _cholesky_body(xp: Any, x: Any) -> Any:
    """Only the lower triangle is read, so the gradient belongs to it alone."""
    return xp.linalg.cholesky(xp.tril(x) + xp.conj(xp.swapaxes(xp.tril(x, -1), -1, -2)))


CHOLESKY: Op = define(
    "cholesky", "x", infer=_square("cholesky", _same), body=refusing("cholesky", _cholesky_body), grad=_cholesky_grad,
    axes="... m! n! -> ... m! n!", work=cubic,
    doc="The lower triangular L with L L' = x, for symmetric positive matrices given by their lower triangles.",
    examples=(Example((_SPD,)), Example((np.stack([_SPD, 2 * _SPD]),)), Example((_NONE,))), wrong=SQUARE_WRONG,
)  # fmt: skip


# ---- solve ----


def _solve_type(a: TensorType, b: TensorType) -> TensorType:
    need_square("solve", a)
    if b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ShapeError("solve: the rows of B are those of A.", operands=operand_lines(a, b, names=("A", "B")))
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if lead is None:
        raise ShapeError("solve: the stacks do not broadcast.", operands=operand_lines(a, b, names=("A", "B")))
    return tensor_type((*lead, *b.shape[-2:]), result_dtype((a, b)))


def _solve_grad(dout: Any, a: Any, out: Any) -> Any:
    db = SOLVE(conjugate_transpose(a), dout)
    return -matmul(db, conjugate_transpose(out)), db


def _in_lanes(inputs: Any) -> list[Any]:
    """Stacks behind the new axis: as many axes for both."""
    n = max(t.ndim for t in inputs)
    return [reshape(t, (t.shape[0], *(1,) * (n - t.ndim), *t.shape[1:])) for t in inputs]


def _solve_body(xp: Any, a: Any, b: Any) -> Any:
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])  # CuPy's solve does not broadcast stacks, NumPy's does
    a, b = (xp.broadcast_to(t, (*lead, *t.shape[-2:])) for t in (a, b))  # type: ignore[misc]
    if a.size == 0 or (xp is np and a[..., 0, -1].all()):
        return xp.linalg.solve(a, b)
    # exchanges of rows spoil a lower triangle; back to front it is an upper one, which needs none
    lower = ~xp.triu(a, 1).any((-2, -1), keepdims=True)
    x = xp.linalg.solve(xp.where(lower, a[..., ::-1, ::-1], a), xp.where(lower, b[..., ::-1, :], b))
    return xp.where(lower, x[..., ::-1, :], x)


SOLVE: Op = define(
    "solve", "a, b", infer=_solve_type, body=refusing("solve", _solve_body),
    grad=_solve_grad, axes="... m! k!, ... k! n -> ... m! n",
    batch=all_spread(lambda inputs: SOLVE(*_in_lanes(inputs))), work=cubic, promotes=True,
    doc="The X with A X = B, for regular matrices A.",
    examples=(Example((_A, _B)), Example((_STACK, _B)), Example((_A, np.stack([_B, -_B])))),
    wrong=(InvalidExample((_A, _B[:2]), {}, "the rows of B are those of A", ShapeError),),
)  # fmt: skip


def _triangle_of(xp: Any, a: Any, lower: bool, unit_diagonal: bool, transposed: bool) -> Any:
    """The matrix that a triangle stands for; what lies elsewhere is not read."""
    t = (xp.tril if lower else xp.triu)(a, (-1 if lower else 1) if unit_diagonal else 0)
    t = t + xp.eye(a.shape[-1], dtype=a.dtype) if unit_diagonal else t
    return xp.swapaxes(t, -1, -2) if transposed else t


def _triangular_grad(
    dout: Any, a: Any, out: Any, lower: bool, unit_diagonal: bool, transposed: bool
) -> tuple[Any, Any]:
    db = TRIANGULAR_SOLVE(conj(a), dout, lower=lower, unit_diagonal=unit_diagonal, transposed=not transposed)
    da = conj(matmul(out, conjugate_transpose(db))) if transposed else matmul(db, conjugate_transpose(out))
    return -(tril(da, -int(unit_diagonal)) if lower else triu(da, int(unit_diagonal))), db


TRIANGULAR_SOLVE: Op = define(
    "triangular_solve", "a, b", attrs={"lower": True, "unit_diagonal": False, "transposed": False},
    infer=lambda a, b, *, lower, unit_diagonal, transposed: _solve_type(a, b),
    body=refusing("solve_triangular", lambda xp, a, b, **way: _solve_body(xp, _triangle_of(xp, a, **way), b)),
    grad=_triangular_grad, axes="... m! k!, ... k! n -> ... m! n",
    batch=all_spread(lambda inputs, **way: TRIANGULAR_SOLVE(*_in_lanes(inputs), **way)), work=cubic, promotes=True,
    doc="The X with A X = B for a triangle of every A, with ones on its diagonal or transposed where that is said.",
    examples=(Example((_A, _B)), Example((_STACK, _B), {"lower": False, "transposed": True}),
              Example((_A, np.stack([_B, -_B])), {"unit_diagonal": True})),
    wrong=(InvalidExample((_A, _B[:2]), {}, "the rows of B are those of A", ShapeError),),
)  # fmt: skip


@in_single
def solve(a: Any, b: Any) -> Tensor:
    """The X with A X = B; a vector b gives a vector.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.solve(ms.Tensor([[2.0, 0.0], [0.0, 4.0]]), ms.Tensor([2.0, 2.0])).tolist()
        [1.0, 0.5]
    """
    m, v = as_tensor(a), as_tensor(b)
    return SQUEEZE(SOLVE(m, EXPAND_DIMS(v, axis=1)), axis=-1) if v.ndim == 1 else SOLVE(m, v)


# ---- eigenvalues of symmetric matrices ----


def _eigh_type(x: TensorType) -> tuple[TensorType, TensorType]:
    need_square("eigh", x)
    return tensor_type(x.shape[:-1], x.dtype.real), x


def _eigh_grad(douts: Any, outs: Any) -> Any:
    w, v = outs
    gaps = EXPAND_DIMS(w, axis=-2) - EXPAND_DIMS(w, axis=-1)
    away = where(gaps == 0, 0, 1 / where(gaps == 0, 1, gaps))
    inner = diag_embed(douts[0]) + away * matmul(conjugate_transpose(v), douts[1])
    found = matmul(matmul(v, inner), conjugate_transpose(v))
    both = (found + conjugate_transpose(found)) * 0.5
    return tril(both) + tril(both, -1)


EIGH: Op = define(
    "eigh", "x", infer=_eigh_type, body=refusing("eigh", lambda xp, x: tuple(xp.linalg.eigh(x))), grad=_eigh_grad,
    axes="... m! n! -> ... m!, ... m! n!", work=cubic,
    doc="Eigenvalues (increasing) and eigenvectors of symmetric matrices given by their lower triangles; "
    "equal eigenvalues have no gradient of their vectors.",
    examples=(Example((_SPD,)), Example((np.stack([_SPD, _SPD @ _SPD]),))), wrong=SQUARE_WRONG,
)  # fmt: skip


# ---- functions ----


def inverse(x: Any) -> Tensor:
    """The inverse of every matrix."""
    return INVERSE(as_tensor(x))


@in_single
def det(x: Any) -> Tensor:
    """The determinant of every matrix."""
    return DET(as_tensor(x))


@in_single
def slogdet(x: Any) -> tuple[Any, Any]:
    """Sign and logarithm of the absolute value of the determinant of every matrix."""
    sign, log = SLOGDET(as_tensor(x))
    return sign, log


@in_single
def logdet(x: Any) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative."""
    sign, log = slogdet(x)
    out: Tensor = log + where(sign < 0, float("nan"), 0.0)  # added: chosen, its gradient would be 0 beside a NaN
    return out


@in_single
def cholesky(x: Any, upper: bool = False) -> Tensor:
    """The lower triangular L with L L' = x (or its transpose, ``upper``)."""
    found = CHOLESKY(as_tensor(x))
    return conjugate_transpose(found) if upper else found


def eigh(x: Any) -> tuple[Any, Any]:
    """Eigenvalues, increasing, and eigenvectors (columns) of symmetric matrices."""
    values, vectors = EIGH(as_tensor(x))
    return values, vectors


def matrix_power(x: Any, n: int) -> Tensor:
    """The product of n copies of every matrix; a negative n takes the inverse, which integers have not."""
    t = as_tensor(x)
    (n,) = as_ints("matrix_power", (n,))
    need_square("matrix_power", t._type, n >= 0 and t.dtype is not dtypes.bool_)
    if n < 0:
        return matrix_power(inverse(t), -n)
    if n == 0:
        return broadcast_to(eye(t.shape[-1], dtype=t.dtype), shape=t.shape)
    half = matrix_power(t, n // 2) if n > 1 else t
    return t if n == 1 else matmul(matmul(half, half), t) if n % 2 else matmul(half, half)


def adjoint(x: Any) -> Tensor:
    """Matrices with their last two axes exchanged and complex numbers conjugated.

    Raises:
        ShapeError: fewer than two axes.

    Source: `mindspore.ops.adjoint`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.adjoint(ms.Tensor([[1 + 2j, 3.0]])).tolist()
        [[(1-2j)], [(3-0j)]]
    """
    t = as_tensor(x)
    if t.ndim < 2:
        raise ShapeError("adjoint needs a matrix.", operands=operand_lines(t._type))
    return conjugate_transpose(t)  # type: ignore[no-any-return]


def cross(x: Any, y: Any, dim: int | None = None) -> Tensor:
    """Cross products of vectors of three elements along an axis.

    Args:
        x, y: tensors whose shapes broadcast.
        dim: the axis of the vectors; None: the first one of size 3, as in MindSpore and PyTorch (NumPy: the last).

    Raises:
        ShapeError: the axis has not three elements in both, or there is none that has.

    Source: `mindspore.ops.cross`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.cross(ms.Tensor([1, 0, 0]), ms.Tensor([0, 1, 0])).tolist()
        [0, 0, 1]
    """
    a, b = as_tensor(x), as_tensor(y)
    shape = common_shape("cross", a._type, b._type)
    a, b = (reshape(t, (*(1,) * (len(shape) - t.ndim), *t.shape)) for t in (a, b))
    at = _of_three(shape) if dim is None else normal_axis("cross", dim, len(shape))
    if at is None or a.shape[at] != 3 or b.shape[at] != 3:
        where = "some axis" if dim is None else f"axis {dim}"
        raise ShapeError(f"cross needs three elements along {where}.", operands=operand_lines(a._type, b._type))
    return roll(a, -1, at) * roll(b, 1, at) - roll(a, 1, at) * roll(b, -1, at)


def _of_three(shape: Any) -> int | None:
    return next((i for i, size in enumerate(shape) if size == 3), None)
