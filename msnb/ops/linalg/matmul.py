"""Contraction: products summed over a shared axis. ``matmul`` is the record; its relatives are shapes around it.

    x [... m k]   y [... k n]   ->   [... m n]        leading axes broadcast
    x [k]         is a row [1 k],   y [k] a column [k 1]; the axis of size 1 leaves the result again

    gradients     dx = dout @ y'       dy = x' @ dout       (' conjugates, too; the axes of size 1 are put back)

16-bit floats are multiplied in float32 and rounded once at the end, as matrix units do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, ShapeError
from msnb.core import Dim, Tensor, TensorType, cached, keep_calls, result_dtype, tensor_type
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import all_spread, as_ints, as_tensor
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define
from msnb.ops.definition.symbolic_sizes import bound_of, product
from msnb.ops.definition.type_inference import alike, broadcast_shapes, normal_axis, operand_lines
from msnb.ops.elementwise import adjoint, identity
from msnb.ops.shape.creation import zeros_like
from msnb.ops.shape.views import EXPAND_DIMS, SQUEEZE, TRANSPOSE, reshape

__all__ = [
    "addbmm", "addmm", "addmv", "baddbmm", "bmm", "dot", "inner", "kron", "matmul", "mm", "multi_dot", "mv", "outer",
    "tensordot", "vecdot",
]  # fmt: skip

FAMILY = "contract"  # of the records in this module: pictures and the JSON of graphs name it

_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])
_B = np.array([[1.5, 0.5], [-2.0, 0.75], [1.25, -0.5]])
_V = np.array([0.5, -1.5, 2.0])
_STACK = np.arange(24.0).reshape(2, 2, 2, 3) / 8 - 1


def wide(xp: Any, *arrays: Any) -> tuple[Any, ...]:
    """16-bit floats as float32: what contractions are computed in."""
    return tuple(a.astype(xp.float32) if a.dtype.itemsize == 2 and a.dtype.kind in "fV" else a for a in arrays)


def _matmul_type(x: TensorType, y: TensorType) -> TensorType:
    if not x.ndim or not y.ndim:
        raise ShapeError(
            "matmul needs operands with at least one axis.", operands=operand_lines(x, y), hint="use x * y for scalars."
        )
    inner = y.shape[max(y.ndim - 2, 0)]
    if x.shape[-1] != inner:
        raise ShapeError(
            f"matmul: the last axis of x has size {x.shape[-1]}, the axis of y it meets has size {inner}.",
            operands=operand_lines(x, y),
            hint="x [..., m, k] and y [..., k, n] share k; a transpose of one of them may be missing.",
        )
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    if batch is None:
        raise ShapeError(
            f"matmul: the leading axes {list(x.shape[:-2])} and {list(y.shape[:-2])} do not broadcast.",
            operands=operand_lines(x, y),
        )
    return tensor_type((*batch, *x.shape[-2:-1], *(y.shape[-1:] if y.ndim > 1 else ())), result_dtype((x, y)))


def turned(x: Any) -> Any:
    """The last two axes exchanged."""
    n = x.ndim
    return TRANSPOSE(x, perm=(*range(n - 2), n - 1, n - 2))


def conjugate_transpose(x: Any) -> Any:
    """The last two axes exchanged, complex numbers conjugated: A' of the formulas."""
    return adjoint(turned(x))


def _matmul_grad(dout: Any, x: Any, y: Any) -> tuple[Any, Any]:
    rows, cols = x.ndim == 1, y.ndim == 1
    left = EXPAND_DIMS(x, axis=0) if rows else x
    right = EXPAND_DIMS(y, axis=1) if cols else y
    d = EXPAND_DIMS(dout, axis=-1) if cols else dout
    d = EXPAND_DIMS(d, axis=-2) if rows else d
    dx, dy = matmul(d, conjugate_transpose(right)), matmul(conjugate_transpose(left), d)
    return (SQUEEZE(dx, axis=-2) if rows else dx), (SQUEEZE(dy, axis=-1) if cols else dy)


