"""Shapes after another tensor's, blocks side by side, and grids of numbers: short functions of the shape operators.

    t, expand_as, view_as, type_as     hsplit, vsplit, dsplit        block_diag    a 0
    column_stack, row_stack            cartesian_prod, combinations                0 b
    logspace, vander                   fmax, fmin, sgn, signbit, logaddexp2

Source: `mindspore.ops`
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor
from msnb.ops.definition import as_floats, as_ints, as_tensor, operand_lines
from msnb.ops.elementwise import arithmetic, cast, equal, identity, isnan, transcendental, where
from msnb.ops.indexing.gather import GATHER
from msnb.ops.indexing.pad import PAD
from msnb.ops.indexing.rearrange import meshgrid
from msnb.ops.shape.concat_split import concat, stack, tensor_split, vstack
from msnb.ops.shape.creation import linspace
from msnb.ops.shape.views import broadcast_to, expand_dims, reshape, transpose

__all__ = [
    "block_diag", "cartesian_prod", "column_stack", "combinations", "dsplit", "expand_as", "fmax", "fmin", "hsplit",
    "logaddexp2", "logspace", "row_stack", "sgn", "signbit", "t", "type_as", "vander", "view_as", "vsplit",
]  # fmt: skip

row_stack = vstack


def t(x: Any) -> Tensor:
    """A matrix with its axes exchanged; vectors and numbers as they are.

    Raises:
        ShapeError: more than two axes (``x.mT`` exchanges the last two).

    Examples:
        >>> import msnb as ms
        >>> ms.ops.t(ms.Tensor([[1, 2, 3]])).shape
        (3, 1)
    """
    found = as_tensor(x)
    if found.ndim > 2:
        raise ShapeError(
            "t takes at most two axes.", operands=operand_lines(found._type), hint="x.mT exchanges the last two."
        )
    return found if found.ndim < 2 else transpose(found, (1, 0))


def expand_as(x: Any, other: Any) -> Tensor:
    """``x`` broadcast to the shape of ``other``."""
    return broadcast_to(as_tensor(x), as_tensor(other).shape)


def view_as(x: Any, other: Any) -> Tensor:
    """``x`` in the shape of ``other``, which holds as many elements."""
    return reshape(as_tensor(x), as_tensor(other).shape)


def type_as(x: Any, other: Any) -> Tensor:
    """``x`` in the dtype of ``other``."""
    return cast.cast(as_tensor(x), as_tensor(other).dtype)


# ---- blocks ----


def _split_along(name: str, least: int, axis: int) -> Any:
    def split(x: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
        found = as_tensor(x)
        if found.ndim < least:
            raise ShapeError(f"{name} needs at least {least} axes.", operands=operand_lines(found._type))
        return tensor_split(found, indices_or_sections, 0 if found.ndim == 1 else axis)

    split.__name__ = split.__qualname__ = name
    split.__doc__ = f"``tensor_split`` along axis {axis}{' (a vector: along axis 0)' if least == 1 else ''}."
    return split


hsplit: Any = _split_along("hsplit", 1, 1)
vsplit: Any = _split_along("vsplit", 2, 0)
dsplit: Any = _split_along("dsplit", 3, 2)


def column_stack(xs: Any) -> Tensor:
    """Vectors as the columns of a matrix; matrices side by side.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.column_stack([ms.Tensor([1, 2]), ms.Tensor([3, 4])]).tolist()
        [[1, 3], [2, 4]]
    """
    return concat([x if x.ndim > 1 else reshape(x, (-1, 1)) for x in map(as_tensor, xs)], axis=1)


def block_diag(*inputs: Any) -> Tensor:
    """Matrices along a diagonal, zeros elsewhere; vectors count as rows.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.block_diag(ms.Tensor([[1, 2]]), ms.Tensor([3])).tolist()
        [[1, 2, 0], [0, 0, 3]]
    """
    blocks = [reshape(x, (1, -1)) if x.ndim < 2 else x for x in map(as_tensor, inputs)]
    if not blocks or max(x.ndim for x in blocks) > 2:
        raise ShapeError("block_diag takes matrices.", operands=operand_lines(*(x._type for x in blocks)))
    width, left, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        # each block as wide as the whole: rows of blocks are joined, nothing is written in place
        rows.append(PAD(x, pads=((0, 0), (left, width - left - x.shape[1])), value=0))
        left += x.shape[1]
    return concat(rows, axis=0)


def cartesian_prod(*inputs: Any) -> Tensor:
    """All tuples of one element of each vector: [product of lengths, vectors]; of one vector the vector itself."""
    if len(inputs) == 1:
        return identity(as_tensor(inputs[0]))
    return stack([reshape(g, (-1,)) for g in meshgrid(*inputs, indexing="ij")], axis=-1)


def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of ``r`` elements of a vector, in order.

    Returns:
        [choices, r].

    Examples:
        >>> import msnb as ms
        >>> ms.ops.combinations(ms.Tensor([5, 6, 7])).tolist()
        [[5, 6], [5, 7], [6, 7]]
    """
    found = as_tensor(x)
    if found.ndim != 1:
        raise ShapeError("combinations takes a vector.", operands=operand_lines(found._type))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(found.shape[0]), r)), np.int64).reshape(-1, r)
    return GATHER(found, as_tensor(rows), axis=0)


