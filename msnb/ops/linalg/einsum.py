"""einsum: name the axes, and a product summed over the names that vanish.

    "...ij,...jk->...ik"     ...  axes that broadcast         j  vanishes: summed        i, k  stay
    "ii->i"                  a name twice in one operand: its diagonal

The gradient is an einsum again. For y = einsum(a, b -> o), the derivative for a is  einsum(o, b -> a): the same product
with dy in the place of a. Two things an einsum cannot say are done around it: a name of a that is neither in b nor in o
was summed alone, so its gradient is repeated along it; a name twice in a stands for a diagonal, so the gradient is
written onto that diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from msnb.base import ArgumentError, ShapeError
from msnb.core import Shape, Size, Tensor, TensorType, cached, result_dtype, tensor_type
from msnb.ops.definition.operand_checks import as_tensor, tensors
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define
from msnb.ops.definition.symbolic_sizes import bound_of, product
from msnb.ops.definition.type_inference import normal_axis, operand_lines
from msnb.ops.elementwise.factory import adjoint
from msnb.ops.linalg.einsum_lowering import Contraction, LabeledValue, sizes_of
from msnb.ops.linalg.matmul import wide
from msnb.ops.shape import UNINDEX, arange, broadcast_to, reshape
from msnb.ops.shape.views import sum_to

_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])
_B = np.array([[1.5, 0.5], [-2.0, 0.75], [1.25, -0.5]])
_C = np.arange(18.0).reshape(2, 3, 3) / 8 - 1
__all__ = ["batch_dot", "einsum"]
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _bad(equation: str, why: str) -> ArgumentError:
    return ArgumentError(f"einsum: {why} in {equation!r}.", hint='an equation looks like "ij,jk->ik" or "...i->...".')


@lru_cache(maxsize=1024)
def parse(equation: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """One letter per axis for every operand and the result: the dots replaced by letters of their own.

    Args:
        equation: terms of letters and at most one ``...`` each; without ``->`` the result has the dots and the letters
            that occur once, in alphabetical order.
        ranks: the number of axes of every operand.

    Raises:
        ArgumentError: not an equation, or one for other operands.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    dots = _axes_of_dots(equation, terms, right, ranks)
    free = "".join(c for c in reversed(_LETTERS) if c not in text)
    most = max((extra for term, extra in zip(terms, dots) if "..." in term), default=0)
    lead = free[:most][::-1]
    out = right if arrow else _implied(terms)
    result = out.replace("...", lead)
    full = tuple(term.replace("...", lead[most - extra :]) for term, extra in zip(terms, dots))
    _check_result(equation, full, result)
    return full, result


def _axes_of_dots(equation: str, terms: Sequence[str], right: str, ranks: tuple[int, ...]) -> list[int]:
    """How many axes of its operand the dots of each term stand for. Raises ArgumentError where a term is none."""
    if len(terms) != len(ranks):
        raise _bad(equation, f"there are {len(terms)} terms for {len(ranks)} operands")
    for term in (*terms, right):
        if "".join(term.split("...", 1)).strip(_LETTERS) or "." in term.replace("...", "", 1):
            raise _bad(equation, f"{term!r} is no list of letters")
    # the dots stand for the axes that the letters leave, which may be none
    dots = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks)]
    for term, extra, rank in zip(terms, dots, ranks):
        if extra < 0 or (extra and "..." not in term):
            raise _bad(equation, f"the term {term!r} does not fit an operand of {rank} axes")
    return dots


def _implied(terms: Sequence[str]) -> str:
    letters = "".join(terms).replace(".", "")
    dots = "..." if any("..." in t for t in terms) else ""
    return dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))


def _check_result(equation: str, terms: Sequence[str], result: str) -> None:
    for c in result:
        if result.count(c) > 1:
            raise _bad(equation, f"the result names {c!r} twice")
        if not any(c in term for term in terms):
            raise _bad(equation, f"the result names {c!r}, which no operand has")


def _sizes(equation: str, terms: Sequence[str], types: Sequence[TensorType]) -> dict[str, Size]:
    sizes: dict[str, Size] = {}
    for term, t in zip(terms, types):
        own = dict(zip(term, t.shape))
        for c, size in zip(term, t.shape):
            if sizes.get(c, 1) == 1 and own[c] == size:
                sizes[c] = size
            elif size not in (1, sizes[c]) or own[c] != size:
                raise ShapeError(
                    f"einsum {equation!r}: the axes called {c!r} have sizes {sizes.get(c, own[c])} and {size}.",
                    operands=operand_lines(*types, names=()),
                )
    return sizes


