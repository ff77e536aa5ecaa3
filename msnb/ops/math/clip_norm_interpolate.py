"""Functions of ops that are neither activations nor losses: clipping, norms, interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, ShapeError, events
from msnb.core import Tensor, cached, dtypes, keep_calls, whole
from msnb.ops.definition import as_float, as_floats, as_tensor, find, normal_axis, operand_lines, wide_integers, worded
from msnb.ops.definition.operand_checks import number_class
from msnb.ops.elementwise import arithmetic, equal, identity, isnan, transcendental, where
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.comparison import isinf
from msnb.ops.linalg.factorization import matrix_norm
from msnb.ops.reduction.functional import amax, amin, mean as mean_of, sum as sum_of
from msnb.ops.reduction.records import SUM
from msnb.ops.shape.creation import ones_like

__all__ = [
    "add_n", "addcdiv", "addcmul", "addn", "allclose", "average", "clamp", "clip", "clip_by_global_norm",
    "clip_by_norm", "clip_by_value", "copysign", "deg2rad", "float_power", "frac", "global_norm", "heaviside",
    "is_tensor", "isclose", "lerp", "logit", "nan_to_num", "nanmean", "nansum", "norm", "normalize",
    "ptp", "rad2deg", "sinc", "square_sum", "vector_norm", "xdivy", "xlogy",
]  # fmt: skip


@cached
def clip(x: Any, min: Any = None, max: Any = None) -> Tensor:
    """x between ``min`` and ``max`` (numbers or tensors; None: no bound). On a bound the derivative by x is 1.

    Raises:
        ValueError: both bounds are missing.

    Source: `mindspore.ops.clamp`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.clip(ms.Tensor([-1, 5]), 0, 3).tolist()
        [0, 3]
    """
    if min is None and max is None:
        raise AttributeValueError("clip needs at least one of min and max.")
    x = as_tensor(x)
    low = x if min is None else arithmetic.clamp_min(x, min)
    return low if max is None else arithmetic.clamp_max(low, max)


clamp = clip


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """``clip`` of a tensor, or of each of a list or tuple of tensors."""
    if isinstance(x, (list, tuple)):
        return type(x)(clip(t, clip_value_min, clip_value_max) for t in x)
    return clip(x, clip_value_min, clip_value_max)


def _wide(x: Tensor) -> Tensor:
    """Half precision overflows when squared."""
    return cast(x, "float32") if x.dtype.itemsize == 2 else x


def clip_by_norm(x: Any, max_norm: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Scale so that the norm of ``x`` (of all tensors of a list together) is at most ``max_norm``.

    Raises:
        RuntimeError: the norm is infinite or NaN, with ``error_if_nonfinite``.

    Source: `mindspore.ops.clip_by_norm`
    """
    many = isinstance(x, (list, tuple))
    xs = list(x) if many else [x]
    total = norm_of_norms([vector_norm(_wide(t), norm_type) for t in xs], norm_type)
    if error_if_nonfinite and not find("isfinite")(total):
        raise RuntimeError(f"clip_by_norm: the norm of order {norm_type} is not finite: nothing can be scaled by it.")
    scale = arithmetic.minimum(max_norm / (total + 1e-6), 1.0)
    scaled = [t * (cast(scale, t.dtype) if t.dtype.differentiable else scale) for t in xs]
    return type(x)(scaled) if many else scaled[0]


def norm_of_norms(norms: Sequence[Tensor], ord: float) -> Tensor:
    """The norm of tensors together from the norms of each."""
    if len(norms) == 1:
        return norms[0]
    if ord == float("inf"):
        top = norms[0]
        for other in norms[1:]:
            top = arithmetic.maximum(top, other)
        return top
    total = arithmetic.power(norms[0], ord)
    for other in norms[1:]:
        total = total + arithmetic.power(other, ord)
    return _safe_sqrt(total) if ord == 2 else arithmetic.power(total, 1.0 / ord)


def global_norm(xs: Sequence[Tensor]) -> Tensor:
    """sqrt of the sum of the squares of all elements of all tensors, in float32 at least."""
    total: Any = 0.0
    for x in xs:
        total = SUM(arithmetic.square(_wide(x)), axis=None, keepdims=False) + total
    return _safe_sqrt(total)


