"""``msnb.mint``: PyTorch's names and defaults over msnb's operators, on every device.

Most names are operators of msnb as they are, which take PyTorch's words (``dim``, ``keepdim``). Functions below differ
in defaults, in the order of arguments or in meaning.
Source: `mindspore.mint`
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, MsnbError, public_names
from msnb.core import Tensor

Function: TypeAlias = Callable[..., Any]
_SAME = (
    "abs", "absolute", "acos", "acosh", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "all", "allclose", "amax",
    "amin", "any", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax",
    "argmin", "argsort", "argwhere", "asin", "asinh", "atan", "atan2", "atanh", "baddbmm", "bincount", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "bmm", "broadcast_to", "cdist", "ceil", "chunk", "clamp", "clip",
    "conj", "cos", "cosh", "cross", "cummax", "cummin", "cumprod", "cumsum", "diag", "diff", "dot", "einsum", "empty",
    "empty_like", "eq", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "eye", "flip", "float_power", "floor",
    "floor_divide", "fmod", "frac", "full", "full_like", "gcd", "ge", "greater", "greater_equal", "gt", "hardshrink",
    "histc", "hypot", "imag", "index_add", "index_select", "inverse", "isclose", "isfinite", "isinf", "isnan", "le",
    "lerp", "less", "less_equal", "linspace", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "logsumexp", "lt", "masked_fill", "masked_select", "matmul", "maximum",
    "mean", "median", "minimum", "mm", "mul", "multiply", "mv", "nan_to_num", "narrow", "ne", "neg", "negative",
    "nonzero", "not_equal", "numel", "ones", "ones_like", "outer", "positive", "pow", "prod", "quantile", "randperm",
    "real", "reciprocal", "remainder", "repeat_interleave", "reshape", "roll", "rsqrt", "scatter", "scatter_add",
    "sigmoid", "sign", "sin", "sinc", "sinh", "softmax", "sort", "split", "sqrt", "square", "stack", "sum", "t", "tan",
    "tanh", "tile", "topk", "trace", "tril", "triu", "trunc", "unbind", "unsqueeze", "view_as", "where", "xlogy",
    "zeros", "zeros_like", "atleast_1d", "diagonal", "dstack", "hstack", "kthvalue", "logspace", "polar", "polygamma",
    "ravel", "rot90", "take", "unique_consecutive",
)  # fmt: skip
for _name in _SAME:
    globals()[_name] = getattr(ops, _name)
_OWN = (
    "add", "addr_", "batch_norm_elemt", "batch_norm_gather_stats_with_counts", "batch_norm_stats", "bernoulli", "cat",
    "clone", "concat", "conv_tbc", "count_nonzero", "div", "divide", "equal", "fix", "flatten", "gather", "isneginf",
    "isposinf", "max", "meshgrid", "min", "multinomial", "nanmedian", "nansum", "norm", "normal", "npu_gelu", "permute",
    "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "round", "searchsorted", "select", "squeeze",
    "std", "std_mean", "sub", "subtract", "swapaxes", "transpose", "triangular_solve", "unique", "var", "var_mean",
    "vdot", "conv2d", "item",
)  # fmt: skip
__all__ = [*_SAME, *_OWN]


def __dir__() -> list[str]:
    return public_names(__name__)


def _scaled(input: Any, other: Any, alpha: Any) -> Any:
    """alpha * other; beside a tensor of floats, integers are floats of its dtype."""
    if alpha == 1:
        return other
    mixed = isinstance(input, Tensor) and isinstance(other, Tensor) and input.dtype.is_float
    return ops.mul(other.astype(input.dtype) if mixed and not other.dtype.differentiable else other, alpha)


def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input + alpha * other."""
    return ops.add(input, _scaled(input, other, alpha))


def round(input: Any, *, decimals: int = 0) -> Any:
    """The nearest number with so many decimals, halves to the even one; negative ones round to tens, hundreds."""
    if not decimals:
        return ops.round(input)
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)  # ``abs`` is an operator here
    return ops.round(input * scale) / scale if decimals > 0 else ops.round(input / scale) * scale


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input - alpha * other."""
    return ops.sub(input, _scaled(input, other, alpha))


subtract = sub


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """input / other, rounded towards 0 ("trunc") or down ("floor") if asked for. Raises ValueError for another mode."""
    if rounding_mode not in (None, "trunc", "floor"):
        raise AttributeValueError(f"div: rounding_mode is None, 'trunc' or 'floor', not {rounding_mode!r}.")
    if rounding_mode == "floor":
        return ops.floor_divide(input, other)
    if rounding_mode is None:
        return ops.div(input, other)
    return ops.trunc(ops.div(input, other)).astype(ops.floor_divide(input, other).dtype)  # integers stay integers


divide = div


def cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors in a row along an axis; beside tensors of more axes, [0] stands for nothing."""
    parts = tuple(tensors)
    try:
        return ops.concat(parts, axis=dim)
    except MsnbError:
        some = tuple(part for part in parts if getattr(part, "shape", ()) != (0,))
        if len(some) in (0, len(parts)):
            raise
        return ops.concat(some, axis=dim)


