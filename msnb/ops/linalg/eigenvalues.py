"""Square matrices of any kind: eigenvalues, the exponential, the logarithm.

    eig       A V = V diag(w)   dA = V'^-1 (diag(dw) + (V'dV - V'V re diag(V'dV)) / (w[j] - w[i])*) V'
    exp       1 + A + A A / 2 + ...       halved until small, Pade's fraction, squared as often
    log       the inverse of exp          square roots until near 1, Gauss's quadrature of the logarithm

The results of eig are complex, whatever A is. Its vectors have length 1 and are known up to a phase: a loss must not
depend on that. What f(A) changes by along E, to first order, stands in a matrix of twice the size; the gradient of f
is that at A' along dY, and the gradient of that is found in the same way:

    f([A E]   =  [f(A)  f'(A) E]
      [0 A])     [0     f(A)   ]

Source: Boeddeker et al. 2017 (arXiv:1701.00392), 4.77; Higham, Functions of Matrices, 3.6, 10.20 and 11.18. The loops
of the logarithm run on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base.errors import DTypeError, LinAlgError, ShapeError
from msnb.core import Tensor, TensorType, dtypes, result_dtype, tensor_type
from msnb.ops.definition import Example, InvalidExample, Op, all_spread, as_tensor, define, operand_lines
from msnb.ops.elementwise import conj, is_complex, real, times_adjoint, where
from msnb.ops.linalg.failures import refusing
from msnb.ops.linalg.matmul import conjugate_transpose, matmul
from msnb.ops.linalg.matrix_functions import FAMILY, SOLVE, SQUARE_WRONG, cubic, need_square
from msnb.ops.linalg.triangular import diag_embed
from msnb.ops.reduction import functional
from msnb.ops.shape import EXPAND_DIMS, concat, zeros_like

__all__ = ["eig", "eigvals", "matrix_exp", "matrix_log"]

_A = np.array([[2.0, 0.5, -0.25], [0.75, -1.5, 0.5], [0.25, 1.0, 3.5]])  # its eigenvalues are real and differ
_NEAR_ONE = np.array([[1.5, 0.25, -0.125], [0.25, 0.75, 0.5], [-0.25, 0.5, 2.0]])
_NONE = np.zeros((0, 3, 3))
_PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
         670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)  # fmt: skip
_SMALL, _NEAR, _ROUNDS = 5.37, 0.25, 100  # where Pade's fraction, and 8 points of the quadrature, are exact


def _on_host(x: Any) -> Any:
    return np.asarray(x.get() if hasattr(x, "get") else x)  # CuPy's are fetched


def _eig_type(x: TensorType) -> tuple[TensorType, TensorType]:
    need_square("eig", x)
    wide = x.dtype.real is dtypes.float64
    kind = dtypes.complex128 if wide else dtypes.complex64
    return tensor_type(x.shape[:-1], kind), tensor_type(x.shape, kind)


def _eig_body(xp: Any, x: Any) -> Any:
    values, vectors = np.linalg.eig(_on_host(x))
    kind = np.result_type(x.dtype, np.complex64)
    return xp.asarray(values.astype(kind)), xp.asarray(vectors.astype(kind))


def _eig_grad(douts: Any, x: Any, outs: Any) -> Any:
    (dw, dv), (w, v) = douts, outs
    vh = conjugate_transpose(v)
    gaps = conj(EXPAND_DIMS(w, axis=-2) - EXPAND_DIMS(w, axis=-1))
    away = where(gaps == 0, 0, 1 / where(gaps == 0, 1, gaps))
    along = EXPAND_DIMS(real(functional.sum(times_adjoint(dv, v), -2)), axis=-2)
    inner = diag_embed(dw) + away * (matmul(vh, dv) - matmul(vh, v) * along)
    found = SOLVE(vh, matmul(inner, vh))
    return found if is_complex(x) else real(found)


EIG: Op = define(
    "eig", "x", infer=_eig_type, body=refusing("eig", _eig_body), grad=_eig_grad,
    axes="... m! n! -> ... m!, ... m! n!", work=cubic, family=FAMILY,
    doc="Eigenvalues and eigenvectors (columns of length 1), complex; equal eigenvalues have no gradient of vectors.",
    examples=(Example((_A,)), Example((np.stack([_A, _A @ _A]),)), Example((_NONE,))), wrong=SQUARE_WRONG,
)  # fmt: skip


# ---- functions of matrices ----


def _block(xp: Any, a: Any, e: Any) -> Any:
    return xp.concatenate([xp.concatenate([a, e], -1), xp.concatenate([xp.zeros_like(a), a], -1)], -2)


def _along_type(name: str) -> Callable[..., TensorType]:
    def infer(x: TensorType, e: TensorType) -> TensorType:
        need_square(name, x)
        if e.shape != x.shape:
            raise ShapeError(f"{name}: a matrix and its change have one shape.", operands=operand_lines(x, e))
        return tensor_type(x.shape, result_dtype((x, e)))

    infer.__module__ = __name__
    return infer


def _along_grad(op: Callable[[], Op]) -> Callable[..., Any]:
    """What changes f([x e; 0 x]) in its upper right corner. By e it asks for x alone: the rule is linear in dout."""

    def grad(dout: Any, x: Any, e: Any) -> Any:
        a, n = conjugate_transpose(x), x.shape[-1]
        nothing = zeros_like(a)
        whole = concat([concat([a, nothing], -1), concat([conjugate_transpose(e), a], -1)], -2)
        found = op()(whole, concat([concat([nothing, dout], -1), concat([nothing, nothing], -1)], -2))
        return found[..., :n, :n] + found[..., n:, n:], op()(a, dout)

    return grad


def _function(
    name: str, doc: str, body: Callable[..., Any], own: Callable[[], Op], examples: tuple[Example, ...]
) -> tuple[Op, Op]:
    """(the function, its derivative at x along e)."""

    def infer(x: TensorType) -> TensorType:
        need_square(name, x)
        return x

    infer.__module__ = __name__
    op = define(
        name, "x", infer=infer, body=refusing(name, body),
        grad=lambda dout, x: own()(conjugate_transpose(x), dout), axes="... m! n! -> ... m! n!",
        work=cubic, family=FAMILY, doc=doc, examples=examples, wrong=SQUARE_WRONG,
    )  # fmt: skip
    along = define(
        f"{name}_along", "x, e", infer=_along_type(f"{name}_along"),
        body=refusing(name, lambda xp, x, e: body(xp, _block(xp, x, e))[..., : x.shape[-1], x.shape[-1] :]),
        grad=_along_grad(own), axes="... m! n!, ... m! n! -> ... m! n!", work=cubic, family=FAMILY, promotes=True,
        batch=all_spread(lambda inputs: own()(*inputs)), doc=f"What {name}(x) changes by along e, to first order.",
        examples=tuple(Example((*x.inputs, x.inputs[0][..., ::-1].copy())) for x in examples),
        wrong=(InvalidExample((_A, _A[0]), {}, "have one shape", ShapeError),),
    )  # fmt: skip
    return op, along


def _exp_body(xp: Any, x: Any) -> Any:
    n = x.shape[-1]
    if x.size == 0:
        return x
    a = x.astype(np.result_type(x.dtype, np.float64))
    norm = xp.abs(a).sum(-2).max(-1)
    halvings = xp.ceil(xp.log2(xp.maximum(xp.where(xp.isfinite(norm), norm, 0.0) / _SMALL, 1.0)))
    a = a * xp.exp2(-halvings)[..., None, None]
    one = xp.eye(n, dtype=a.dtype)
    powers = [one, a @ a]
    for _ in range(5):
        powers.append(powers[-1] @ powers[1])
    even = sum(c * p for c, p in zip(_PADE[::2], powers))
    odd = a @ sum(c * p for c, p in zip(_PADE[1::2], powers))
    y = xp.linalg.solve(even - odd, even + odd)
    for k in range(int(_on_host(halvings.max()))):
        y = xp.where((k < halvings)[..., None, None], y @ y, y)
    return y


def _root(a: Any) -> Any:
    """The principal square root: Denman's and Beavers's iteration in its product form."""
    one = np.eye(a.shape[-1])
    x = m = a
    for _ in range(_ROUNDS):
        inverse = np.linalg.inv(m)
        x = 0.5 * (x + x @ inverse)
        m = 0.5 * one + 0.25 * (m + inverse)
        if np.abs(m - one).max() < 1e-15 * a.shape[-1]:
            break
    return x


def _log_body(xp: Any, x: Any) -> Any:
    """The plane is turned so that its cut lies in the middle of the widest angle without eigenvalues."""
    a = _on_host(x).astype(np.complex128)
    if a.size == 0:
        return x
    one = np.eye(a.shape[-1])
    angles = np.angle(np.linalg.eigvals(a))
    angles = np.where(angles < 1e-12 - np.pi, np.pi, angles)
    turn = ((angles.max(-1) + angles.min(-1)) / 2)[..., None, None]
    root, rounds = a * np.exp(-1j * turn), 0
    while rounds < _ROUNDS and not np.abs(root - one).sum(-2).max() < _NEAR:
        root, rounds = _root(root), rounds + 1
    if rounds == _ROUNDS:
        raise LinAlgError("matrix_log: the square roots do not come near 1; a singular matrix has no logarithm.")
    rest = root - one
    points, weights = np.polynomial.legendre.leggauss(8)
    terms = [w / 2 * np.linalg.solve(one + (p + 1) / 2 * rest, rest) for p, w in zip(points, weights)]
    found = 2.0**rounds * sum(terms) + 1j * turn * one
    if np.isrealobj(_on_host(x)):
        found = np.where(np.abs(found.imag).max((-2, -1), keepdims=True) < 1e-8, found.real, np.nan)
    return xp.asarray(found.astype(x.dtype))


_EXP: tuple[Op, Op] = _function(
    "matrix_exp", "The exponential of every matrix.", _exp_body, lambda: _EXP[1],
    (Example((_A,)), Example((np.stack([_A / 2, _A.T / 4]),)), Example((_NONE,))),
)  # fmt: skip
MATRIX_EXP: Op = _EXP[0]
_LOG: tuple[Op, Op] = _function(
    "matrix_log", "The principal logarithm of every matrix; NaN where it is complex and the matrix real.", _log_body,
    lambda: _LOG[1], (Example((_NEAR_ONE,)), Example((np.stack([_NEAR_ONE, 4 * _NEAR_ONE]),)), Example((_NONE,))),
)  # fmt: skip
MATRIX_LOG: Op = _LOG[0]


def eig(A: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of square matrices of any kind.

    Args:
        A: [..., n, n] float32, float64 or complex.

    Returns:
        Complex values w [..., n], in no order, and vectors V [..., n, n], columns of length 1: A V = V diag(w).

    Raises:
        ShapeError: matrices that are not square. DTypeError: another dtype.

    Source: `mindspore.ops.eig`

    Examples:
        >>> import msnb as ms
        >>> w, v = ms.ops.eig(ms.Tensor([[0.0, -1.0], [1.0, 0.0]]))  # a quarter turn
        >>> sorted(w.imag.tolist())
        [-1.0, 1.0]
    """
    values, vectors = EIG(as_tensor(A))
    return values, vectors


