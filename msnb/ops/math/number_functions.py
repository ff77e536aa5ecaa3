"""Functions of integers and of the bits of numbers, and questions about single numbers.

    gcd lcm population_count     truncate_div truncate_mod     nextafter ldexp polar     isposinf isneginf isreal

Source: `mindspore.ops`
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, TensorType, dtypes, tensor_type
from msnb.ops.definition import example_inputs
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import as_float, as_tensor, number_class
from msnb.ops.definition.record import Example, InvalidExample, Op, define
from msnb.ops.definition.type_inference import elementwise, normal_axis, operand_lines
from msnb.ops.elementwise import arithmetic, cast, transcendental, where
from msnb.ops.indexing.masked_select import nonzero
from msnb.ops.indexing.rearrange import moveaxis
from msnb.ops.linalg.triangular import triu_indices
from msnb.ops.math import clip_norm_interpolate, sort
from msnb.ops.random import draws
from msnb.ops.reduction import cumulative, functional
from msnb.ops.shape import concat, full, reshape, stack

__all__ = [
    "aminmax", "eps", "gcd", "is_nonzero", "isneginf", "isposinf", "isreal", "laplace", "lcm", "ldexp", "nextafter",
    "pdist", "polar", "population_count", "random_categorical", "renorm", "standard_laplace", "truncate_div",
    "truncate_mod", "unique_consecutive", "view_as_real",
]  # fmt: skip

FAMILY = "integers"
_WHOLE = "integers have no small changes"


def _of_integers(name: str, body: Any, doc: str) -> Op:
    x, y = np.abs(example_inputs.INTS), np.array([[6, 10, 4], [21, 3, 8]])
    return define(
        name, "x, y", infer=elementwise(name, kinds="i"), body=body, doc=doc, no_grad=_WHOLE, axes="..., ... -> ...",
        promotes=True, family=FAMILY, examples=(Example((x, y)), Example((x, y[0])), Example((x[:0], y[:1]))),
        wrong=(InvalidExample((example_inputs.SIGNED, y), {}, "does not take", DTypeError),
               InvalidExample((x, y[:, :2]), {}, "do not broadcast", ShapeError)),
    )  # fmt: skip


gcd: Op = _of_integers("gcd", lambda xp, x, y: xp.gcd(x, y), "The greatest common divisor.")
lcm: Op = _of_integers("lcm", lambda xp, x, y: xp.lcm(x, y), "The least common multiple.")
nextafter: Op = define(
    "nextafter", "x, y", infer=elementwise("nextafter", floating=True, kinds="bif"),
    body=lambda xp, x, y: xp.nextafter(x, y), doc="The next number that the dtype has after x on the way to y.",
    grad=lambda dout: (dout, None), axes="..., ... -> ...", traits=("pure", "floating"), promotes=True,
    family=FAMILY, examples=(Example((example_inputs.SIGNED, example_inputs.OTHER)),),
    wrong=(InvalidExample((example_inputs.COMPLEX, 1.0), {}, "does not take", DTypeError),),
)  # fmt: skip
population_count: Op = define(
    "population_count", "x", infer=lambda x: _counted(x), body=lambda xp, x: xp.bitwise_count(x.view(f"u{x.itemsize}")),
    doc="How many bits of the two's complement are set, as uint8.", no_grad=_WHOLE, axes="... -> ...", family=FAMILY,
    examples=(Example((example_inputs.INTS,)), Example((example_inputs.INTS[:0],))),
    wrong=(InvalidExample((example_inputs.SIGNED,), {}, "needs integers", DTypeError),),
)  # fmt: skip


def _counted(x: TensorType) -> TensorType:
    if not x.dtype.is_int:
        raise DTypeError("population_count needs integers.", operands=operand_lines(x))
    return tensor_type(x.shape, dtypes.uint8)


def truncate_div(x: Any, y: Any) -> Any:
    """x / y, rounded towards 0.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.truncate_div(ms.Tensor([-7, 7]), ms.Tensor([2, 2])).tolist()
        [-3, 3]
    """
    if not all(_is_integer(t) for t in (x, y)):
        return arithmetic.trunc(arithmetic.divide(x, y))
    down, rest = arithmetic.floor_divide(x, y), arithmetic.remainder(x, y)
    return where((rest != 0) & (as_tensor(x < 0) != as_tensor(y < 0)), down + 1, down)


def _is_integer(x: Any) -> bool:
    """A number of Python that leaves the other operand's dtype, or a tensor of integers or truth values."""
    return not (x.dtype.differentiable if isinstance(x, Tensor) else isinstance(x, (float, complex)))