concat = cat


def clone(input: Any) -> Any:
    """The value."""
    return ops.identity(input)


def count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many elements are not 0."""
    return ops.count_nonzero(input, dim)


def equal(input: Any, other: Any) -> Any:
    """Whether shapes and all elements are equal: one bool."""
    return input.shape == other.shape and ops.all(ops.eq(input, other))


def fix(input: Any) -> Any:
    """Rounded towards 0."""
    return ops.trunc(input)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Axes ``start_dim`` to ``end_dim`` as one; all of them by default."""
    return ops.flatten(input, start_dim=start_dim, end_dim=end_dim) if input.ndim else input.reshape((1,))


def gather(input: Any, dim: int, index: Any) -> Any:
    """Elements at the places that ``index`` names along an axis: ``ops.gather_elements``."""
    return ops.gather_elements(input, dim, index)


def isneginf(input: Any) -> Any:
    """Where elements are minus infinity."""
    return ops.logical_and(ops.isinf(input), ops.lt(input, 0))


def isposinf(input: Any) -> Any:
    """Where elements are plus infinity."""
    return ops.logical_and(ops.isinf(input), ops.gt(input, 0))


def item(input: Any) -> Any:
    """The one element of a tensor as a Python number.

    Args:
        input: a tensor with one element.

    Raises:
        TypeError: no tensor. ValueError: more elements than one, or none.

    Source: `mindspore.mint.item`

    Examples:
        >>> import msnb as ms
        >>> ms.mint.item(ms.Tensor([1.5]))
        1.5
    """
    if not isinstance(input, Tensor):
        raise ArgumentError(f"item takes a tensor, got {type(input).__name__}.")
    return input.item()


def meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    """Grids of coordinates, rows first."""
    return ops.meshgrid(*tensors, indexing=indexing)


def _extreme(reduce: Any, between: Any, input: Any, dim: Any, keepdim: bool, other: Any) -> Any:
    if hasattr(dim, "shape"):
        dim, other = None, dim
    if other is not None:
        return between(input, other)
    return reduce(input) if dim is None else reduce(input, dim, keepdim, return_indices=True)


def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element; along an axis (values, indices); of two tensors the larger ones, as ``maximum``."""
    return _extreme(ops.max, ops.maximum, input, dim, keepdim, other)


def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element; along an axis (values, indices); of two tensors the smaller ones, as ``minimum``."""
    return _extreme(ops.min, ops.minimum, input, dim, keepdim, other)


def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over axes, NaN counting as 0, in a dtype if one is asked for."""
    return ops.nansum(input if dtype is None else input.astype(dtype), dim, keepdim)


def nanmedian(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle of the values that are numbers; along an axis with its place: (values, places)."""
    if dim is None:
        return ops.nanmedian(input)
    values = ops.nanmedian(input, dim, True)
    places = ops.argmax((input == values).astype("int32"), dim, keepdim)
    return (values if keepdim else ops.squeeze(values, dim)), places