def clip_by_global_norm(x: Any, clip_norm: Any = 1.0, use_norm: Any = None) -> Any:
    """Scale all tensors, or one, by clip_norm / max(global norm, clip_norm).

    Source: Pascanu et al., 2012, arXiv:1211.5063;
        `mindspore.ops.clip_by_global_norm`
    """
    total = global_norm(x) if use_norm is None else use_norm
    scale = clip_norm / arithmetic.maximum(total, clip_norm)
    return x * cast(scale, x.dtype) if isinstance(x, Tensor) else tuple(t * cast(scale, t.dtype) for t in x)


@worded
def vector_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Vector norm over axes: (sum |x|^p)^(1/p), p = ``ord`` (2 by default); inf and -inf give the extremes, 0 counts.

    Raises:
        ValueError: ``ord`` is not a number (or "fro").

    Source: `mindspore.ops.vector_norm`
    """
    x = as_tensor(x) if dtype is None else cast(as_tensor(x), dtypes.as_dtype(dtype))
    # the orders with a cheaper form than a power and its root first; the root of 0 has a gradient of 0
    if ord in (None, "fro", 2):
        x = as_float(x)
        squares = arithmetic.square(arithmetic.abs(x) if x.dtype.is_complex else x)
        return _safe_sqrt(sum_of(squares, axis, keepdims))
    if isinstance(ord, bool) or not isinstance(ord, (int, float)):
        raise AttributeValueError(f"vector_norm: ord must be a number or 'fro', got {ord!r}.")
    size = arithmetic.abs(x)
    if ord in (float("inf"), float("-inf")):
        return (amax if ord > 0 else amin)(size, axis, keepdims)
    if ord == 0:
        return sum_of(cast(size != 0, size.dtype), axis, keepdims)
    if ord == 1:
        return sum_of(as_float(size), axis, keepdims)
    size = as_float(size)
    if ord < 1:
        size = where(equal(size, 0), 0.0, size)  # whose gradient is 0, as PyTorch's, where the power's is infinite
    return _root(sum_of(arithmetic.power(size, ord), axis, keepdims), ord)


_OF_A_MATRIX = (
    "norm(x, {0!r}) of a matrix is its matrix norm, as in MindSpore and torch.linalg.norm; torch.norm takes all "
    "elements in a row: norm(x, p={0!r}) or vector_norm(x, {0!r})."
)


@whole
@worded
def norm(
    x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, p: Any = None, dtype: Any = None
) -> Tensor:
    """The norm of vectors or of matrices.

    Args:
        x: tensor of floats.
        ord: the order. None: the root of the sum of squares. Of a matrix (two axes in ``dim``, or none and x has two):
            the largest sum of a column (1) or a row (inf), the smallest (-1, -inf), the largest or smallest singular
            value (2, -2), "fro", "nuc". Else the order of ``vector_norm``.
        dim: one axis (vectors), two (matrices), or None for all.
        keepdim: keep these axes with size 1.
        p: PyTorch's word for the order, of the elements in a row, also of a matrix.
        dtype: x is converted to it first.

    Raises:
        ValueError: an order that vectors or matrices do not have.

    Source: `mindspore.ops.norm`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.norm(ms.Tensor([3.0, 4.0])).item()
        5.0
        >>> x = ms.Tensor([[1.0, -2.0], [3.0, 4.0]])
        >>> ms.ops.norm(x, 1).item(), ms.ops.norm(x, p=1).item()
        (6.0, 10.0)
    """
    x = as_tensor(x) if dtype is None else as_tensor(x).astype(dtype)
    # ``p`` is the norm of ``dim`` as one vector, as in PyTorch; ``ord`` over two axes is that of a matrix
    if p is not None:
        if ord is not None:
            raise ArgumentError("norm takes an order by one name, got ord and p.")
        return vector_norm(x, p, dim, keepdim) if p != "nuc" else norm(x, p, dim, keepdim)
    if x.ndim == 0 and dim in (0, -1):
        dim = None  # the one axis that a number has for MindSpore and PyTorch
    axes = tuple(dim) if isinstance(dim, (tuple, list)) else range(x.ndim) if dim is None else (dim,)
    if len(axes) != 2 or ord in (None, "fro"):
        return vector_norm(x, ord, dim, keepdim)
    if ord != "nuc":
        events.notice(_OF_A_MATRIX.format(ord), key="norm of a matrix")
    return matrix_norm(x, ord, axes, keepdim)


@worded
def normalize(x: Any, p: float = 2.0, axis: Any = 1, eps: float = 1e-12) -> Tensor:
    """``x`` divided by its norm along ``axis``, or by ``eps`` where the norm is smaller.

    Args:
        x: tensor of floats.
        p: the order of the norm, as in ``vector_norm``.
        axis: the axis (or axes) along which the norm is taken.
        eps: the least divisor.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.normalize.html

    Examples:
        >>> import msnb as ms
        >>> ms.ops.normalize(ms.Tensor([[2.0, -6.0], [0.0, 0.0]]), p=1, dim=1).tolist()
        [[0.25, -0.75], [0.0, 0.0]]
    """
    x = as_tensor(x)
    out: Tensor = x / clip(vector_norm(x, p, axis, True), dtypes.guard(eps, x.dtype))
    return out


def _root(x: Tensor, order: float) -> Tensor:
    """x^(1/order); a positive order's has derivative 0 at 0, where the norm has a corner."""
    zero = equal(x, 0) if order > 0 else None
    out = arithmetic.power(x if zero is None else where(zero, 1.0, x), 1.0 / order)
    return out if zero is None else where(zero, x * 0.0, out)