def truncate_mod(x: Any, y: Any) -> Any:
    """What is left of ``truncate_div``: it has the sign of x."""
    return arithmetic.fmod(x, y)


def ldexp(x: Any, other: Any) -> Any:
    """x times 2 to the power of ``other``."""
    t, power = as_tensor(x), transcendental.exp2(as_tensor(other))
    return t * (cast.cast(power, t.dtype) if number_class(other) and t.dtype.differentiable else power)


def polar(abs: Any, angle: Any) -> Any:
    """The complex numbers with these lengths and angles.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.polar(ms.Tensor([2.0]), ms.Tensor([0.0])).tolist()
        [(2+0j)]
    """
    length, at = as_tensor(abs), as_tensor(angle)
    return cast.complex(length * transcendental.cos(at), length * transcendental.sin(at))


def isposinf(input: Any) -> Any:
    """True where a number is plus infinity."""
    return as_tensor(input) == float("inf")


def isneginf(input: Any) -> Any:
    """True where a number is minus infinity."""
    return as_tensor(input) == -float("inf")


def isreal(input: Any) -> Any:
    """True where the imaginary part is 0."""
    x = as_tensor(input)
    return cast.imag(x) == 0 if x.dtype.is_complex else full(x.shape, True, dtype=dtypes.bool_)


def is_nonzero(input: Any) -> Any:
    """Whether the one element of a tensor is not 0.

    Raises:
        ShapeError: more or fewer elements.
    """
    x = as_tensor(input)
    if x.size != 1:
        raise ShapeError("is_nonzero needs a tensor of one element.", operands=operand_lines(x._type))
    return reshape(x, ()) != 0


def view_as_real(input: Any) -> Any:
    """Real and imaginary part along a new last axis of size 2.

    Raises:
        DTypeError: no complex numbers.
    """
    x = as_tensor(input)
    if not x.dtype.is_complex:
        raise DTypeError("view_as_real needs complex numbers.", operands=operand_lines(x._type))
    return stack([cast.real(x), cast.imag(x)], -1)


@worded
def aminmax(input: Any, *, axis: int | None = 0, keepdims: bool = False) -> tuple[Any, Any]:
    """The smallest and the largest value along an axis (None: of all).

    Examples:
        >>> import msnb as ms
        >>> [t.item() for t in ms.ops.aminmax(ms.Tensor([3.0, 1.0, 2.0]))]
        [1.0, 3.0]
    """
    x = as_tensor(input)
    at = None if x.ndim == 0 else axis
    return functional.amin(x, at, keepdims), functional.amax(x, at, keepdims)


def pdist(input: Any, p: float = 2.0) -> Any:
    """The distances of all pairs of rows, (0, 1), (0, 2) ... (n - 2, n - 1).

    Args:
        input: [..., n, m].
        p: the norm.

    Returns:
        [..., n (n - 1) / 2].

    Raises:
        ShapeError: fewer than two axes.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.pdist(ms.Tensor([[0.0, 0.0], [3.0, 4.0]])).tolist()
        [5.0]
    """
    x = as_float(input)
    if x.ndim < 2:
        raise ShapeError("pdist needs rows in the last axis: [..., n, m].", operands=operand_lines(x._type))
    rows, columns = triu_indices(x.shape[-2], x.shape[-2], 1)
    return clip_norm_interpolate.vector_norm(x[..., rows, :] - x[..., columns, :], p, -1)