def _matmul_axes(types: Any, attrs: Any) -> str:
    x, y = types[0].ndim, types[1].ndim
    m, n = ("... m " if x > 1 else ""), (" n" if y > 1 else "")
    lead = "... " if max(x, y) > 1 else ""
    return f"{m}k, {'... ' if y > 1 else ''}k{n} -> {lead}{'m' if x > 1 else ''}{n}"


def _matmul_work(types: Any, out_types: Any, attrs: Any) -> Work:
    size = bound_of(product((*out_types[0].shape, types[0].shape[-1])))
    return Work(cube=2.0 * (size or 0))


def _matmul_body(xp: Any, x: Any, y: Any) -> Any:
    """Many matrices by one are one product of all their rows: as one call for each of them, threads of the library wait
    for one another at every matrix."""
    x, y = wide(xp, x, y)
    if x.ndim > 2 and y.ndim == 2 and x.size and x.flags.c_contiguous:
        return xp.matmul(x.reshape(-1, x.shape[-1]), y).reshape(*x.shape[:-1], y.shape[-1])
    return xp.matmul(x, y)


def _matmul_numpy(types: Any, outs: Any) -> Any:
    plain = alike(types) and types[0].ndim <= 2 and types[0].dtype.itemsize > 2 and outs[0].ndim
    return np.matmul if plain and types[0].dtype is outs[0].dtype else None


def _matmul_batched(inputs: Sequence[Any]) -> Any:
    """Vectors become matrices, and the side with fewer axes gets its missing ones behind the batch axis."""
    x, y = inputs
    rows, cols = x.ndim == 2, y.ndim == 2
    x = EXPAND_DIMS(x, axis=1) if rows else x
    y = EXPAND_DIMS(y, axis=2) if cols else y
    n = max(x.ndim, y.ndim)
    x, y = (reshape(t, (t.shape[0], *(1,) * (n - t.ndim), *t.shape[1:])) for t in (x, y))
    out = matmul(x, y)
    out = SQUEEZE(out, axis=-1) if cols else out
    return SQUEEZE(out, axis=(-1 if cols else -2)) if rows else out


matmul: Op = define(
    "matmul",
    "x, y",
    onnx="matmul",
    infer=_matmul_type,
    body=_matmul_body,
    numpy=_matmul_numpy,
    grad=_matmul_grad,
    axes=_matmul_axes,
    batch=all_spread(_matmul_batched),
    work=_matmul_work,
    traits=("pure", "bilinear", "contraction"),
    promotes=True,
    doc="Matrix product over the last axis of x and the last but one of y; leading axes broadcast.",
    examples=(
        Example((_A, _B)),
        Example((_A, _V)),
        Example((_V, _B)),
        Example((_V, _V)),
        Example((_STACK, _B)),
        Example((_STACK[:, :1], np.swapaxes(_STACK, -1, -2)[0])),
        Example((_V, np.swapaxes(_STACK, -1, -2))),
        Example((_A[:, :0], _B[:0])),
        Example((_A[:0], _B)),
    ),
    wrong=(
        InvalidExample((_A, _A), {}, "the last axis of x has size 3, the axis of y it meets has size 2", ShapeError),
        InvalidExample((_A, 2.0), {}, "at least one axis", ShapeError),
        InvalidExample(
            (_STACK, np.zeros((3, 3, 2))), {}, "the leading axes [2, 2] and [3] do not broadcast", ShapeError
        ),
    ),
)


# ---- relatives ----


def _need_rank(name: str, *pairs: tuple[Any, int]) -> None:
    if any(t.ndim != n for t, n in pairs):
        wanted = " and ".join(str(n) for _, n in pairs)
        raise ShapeError(
            f"{name} needs operands of {wanted} axes.", operands=operand_lines(*(t._type for t, _ in pairs))
        )


@cached
def mm(x: Any, y: Any) -> Tensor:
    """Matrix product of two matrices (PyTorch's name; ``matmul`` takes more)."""
    a, b = as_tensor(x), as_tensor(y)
    _need_rank("mm", (a, 2), (b, 2))
    return matmul(a, b)