def permute(input: Any, dims: Any) -> Any:
    """The axes in another order."""
    return ops.permute(input, tuple(dims))


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of the elements in a row, also of a matrix."""
    x = input if dtype is None else input.astype(dtype)
    return ops.norm(x, None, dim, keepdim) if p in ("fro", None) else ops.norm(x, None, dim, keepdim, p=p)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, generator: Any = None) -> Any:
    """Normal numbers of a size, or one for every element of ``mean`` and ``std``."""
    if size is None:
        size = ops.add(ops.zeros_like(mean) if hasattr(mean, "shape") else 0.0, std).shape
    return ops.add(ops.mul(ops.randn(size, generator=generator), std), mean)


def _placed(found: Any, device: str | None) -> Any:
    """A result in the memory of a device; None: where it was computed."""
    return found if device is None else found.move_to(device)


def rand(*size: Any, generator: Any = None, dtype: Any = None, device: str | None = None) -> Any:
    """Uniform numbers in [0, 1), in the memory of ``device`` if one is named."""
    return _placed(ops.rand(*size, dtype=dtype, generator=generator), device)


def randn(*size: Any, generator: Any = None, dtype: Any = None, device: str | None = None) -> Any:
    """Normal numbers of mean 0 and variance 1."""
    return _placed(ops.randn(*size, dtype=dtype, generator=generator), device)


def rand_like(input: Any, *, dtype: Any = None, device: str | None = None) -> Any:
    """``rand`` with the shape and dtype of ``input``."""
    return _placed(ops.rand_like(input, dtype=dtype), device)


def randn_like(input: Any, *, dtype: Any = None, device: str | None = None) -> Any:
    """``randn`` with the shape and dtype of ``input``."""
    return _placed(ops.randn_like(input, dtype=dtype or input.dtype), device)


def randint(
    low: int, high: Any = None, size: Any = None, *, generator: Any = None, dtype: Any = None,
    device: str | None = None,
) -> Any:  # fmt: skip
    """Integers from ``low`` to ``high`` - 1; ``randint(high, size)`` begins at 0."""
    if size is None:
        low, high, size = 0, low, high
    return _placed(ops.randint(low, high, tuple(size), dtype=dtype, generator=generator), device)


def randint_like(input: Any, low: int, high: int | None = None, *, dtype: Any = None, device: str | None = None) -> Any:
    """Integers from ``low`` to ``high`` - 1 in the shape of ``input``."""
    first, last = (0, low) if high is None else (low, high)
    return _placed(ops.randint(first, last, input.shape).astype(dtype or input.dtype), device)


def bernoulli(input: Any, *, generator: Any = None) -> Any:
    """1 with the probability that ``input`` says, else 0."""
    return ops.bernoulli(input, generator=generator)


def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Classes drawn with probabilities proportional to ``input``, different ones by default."""
    return ops.multinomial(input, num_samples, replacement, generator=generator)