def _safe_sqrt(x: Tensor) -> Tensor:
    """sqrt with derivative 0 at 0, where the norm has a corner."""
    zero = equal(x, 0)
    return where(zero, x * 0.0, transcendental.sqrt(where(zero, 1.0, x)))


def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """input + weight (end - input)."""
    input, end = as_floats(input, end)
    out: Tensor = input + weight * (end - input)
    return out


def addcmul(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Tensor:
    """input + value tensor1 tensor2."""
    out: Tensor = input + tensor1 * tensor2 * value
    return out


def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Tensor:
    """input + value tensor1 / tensor2."""
    out: Tensor = input + tensor1 / tensor2 * value
    return out


def square_sum(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Sum of squares over axes."""
    return sum_of(arithmetic.square(x), axis, keepdims)


def nan_to_num(x: Any, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """NaN replaced by a number, 0 for None; infinities by the largest finite numbers of the dtype unless given."""
    import ml_dtypes

    x = as_tensor(x)
    if not x.dtype.is_float:
        same: Tensor = x
        return same
    limits: Any = ml_dtypes.finfo(x.dtype.numpy)  # type: ignore[no-untyped-call]
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    infinite = isinf(x)  # one number at a time: a choice between two numbers would be float32
    real = where(isnan(x), 0.0 if nan is None else nan, x)
    return where(find("logical_and")(infinite, x > 0), high, where(infinite, low, real))


def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """|x - y| <= atol + rtol |y|; equal infinities are close."""
    x, y = (as_tensor(v) if number_class(v) is None else v for v in (x, y))
    x, y = (wide_integers(v) if isinstance(v, Tensor) else v for v in (x, y))
    near = arithmetic.abs(x - y) <= arithmetic.abs(y) * rtol + atol
    near = find("logical_and")(near, find("isfinite")(y))
    near = find("logical_or")(near, equal(x, y))
    if equal_nan:
        near = find("logical_or")(near, find("logical_and")(isnan(x), isnan(y)))
    return near


def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """True when every element ``isclose``."""
    return find("all")(isclose(x, y, rtol, atol, equal_nan), axis=None, keepdims=False)


def deg2rad(x: Any) -> Tensor:
    """Degrees to radians."""
    return as_tensor(x) * (3.141592653589793 / 180)


def rad2deg(x: Any) -> Tensor:
    """Radians to degrees."""
    return as_tensor(x) * (180 / 3.141592653589793)


def logit(x: Any, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid; ``eps`` keeps x in [eps, 1 - eps]."""
    x = x if eps is None else clip(x, eps, 1 - eps)
    return transcendental.log(x) - transcendental.log1p(-x)


def sinc(x: Any) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0."""
    zero = equal(x, 0)
    angle = where(zero, 1.0, x) * 3.141592653589793
    return where(zero, 1.0, transcendental.sin(angle) / angle)


def frac(x: Any) -> Tensor:
    """x less its integer part."""
    out: Tensor = x - arithmetic.trunc(x)
    return out


def _as_float_of(x: Any, y: Any) -> Any:
    """``y`` in the dtype of ``x`` where that alone has floats: a constant beside integers would make them float32."""
    whole = number_class(y) is not None or not as_tensor(y).dtype.differentiable
    return cast(y, x.dtype) if whole and isinstance(x, Tensor) and not number_class(x) and x.dtype.is_float else y


def xlogy(x: Any, y: Any) -> Tensor:
    """x log(y); 0 where x is 0, with the slope log(y) there, unless y is NaN."""
    y = _as_float_of(x, y)
    unbounded = find("logical_or")(y <= 0, equal(y, float("inf")))
    held = find("logical_and")(equal(x, 0), unbounded)
    return where(held, 0.0, x * transcendental.log(where(held, 1.0, y)))


def heaviside(x: Any, values: Any) -> Tensor:
    """0 below 0, 1 above, ``values`` at 0."""
    return where(equal(x, 0), values, cast(x > 0, x.dtype))


def add_n(xs: Sequence[Any]) -> Tensor:
    """The sum of tensors of one shape (or that broadcast).

    Raises:
        TypeError: the sequence is empty.
    """
    if not xs:
        raise ArgumentError("add_n needs at least one tensor.")
    total: Tensor = identity(as_tensor(xs[0])) if len(xs) == 1 else as_tensor(xs[0])
    for x in xs[1:]:
        total = arithmetic.add(total, x)
    return total


def average(x: Any, axis: Any = None, weights: Any = None) -> Tensor:
    """Mean over axes with weights: one per element, or a row of them along the one axis that is named, as in NumPy.

    Raises:
        ShapeError: the weights are neither.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.average(ms.Tensor([[1.0, 2.0], [3.0, 6.0]]), 0, [1.0, 3.0]).tolist()
        [2.5, 5.0]
    """
    if weights is None:
        return mean_of(x, axis)
    x = as_tensor(x)
    weights = _beside_axis(x, axis, as_tensor(weights))
    return sum_of(x * weights, axis) / sum_of(weights * ones_like(x), axis)


def _beside_axis(x: Any, axis: Any, weights: Any) -> Any:
    """``weights`` in a shape that broadcasts to ``x``: a row of them stands along ``axis``."""
    if weights.shape == x.shape or weights.ndim == 0:
        return weights
    # NumPy's rule: a row of weights lies along the named axis, not along the last as in broadcasting
    row = weights.ndim == 1 and isinstance(axis, int)
    at = normal_axis("average", axis, x.ndim) if row else 0
    if not row or weights.shape[0] != x.shape[at]:
        raise ShapeError(
            "average: weights have the shape of x, or are a row of as many as the named axis has elements.",
            operands=operand_lines(x._type, weights._type, names=("x", "weights")),
        )
    return find("reshape")(weights, shape=tuple(d if i == at else 1 for i, d in enumerate(x.shape)))


@worded
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Largest less smallest element over axes."""
    return amax(x, axis, keepdims) - amin(x, axis, keepdims)


def is_tensor(x: Any) -> bool:
    """True for tensors and parameters."""
    return isinstance(x, Tensor)


@worded
def nansum(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Sum over axes, NaN counting as 0."""
    return sum_of(where(isnan(x), 0, x), axis, keepdims)


@worded
def nanmean(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean over axes of what is not NaN, in a dtype if one is asked for."""
    x = as_tensor(x) if dtype is None else cast(as_tensor(x), dtypes.as_dtype(dtype))
    counted = sum_of(find("logical_not")(isnan(x)), axis, keepdims)
    narrow = x.dtype.is_float and x.dtype.itemsize == 2  # its sum may not fit, nor the number of its elements
    wide = cast(x, dtypes.float32) if narrow or not x.dtype.differentiable else x
    out: Tensor = nansum(wide, axis, keepdims) / cast(counted, wide.dtype)
    return cast(out, x.dtype) if narrow else out


def copysign(x: Any, other: Any) -> Tensor:
    """|x| with the sign of ``other``; of the two zeros the negative one counts as negative."""
    negative = find("logical_or")(other < 0, arithmetic.reciprocal(where(equal(other, 0), other, 1)) < 0)
    size = arithmetic.abs(x if as_tensor(x).dtype.is_float else cast(as_tensor(x), "float32"))
    return where(negative, -size, size)


def float_power(x: Any, exponent: Any) -> Tensor:
    """Power in float64, of complex numbers in complex128."""
    base, power = as_tensor(x), as_tensor(exponent)
    wide = dtypes.complex128 if base.dtype.is_complex or power.dtype.is_complex else dtypes.float64
    return arithmetic.power(cast(base, wide), cast(power, wide))


def xdivy(x: Any, y: Any) -> Tensor:
    """x / y; 0 where both are 0."""
    y = _as_float_of(x, y)
    held = find("logical_and")(equal(x, 0), equal(y, 0))
    return where(held, 0.0, x / where(held, 1.0, y))


# names of MindSpore and PyTorch for the same
addn = add_n


keep_calls(globals(), "clip_by_norm clip_by_global_norm")
keep_calls(globals(), "nan_to_num normalize lerp", whole)