def eigvals(A: Any) -> Tensor:
    """The eigenvalues of square matrices, as ``eig`` gives them.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.eigvals(ms.Tensor([[1.0, 0.0], [0.0, 2.0]])).tolist()
        [(1+0j), (2+0j)]
    """
    return eig(A)[0]  # type: ignore[no-any-return]


def matrix_exp(input: Any) -> Tensor:
    """The exponential of square matrices.

    Args:
        input: [..., n, n] float16 (computed as float32), float32, float64 or complex.

    Returns:
        A tensor like ``input``.

    Raises:
        ShapeError: matrices that are not square. DTypeError: integers.

    Source: `mindspore.ops.matrix_exp`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.matrix_exp(ms.Tensor([[0.0, 2.0], [0.0, 0.0]])).tolist()
        [[1.0, 2.0], [0.0, 1.0]]
    """
    t = as_tensor(input)
    narrow = t.dtype.is_float and t.dtype not in (dtypes.float32, dtypes.float64)
    return MATRIX_EXP(t.astype(dtypes.float32)).astype(t.dtype) if narrow else MATRIX_EXP(t)


def matrix_log(x: Any) -> Tensor:
    """The principal logarithm of square complex matrices: angles of eigenvalues from -pi to pi.

    Args:
        x: [..., n, n] complex. A real matrix may have a complex logarithm: ask for it with ``astype``.

    Returns:
        A tensor like ``x``.

    Raises:
        ShapeError: matrices that are not square. DTypeError: real numbers. LinAlgError: a singular matrix.

    Source: https://www.mindspore.cn/docs/en/r2.3.0/api_python/ops/mindspore.ops.MatrixLogarithm.html

    Examples:
        >>> import msnb as ms
        >>> ms.ops.matrix_log(ms.Tensor([[1 + 0j, 2], [0, 1]])).tolist()
        [[0j, (2+0j)], [0j, 0j]]
    """
    t = as_tensor(x)
    if not t.dtype.is_complex:
        raise DTypeError("matrix_log needs complex matrices.", operands=operand_lines(t._type),
                         hint="x.astype(ms.complex64): the logarithm of a real matrix may be complex.")  # fmt: skip
    return MATRIX_LOG(t)