# ---- numbers ----


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None) -> Tensor:
    """``base`` to the powers of ``steps`` evenly spaced numbers from ``start`` to ``end``."""
    out = arithmetic.power(float(base), linspace(start, end, steps))
    return out if dtype is None else cast.cast(out, dtype)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector as columns, the highest first.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.vander(ms.Tensor([2.0, 3.0]), 3).tolist()
        [[4.0, 2.0, 1.0], [9.0, 3.0, 1.0]]
    """
    found = as_tensor(x)
    if found.ndim != 1 or (N is not None and N < 0):
        raise AttributeValueError(f"vander takes a vector and a number of columns of at least 0, got {N}.")
    columns = found.shape[0] if N is None else as_ints("vander", (N,))[0]
    power = np.arange(columns) if increasing else np.arange(columns)[::-1]
    return arithmetic.power(expand_dims(found, 1), cast.cast(as_tensor(power.copy()), found.dtype))


def fmax(x: Any, other: Any) -> Tensor:
    """The larger of two; of a number and NaN the number. At a tie the gradient goes to ``x``."""
    return where(isnan(x), other, where(isnan(other), x, arithmetic.clamp_min(x, other)))


def fmin(x: Any, other: Any) -> Tensor:
    """The smaller of two; of a number and NaN the number. At a tie the gradient goes to ``x``."""
    return where(isnan(x), other, where(isnan(other), x, arithmetic.clamp_max(x, other)))


def signbit(x: Any) -> Tensor:
    """Whether a number is negative; -0.0 is, NaN is not."""
    found = as_tensor(x)
    if not found.dtype.is_float:
        return found < 0
    return (found < 0) | (arithmetic.reciprocal(where(equal(found, 0), found, 1)) < 0)


def sgn(x: Any) -> Tensor:
    """-1, 0 or 1; of a complex number x / |x|, and 0 of 0."""
    found = as_tensor(x)
    if not cast.is_complex(found):
        return arithmetic.sign(found)
    size = arithmetic.abs(found)
    return found / cast.cast(where(equal(size, 0), 1, size), found.dtype)


def logaddexp2(x: Any, other: Any) -> Tensor:
    """log2(2^x + 2^other), without overflow."""
    x, other = as_floats(as_tensor(x), as_tensor(other))
    same = equal(x, other)  # equal infinities have no difference
    gap = where(same, 0, x) - where(same, 0, other)
    return arithmetic.maximum(x, other) + transcendental.log1p(transcendental.exp2(-arithmetic.abs(gap))) / math.log(2)