def renorm(input: Any, p: float, axis: int, maxnorm: float) -> Any:
    """Every slice along ``axis`` with a p-norm above ``maxnorm`` is scaled down to it.

    Args:
        input: at least two axes.
        p: the norm, above 0.
        axis: the axis that counts the slices.
        maxnorm: the largest norm that stays.

    Raises:
        ShapeError: fewer than two axes. ValueError: p or maxnorm is not above 0.
    """
    x = as_tensor(input)
    if x.ndim < 2:
        raise ShapeError("renorm needs at least two axes.", operands=operand_lines(x._type))
    if not p > 0 or maxnorm < 0:
        raise AttributeValueError(f"renorm: p is above 0 and maxnorm from 0, got {p!r} and {maxnorm!r}.")
    at = normal_axis("renorm", axis, x.ndim)
    norms = clip_norm_interpolate.vector_norm(x, p, tuple(i for i in range(x.ndim) if i != at), True)
    return x * where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


@worded
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False,
                       axis: int | None = None) -> Any:  # fmt: skip
    """The values (or, with ``axis``, slices) without those that repeat the one before.

    Args:
        input: any tensor; without ``axis`` it is read as one row.
        return_inverse: for each element, which result it became.
        return_counts: how often each result stood there.
        axis: along which slices are compared.

    Returns:
        the result, or a tuple of it with what was asked for.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.unique_consecutive(ms.Tensor([1, 1, 2, 2, 1])).tolist()
        [1, 2, 1]
    """
    x = as_tensor(input)
    rows = reshape(x, (-1,)) if axis is None else moveaxis(x, axis, 0)
    flat = reshape(rows, (rows.shape[0], -1))
    first = full((min(1, rows.shape[0]),), True, dtype=dtypes.bool_)
    new = concat([first, functional.any(flat[1:] != flat[:-1], -1)])
    at = reshape(nonzero(new), (-1,))
    found = [rows[at] if axis is None else moveaxis(rows[at], 0, axis)]
    group = cumulative.cumsum(new.astype(dtypes.int64), 0) - 1
    if return_inverse:
        found.append(reshape(group, x.shape) if axis is None else group)
    if return_counts:
        own = group[at]
        found.append(sort.searchsorted(group, own, right=True) - sort.searchsorted(group, own))
    return found[0] if len(found) == 1 else tuple(found)


# ---- drawn ----


def standard_laplace(shape: Any, seed: Any = None) -> Any:
    """Numbers drawn from Laplace's distribution of mean 0 and scale 1."""
    return laplace(shape, 0.0, 1.0, seed)


def laplace(shape: Any, mean: Any, lambda_param: Any, seed: Any = None) -> Any:
    """Numbers drawn from Laplace's distribution.

    Args:
        shape: of the result.
        mean: the middle.
        lambda_param: the scale, above 0.
        seed: an int draws from a stream of its own, as in ``rand``; else from that of ``ms.set_seed``.

    Source: `mindspore.ops.laplace`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.laplace((2, 3), ms.Tensor(1.0), ms.Tensor(1.0), seed=5).shape
        (2, 3)
    """
    share = draws.uniform(shape, -0.5, 0.5, seed)
    return mean - lambda_param * arithmetic.sign(share) * transcendental.log1p(-2 * arithmetic.abs(share))


def eps(x: Any) -> Tensor:
    """A tensor of the shape of ``x`` filled with the step from 1 to the next number of its dtype.

    Raises:
        TypeError: x has no floats.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.eps(ms.Tensor([4.0, 1.0])).tolist() == [2**-23, 2**-23]
        True
    """
    t = as_tensor(x)
    if not t.dtype.is_float:
        raise DTypeError("eps is a fact of floats.", operands=operand_lines(t._type))
    facts: Any = ml_dtypes.finfo
    return full(t.shape, float(facts(t.dtype.numpy).eps), dtype=t.dtype)


def random_categorical(logits: Any, num_sample: int, seed: int = 0, dtype: Any = dtypes.int64) -> Any:
    """``num_sample`` classes drawn for each row of logits.

    Args:
        logits: [batch, classes].
        num_sample: how many.
        seed: 0: the stream of all draws, which ``ms.set_seed`` starts; else one of its own.
        dtype: an integer type.
    """
    return draws.categorical(as_tensor(logits), num_sample, seed=seed or None).astype(dtype)