def searchsorted(
    sorted_sequence: Any, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Any:  # fmt: skip
    """Where elements belong in sorted rows."""
    more = {"out_int32": out_int32, "right": right, "side": side, "sorter": sorter}
    return ops.searchsorted(sorted_sequence, values, **more)


def select(input: Any, dim: int, index: int) -> Any:
    """One slice along an axis, without it."""
    return input.select(dim, index)


def squeeze(input: Any, dim: Any = None) -> Any:
    """Without its axes of size 1, or without those of ``dim`` that are of size 1."""
    if dim is None:
        return ops.squeeze(input)
    axes = (dim,) if isinstance(dim, int) else tuple(dim)
    return ops.squeeze(input, tuple(axis for axis in axes if input.shape and input.shape[axis] == 1))


def std(input: Any, dim: Any = None, *, correction: float | None = 1, keepdim: bool = False) -> Any:
    """Standard deviation, of a sample by default."""
    return ops.std(input, dim, 1 if correction is None else correction, keepdim)


def var(input: Any, dim: Any = None, *, correction: float | None = 1, keepdim: bool = False) -> Any:
    """Variance, of a sample by default."""
    return ops.var(input, dim, 1 if correction is None else correction, keepdim)


def std_mean(input: Any, dim: Any = None, *, correction: float | None = 1, keepdim: bool = False) -> tuple[Any, Any]:
    """(standard deviation, mean)."""
    return std(input, dim, correction=correction, keepdim=keepdim), ops.mean(input, dim, keepdim)


def var_mean(input: Any, dim: Any = None, *, correction: float | None = 1, keepdim: bool = False) -> tuple[Any, Any]:
    """(variance, mean)."""
    return var(input, dim, correction=correction, keepdim=keepdim), ops.mean(input, dim, keepdim)


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    return ops.swapaxes(input, dim0, dim1)


swapaxes = transpose


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """Different elements in increasing order, with places and counts if asked for."""
    return input.unique(sorted, return_inverse, return_counts, dim)


def addr_(input: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """``input`` itself, which becomes beta * input + alpha * (vec1 outer vec2)."""
    return input.addr_(vec1, vec2, beta=beta, alpha=alpha)


def vdot(input: Any, other: Any) -> Any:
    """The sum of products of two vectors, those of the first conjugated."""
    return ops.dot(ops.conj(input) if ops.is_complex(input) else input, other)


def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Any, Any]:
    """(the x with A x = b, A) of triangular matrices [..., m, m] and right-hand sides [..., m, k]."""
    found: tuple[Any, Any] = b.triangular_solve(A, upper, transpose, unitriangular)
    return found


def padding_of(padding: Any) -> dict[str, Any]:
    """PyTorch's padding (numbers, "same" or "valid") as attributes of msnb's windows."""
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise AttributeValueError(f"padding is a number, numbers, 'same' or 'valid', not {padding!r}.")
        return {"pad_mode": padding}
    numbers = padding if isinstance(padding, (tuple, list)) else (padding,)
    own = tuple(padding) if isinstance(padding, list) else padding
    return {"pad_mode": "valid"} if {*numbers} <= {0} else {"pad_mode": "pad", "padding": own}


def unbatched(axes: int) -> Callable[[Function], Function]:
    """The function also takes a first argument without its batch, one axis less than ``axes``; so are its results."""

    def taking(fn: Function) -> Function:
        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if "input" in kwargs:
                args = (kwargs.pop("input"), *args)
            if not args or getattr(args[0], "ndim", axes) != axes - 1:
                return fn(*args, **kwargs)
            found: Any = fn(ops.expand_dims(args[0], 0), *args[1:], **kwargs)
            return tuple(ops.squeeze(y, 0) for y in found) if isinstance(found, tuple) else ops.squeeze(found, 0)

        call.__dict__["worded"] = True  # it has PyTorch's words
        return call

    return taking


def convolution(fn: Any, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """A convolution by PyTorch's words."""
    return fn(x, weight, bias, stride=stride, dilation=dilation, groups=groups, **padding_of(padding))


@unbatched(4)
def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolution of images [n, channels, height, width]."""
    return convolution(ops.conv2d, input, weight, bias, stride, padding, dilation, groups)


def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """Convolution of rows [time, n, channels] by a weight [kernel, channels, out] and a bias [out]."""
    found = ops.conv1d(ops.permute(input, (1, 2, 0)), ops.permute(weight, (2, 1, 0)), bias, 1, "pad", pad)
    return ops.permute(found, (2, 0, 1))


def npu_gelu(input: Any, approximate: str = "none") -> Any:
    """``ops.gelu``; ``approximate`` is "none" or "tanh"."""
    return ops.gelu(input, approximate)


# ---- batch normalisation in parts ----


def batch_norm_stats(input: Any, eps: float) -> tuple[Any, Any]:
    """(mean, 1 / sqrt(variance + eps)) of every channel of [n, channels, ...], in float32."""
    wide = input.astype("float32")
    axes = (0, *range(2, input.ndim))
    mean = ops.mean(wide, axes, True)
    return mean.reshape((-1,)), ops.rsqrt(ops.mean(ops.square(wide - mean), axes) + eps)


def batch_norm_elemt(
    input: Any, weight: Any = None, bias: Any = None, mean: Any = None, invstd: Any = None, eps: float = 1e-5
) -> Any:
    """(input - mean) * invstd * weight + bias, per channel; ``eps`` is part of ``invstd`` already."""
    if mean is None or invstd is None:
        raise ArgumentError("batch_norm_elemt needs mean and invstd.", hint="batch_norm_stats(input, eps) gives both.")
    column = (1, -1, *(1,) * (input.ndim - 2))
    scale = invstd if weight is None else invstd * weight
    found = (input - mean.reshape(column)) * scale.reshape(column)
    return (found if bias is None else found + bias.reshape(column)).astype(input.dtype)


def batch_norm_gather_stats_with_counts(
    input: Any, mean: Any, invstd: Any, running_mean: Any = None, running_var: Any = None, momentum: float = 0.1,
    eps: float = 1e-5, counts: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """(mean, invstd) [channels] of parts [parts, channels] that have ``counts`` elements each.

    Running statistics, where they are given, take the share ``momentum`` of the common ones.
    """
    if counts is None:
        raise ArgumentError("batch_norm_gather_stats_with_counts needs the count of elements of each part.")
    share = (counts / ops.sum(counts)).reshape((-1, 1))
    common = ops.sum(mean * share, 0)
    variance = ops.sum((1 / ops.square(invstd) - eps + ops.square(mean - common)) * share, 0)
    if running_mean is not None:
        running_mean.copy_(running_mean * (1 - momentum) + ops.stop_gradient(common) * momentum)
    if running_var is not None:
        total = ops.sum(counts)
        unbiased = ops.stop_gradient(variance) * (total / ops.maximum(total - 1, 1))
        running_var.copy_(running_var * (1 - momentum) + unbiased * momentum)
    return common, ops.rsqrt(variance + eps)