@cached
def mv(x: Any, v: Any) -> Tensor:
    """Matrix times vector."""
    a, b = as_tensor(x), as_tensor(v)
    _need_rank("mv", (a, 2), (b, 1))
    return matmul(a, b)


@cached
def bmm(x: Any, y: Any) -> Tensor:
    """Matrix products of two stacks of matrices, [b,m,k] and [b,k,n].

    Examples:
        >>> import msnb as ms
        >>> ms.ops.bmm(ms.ops.ones((4, 2, 3)), ms.ops.ones((4, 3, 5))).shape
        (4, 2, 5)
    """
    a, b = as_tensor(x), as_tensor(y)
    if a.ndim < 3 or b.ndim < 3:
        raise ShapeError("bmm needs stacks of matrices: at least three axes.", operands=operand_lines(a._type, b._type))
    return matmul(a, b)


@cached
def addmm(c: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * c + alpha * (x @ y)`` for matrices."""
    return added(c, beta, mm(x, y), alpha)


def addmv(c: Any, x: Any, v: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * c + alpha * (x @ v)``."""
    return added(c, beta, mv(x, v), alpha)


def baddbmm(c: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * c + alpha * (x @ y)`` for stacks of matrices, or for two matrices."""
    a, b = as_tensor(x), as_tensor(y)
    return added(c, beta, matmul(a, b) if a.ndim == b.ndim == 2 else bmm(a, b), alpha)


def addbmm(c: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * c + alpha * sum(x @ y)``: the products of a stack added up."""
    a, b = as_tensor(x), as_tensor(y)
    _need_rank("addbmm", (a, 3), (b, 3))
    return added(c, beta, tensordot(a, b, axes=((0, 2), (0, 1))), alpha)


def added(c: Any, beta: Any, product: Tensor, alpha: Any) -> Tensor:
    """``beta * c + alpha * product``; where ``beta`` is the number 0, no NaN or infinity of ``c`` counts."""
    rest = zeros_like(as_tensor(c)) if type(beta) in (int, float) and beta == 0 else _scaled(c, beta)
    found: Tensor = rest + _scaled(product, alpha)
    return found


def _scaled(x: Any, factor: Any) -> Tensor:
    return as_tensor(x) if type(factor) in (int, float) and factor == 1 else as_tensor(x) * factor


@cached
def dot(x: Any, y: Any) -> Tensor:
    """Inner product of two vectors; for more axes NumPy's: last axis of x with the last but one of y."""
    a, b = as_tensor(x), as_tensor(y)
    return a * b if not a.ndim or not b.ndim else tensordot(a, b, axes=((a.ndim - 1,), (max(b.ndim - 2, 0),)))


def inner(x: Any, y: Any) -> Tensor:
    """Products summed over the last axis of both.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.inner(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])).item()
        11.0
    """
    a, b = as_tensor(x), as_tensor(y)
    return a * b if not a.ndim or not b.ndim else tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


@cached
def outer(x: Any, y: Any) -> Tensor:
    """Every product of an element of x with one of y, [m] and [n] to [m,n] (other shapes are flattened)."""
    return reshape(x, (-1, 1)) * reshape(y, (1, -1))


@worded
def vecdot(x: Any, y: Any, axis: int = -1) -> Tensor:
    """Inner products along an axis, x conjugated; the others broadcast."""
    out: Tensor = (adjoint(as_tensor(x)) * as_tensor(y)).sum(axis=axis)
    return out


def _dot_axes(axes: Any, x: Any, y: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, int):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise ShapeError(f"tensordot: axes={axes} needs as many axes on both sides.",
                             operands=operand_lines(x._type, y._type))  # fmt: skip
        return tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    left, right = ((a,) if isinstance(a, int) else as_ints("tensordot", (a,)) for a in axes)
    if len(left) != len(right):
        raise ArgumentError(f"tensordot: {len(left)} axes of x cannot meet {len(right)} of y.")
    return (
        tuple(normal_axis("tensordot", a, x.ndim) for a in left),
        tuple(normal_axis("tensordot", a, y.ndim) for a in right),
    )


@worded
def tensordot(x: Any, y: Any, axes: Any = 2) -> Tensor:
    """Products summed over several pairs of axes.

    Args:
        x, y: tensors.
        axes: how many of x's last axes meet y's first ones, or a pair of tuples of axes.

    Returns:
        Tensor: the axes of x that are left, then those of y.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.tensordot(ms.ops.ones((2, 3, 4)), ms.ops.ones((4, 3, 5)), axes=((1, 2), (1, 0))).shape
        (2, 5)
    """
    a, b = as_tensor(x), as_tensor(y)
    left, right = _dot_axes(axes, a, b)
    if any(a.shape[i] != b.shape[j] for i, j in zip(left, right)):
        raise ShapeError(f"tensordot: the sizes of axes {left} of x and {right} of y differ.",
                         operands=operand_lines(a._type, b._type))  # fmt: skip
    rest_a = tuple(i for i in range(a.ndim) if i not in left)
    rest_b = tuple(j for j in range(b.ndim) if j not in right)
    inner_size = product(a.shape[i] for i in left)
    # one product of matrices: rows are the axes that x keeps, columns those that y keeps
    m = reshape(TRANSPOSE(a, perm=rest_a + left), (product(a.shape[i] for i in rest_a), inner_size))
    n = reshape(TRANSPOSE(b, perm=right + rest_b), (inner_size, product(b.shape[j] for j in rest_b)))
    return reshape(matmul(m, n), (*(a.shape[i] for i in rest_a), *(b.shape[j] for j in rest_b)))


def kron(x: Any, y: Any) -> Tensor:
    """Kronecker product: every element of x times the whole of y, laid out as blocks."""
    a, b = as_tensor(x), as_tensor(y)
    n = max(a.ndim, b.ndim)
    sa, sb = ((1,) * (n - t.ndim) + t.shape for t in (a, b))
    left = reshape(a, tuple(d for s in sa for d in (s, 1)))
    right = reshape(b, tuple(d for s in sb for d in (1, s)))
    return reshape(left * right, tuple(product(pair) for pair in zip(sa, sb)))


def multi_dot(xs: Sequence[Any]) -> Tensor:
    """A chain of matrix products in the order that needs the fewest multiplications (sizes must be known).

    Source: the matrix-chain dynamic programme, Cormen et al., Introduction to Algorithms, 15.2.
    """
    ts = [as_tensor(x) for x in xs]
    if len(ts) == 1:
        return identity(ts[0])
    sizes = [ts[0].shape[0] if ts[0].ndim > 1 else 1, *(t.shape[-1] if t.ndim > 1 else t.shape[0] for t in ts)]
    sizes[-1] = sizes[-1] if ts[-1].ndim > 1 else 1
    sizes[1] = ts[0].shape[-1]
    known = [1 if isinstance(s, Dim) else s for s in sizes]
    # best[i, j]: cost and parentheses of the cheapest product of factors i to j, found for short chains first
    best: dict[tuple[int, int], tuple[float, Any]] = {(i, i): (0.0, i) for i in range(len(ts))}
    for width in range(1, len(ts)):
        for i in range(len(ts) - width):
            j = i + width
            best[i, j] = min(
                ((best[i, k][0] + best[k + 1, j][0] + math.prod((known[i], known[k + 1], known[j + 1])),
                  (best[i, k][1], best[k + 1, j][1])) for k in range(i, j)), key=lambda c: c[0],
            )  # fmt: skip
    return _multiply_tree(best[0, len(ts) - 1][1], ts)


def _multiply_tree(tree: Any, ts: Sequence[Any]) -> Tensor:
    return ts[tree] if isinstance(tree, int) else matmul(*(_multiply_tree(part, ts) for part in tree))


keep_calls(globals(), "tensordot kron")