def _einsum_type(*xs: TensorType, equation: str) -> TensorType:
    terms, result = parse(equation, tuple(t.ndim for t in xs))
    sizes = _sizes(equation, terms, xs)
    return tensor_type(tuple(sizes[c] for c in result), result_dtype(xs))


def _einsum_body(xp: Any, *xs: Any, equation: str) -> Any:
    """Floats as products of matrices, which libraries are good at; the rest by the library's loops."""
    terms, result = parse(equation, tuple(x.ndim for x in xs))
    sizes, operands = sizes_of(terms, [x.shape for x in xs]), wide(xp, *xs)
    if sizes is None or operands[0].dtype.kind not in "fc":
        return xp.einsum(f"{','.join(terms)}->{result}", *operands, optimize=len(xs) > 1)
    made = {
        "sum": xp.sum, "multiply": xp.multiply, "matmul": xp.matmul,
        "transpose": lambda x, perm: xp.transpose(x, perm), "reshape": lambda x, shape: xp.reshape(x, shape),
    }  # fmt: skip
    contraction = Contraction(lambda name, *values, **attrs: made[name](*values, **attrs), sizes)
    return contraction.of([LabeledValue(x, term) for x, term in zip(operands, terms)], result)


def _einsum_grad(dout: Any, xs: Any, equation: str) -> Any:
    terms, result = parse(equation, tuple(x.ndim for x in xs))
    return tuple(_operand_grad(dout, xs, terms, result, i) for i in range(len(xs)))


def _operand_grad(dout: Any, xs: Any, terms: Sequence[str], result: str, i: int) -> Any:
    own = "".join(dict.fromkeys(terms[i]))
    others = [(t, x) for j, (t, x) in enumerate(zip(terms, xs)) if j != i]
    reached = "".join(c for c in own if c in result or any(c in t for t, _ in others))
    letters = ",".join([result, *(t for t, _ in others)])
    found = EINSUM(dout, *(adjoint(x) for _, x in others), equation=f"{letters}->{reached}")
    return _onto_diagonal(_repeated(found, reached, own, terms[i], xs[i]), own, terms[i], xs[i])


def _repeated(found: Any, reached: str, own: str, term: str, x: Any) -> Any:
    """Axes that were summed alone come back by repetition."""
    if reached == own:
        return found
    sizes = dict(zip(reached, found.shape))
    with_ones = reshape(found, tuple(sizes.get(c, 1) for c in own))
    return broadcast_to(with_ones, shape=tuple(sizes.get(c, x.shape[term.index(c)]) for c in own))


def _onto_diagonal(found: Any, own: str, term: str, x: Any) -> Any:
    """[.. i ..] written where all axes called i agree."""
    if own == term:
        return found
    sizes = dict(zip(term, x.shape))
    found = sum_to(found, tuple(sizes[c] for c in own))  # a size 1 that another operand repeated
    grid = {c: reshape(arange(sizes[c]), tuple(sizes[c] if d == c else 1 for d in own)) for c in own}
    return UNINDEX(found, *(grid[c] for c in term), spec=("t",) * len(term), shape=tuple(sizes[c] for c in term))


def _einsum_axes(types: Any, attrs: Any) -> str:
    terms, result = parse(attrs["equation"], tuple(t.ndim for t in types))
    sizes = _sizes(attrs["equation"], terms, types)
    spare = iter(c for c in reversed(_LETTERS) if c not in "".join(terms))
    spaced = [
        " ".join(c if t.shape[k] == sizes[c] else next(spare, c) for k, c in enumerate(term))
        for term, t in zip(terms, types)
    ]
    return f"{', '.join(spaced)} -> {' '.join(result)}"


def _einsum_work(types: Any, out_types: Any, attrs: Any) -> Work:
    terms, _ = parse(attrs["equation"], tuple(t.ndim for t in types))
    shape: Shape = tuple(_sizes(attrs["equation"], terms, types).values())
    flops = float(len(types) * (bound_of(product(shape)) or 0))
    return Work(cube=flops) if len(types) > 1 else Work(vector=flops)


def _einsum_batch(axis_size: int, inputs: Sequence[Any], batched: Sequence[bool], *, equation: str) -> tuple[Any, bool]:
    """The batch axis is one more letter, in front of every batched term and of the result."""
    terms, result = parse(equation, tuple(as_tensor(x).ndim - b for x, b in zip(inputs, batched)))
    lane = next(c for c in _LETTERS if c not in "".join(terms))
    new = ",".join(lane + t if b else t for t, b in zip(terms, batched))
    return EINSUM(*inputs, equation=f"{new}->{lane}{result}"), True


EINSUM: Op = define(
    "einsum",
    "*xs",
    onnx="einsum",
    attrs=("equation",),
    infer=_einsum_type,
    body=_einsum_body,
    grad=_einsum_grad,
    axes=_einsum_axes,
    batch=_einsum_batch,
    work=_einsum_work,
    traits=("pure", "multilinear", "contraction"),
    promotes=True,
    doc="A product of tensors with named axes, summed over the names that vanish.",
    examples=(
        Example((_A, _B), {"equation": "ij,jk->ik"}),
        Example((_C, _B), {"equation": "...ij,jk"}),
        Example((_C,), {"equation": "bii->i"}),
        Example((_A,), {"equation": "ij->"}),
        Example((_A, _B, _A), {"equation": "ij,jk,il->kl"}),
        Example((_A, _A[:1]), {"equation": "...i,...i->..."}),
        Example((_A, _B[:, 0]), {"equation": "ij,k->jk"}),
        Example((_A[:0], _B), {"equation": "ij,jk->ik"}),
    ),
    wrong=(
        InvalidExample((_A, _A), {"equation": "ij,jk->ik"}, "the axes called 'j' have sizes 3 and 2", ShapeError),
        InvalidExample((_A,), {"equation": "ij->ik"}, "names 'k', which no operand has", ArgumentError),
        InvalidExample((_A,), {"equation": "ij,jk->ik"}, "2 terms for 1 operands", ArgumentError),
        InvalidExample((_A,), {"equation": "i->i"}, "does not fit an operand of 2 axes", ArgumentError),
    ),
)


def batch_dot(x1: Any, x2: Any, axes: Any = None) -> Tensor:
    """The product of the tensors of two batches, summed over one axis of each.

    Args:
        x1, x2: [batch, ...], at least two axes.
        axes: the axis of x1 and that of x2, or one number for both; by default the last of x1, and the last but one of
            x2 (of a matrix, the last).

    Returns:
        [batch, the other axes of x1, the other axes of x2]; [batch, 1] where there are none.

    Raises:
        ValueError: the batches or summed axes have different sizes, or an axis is the batch.

    Source: `mindspore.ops.batch_dot`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.batch_dot(ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0, 4.0]])).tolist()
        [[11.0]]
    """
    x, y = as_tensor(x1), as_tensor(x2)
    lines = operand_lines(x._type, y._type, names=("x1", "x2"))
    if x.ndim < 2 or y.ndim < 2:
        raise ShapeError("batch_dot needs a batch and another axis of both.", operands=lines)
    pair = (-1, -1 if y.ndim == 2 else -2) if axes is None else (axes, axes) if isinstance(axes, int) else tuple(axes)
    if len(pair) != 2:
        raise ShapeError(f"batch_dot: axes is a number or one for x1 and one for x2, got {axes!r}.")
    a, b = (normal_axis("batch_dot", axis, t.ndim) for axis, t in zip(pair, (x, y)))
    if not a or not b:
        raise ShapeError("batch_dot: axis 0 is the batch, it cannot be summed over.", operands=lines)
    if x.shape[0] != y.shape[0]:
        raise ShapeError("batch_dot: x1 and x2 have different numbers of rows in axis 0.", operands=lines)
    if x.shape[a] != y.shape[b]:
        raise ShapeError(f"batch_dot: axis {a} of x1 and axis {b} of x2 have different sizes.", operands=lines)
    left, right = list(_LETTERS[2 : x.ndim]), list(_LETTERS[x.ndim : x.ndim + y.ndim - 2])
    terms = [["a", *names[: at - 1], "b", *names[at - 1 :]] for names, at in ((left, a), (right, b))]
    out = einsum(f"{''.join(terms[0])},{''.join(terms[1])}->{''.join(['a', *left, *right])}", x, y)
    return out if left or right else reshape(out, (x.shape[0], 1))


@cached
def einsum(equation: str, *xs: Any) -> Tensor:
    """A product of tensors with named axes, summed over the names that vanish.

    Args:
        equation: one term of letters per operand, ``...`` for axes that broadcast, ``->`` and the result's letters.
        xs: the tensors (or one list of them).

    Raises:
        ArgumentError: the equation is none, or does not fit the operands.
        ShapeError: axes of one name have different sizes.

    Source: numpy.einsum; `mindspore.ops.einsum`.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.einsum("ij,kj->ik", ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0, 4.0]])).tolist()
        [[11.0]]
    """
    if not isinstance(equation, str):
        raise ArgumentError(f"einsum takes the equation first, got {type(equation).__name__}.")
    found = tensors("einsum", xs[0] if len(xs) == 1 and isinstance(xs[0], (tuple, list)) else xs)
    return EINSUM(*found, equation=equation.replace(" ", ""))
