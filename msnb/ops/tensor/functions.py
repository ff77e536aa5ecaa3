"""Functions that are methods of Tensor too: ``x.median()`` is ``ops.median(x)``, and a few short ones of PyTorch's."""

from __future__ import annotations

import math
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.ops.definition import Op, as_tensor, normal_axis, operand_lines
from msnb.ops.elementwise import cast, exp, logic, where
from msnb.ops.elementwise.transcendental import erfinv, logaddexp, tan
from msnb.ops.indexing import grids, masked_select, scatter, slice_updates
from msnb.ops.indexing.gather import gather, take_along_dim
from msnb.ops.indexing.masked_select import masked_scatter
from msnb.ops.indexing.pad import pad
from msnb.ops.indexing.rearrange import moveaxis
from msnb.ops.indexing.scatter import combine, scatter_reduce
from msnb.ops.linalg import eigenvalues, factorization, matrix_functions, solvers
from msnb.ops.linalg.matrix_functions import inverse
from msnb.ops.linalg.triangular import diagflat
from msnb.ops.math import clip_norm_interpolate, log_sums, number_functions, statistics
from msnb.ops.math.sort import searchsorted, topk
from msnb.ops.math.statistics import std_mean, unsorted_segment_sum
from msnb.ops.nn.activation import gelu, hardshrink, softshrink
from msnb.ops.random import draws
from msnb.ops.reduction import functional
from msnb.ops.shape.creation import arange, empty, full, zeros
from msnb.ops.sparse.sparse_functions import dense_to_sparse_coo, dense_to_sparse_csr
from msnb.ops.spatial import unfold
from msnb.ops.spatial.interpolate import interpolate
from msnb.ops.special import bessel_functions, gamma_functions, windows
from msnb.ops.tensor import properties
from msnb.ops.tensor.operators import forward, named, single
from msnb.ops.tensor.subscripts import updated

_SAME: tuple[Any, ...] = (
    gelu, masked_scatter, scatter_reduce, take_along_dim, diagflat, matrix_functions.adjoint, statistics.cdist,
    grids.t, grids.type_as, grids.fmax, grids.fmin, grids.sgn, grids.signbit, grids.logaddexp2,
    grids.hsplit, grids.vsplit, grids.dsplit,
    cast.angle, cast.is_complex,
    clip_norm_interpolate.deg2rad, clip_norm_interpolate.rad2deg, clip_norm_interpolate.frac,
    clip_norm_interpolate.heaviside, clip_norm_interpolate.copysign,
    clip_norm_interpolate.float_power, log_sums.logcumsumexp, clip_norm_interpolate.nanmean,
    clip_norm_interpolate.nansum, clip_norm_interpolate.ptp,
    clip_norm_interpolate.sinc, clip_norm_interpolate.xdivy, clip_norm_interpolate.xlogy,
    eigenvalues.eigvals, factorization.lstsq, factorization.pinv, factorization.svd,
    unfold.fold, unfold.col2im, erfinv, hardshrink, logaddexp, softshrink,
    interpolate,
    matrix_functions.cholesky, matrix_functions.cross, matrix_functions.det, matrix_functions.logdet,
    matrix_functions.matrix_power, matrix_functions.slogdet, inverse,
    draws.bernoulli, draws.multinomial,
    searchsorted, std_mean, unsorted_segment_sum,
    statistics.corrcoef, statistics.cov, statistics.diff, statistics.dist, statistics.histc, statistics.nanmedian,
    statistics.nanquantile, statistics.quantile, statistics.unsorted_segment_max, statistics.unsorted_segment_min,
    statistics.unsorted_segment_prod,
    gamma_functions.digamma, gamma_functions.igamma, gamma_functions.igammac, gamma_functions.lgamma,
    gamma_functions.mvlgamma, windows.stft,
    number_functions.aminmax, number_functions.gcd, number_functions.isneginf, number_functions.isposinf,
    number_functions.isreal, number_functions.lcm, number_functions.ldexp, number_functions.nextafter,
    number_functions.random_categorical, number_functions.renorm, number_functions.unique_consecutive,
    slice_updates.diagonal_scatter, slice_updates.inplace_update, slice_updates.reverse,
    slice_updates.reverse_sequence, slice_updates.select_scatter, slice_updates.slice_scatter,
    solvers.addr, solvers.cholesky_inverse, solvers.cholesky_solve, solvers.geqrf, solvers.ger, solvers.lu_solve,
    solvers.orgqr, solvers.ormqr,
)  # fmt: skip


def _new_full(x: Any, size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """A tensor of another shape in this one's dtype."""
    return full(size, fill_value, dtype=dtype or x.dtype)


def _new_empty(x: Any, size: Any, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """A tensor of another shape in this one's dtype, its values unknown; ``device`` names where it is."""
    return empty(size, dtype=dtype or x.dtype, device=device)


def _signed(x: Any) -> bool:
    """Whether the dtype has negative numbers."""
    return bool(x.dtype.signed and x.dtype is not dtypes.bool_)


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """A copy with ``values`` written at (or, with ``accumulate``, added to) the places that index tensors name; one of
    bools stands for the places where it is True."""
    if not accumulate:
        return updated(x, tuple(indices), values)
    given = [as_tensor(index) for index in indices]
    indices = [part for t in given for part in (masked_select.nonzero(t, True) if t.dtype is dtypes.bool_ else (t,))]
    spec = ("t",) * len(indices) + ((None, None, None),) * (x.ndim - len(indices))
    return combine(x, tuple(indices), spec, values, "add")


def _select(x: Any, dim: Any, index: Any) -> Tensor:
    """One slice along ``dim``, without that axis: ``x[:, index]`` for dim 1; or, called as ``x.select(condition, y)``
    with a tensor of booleans, the elements of x where it holds and those of y elsewhere."""
    if isinstance(dim, Tensor) and dim.dtype is dtypes.bool_:
        return where(dim, x, index)
    at = normal_axis("select", dim, x.ndim)
    return x[(slice(None),) * at + (index,)]  # type: ignore[no-any-return]


def _unique(
    x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The different elements (slices along ``dim``) in increasing order, ``sorted`` or not; places and counts if asked
    for."""
    return masked_select.unique(x, return_inverse, return_counts, dim)


def _qr(x: Any, some: bool | str = True) -> tuple[Any, Any]:
    """Q and R; of ``some`` false, or the mode "complete", all columns of Q."""
    return factorization.qr(x, ("reduced" if some else "complete") if isinstance(some, bool) else some)


def _fill_diagonal(x: Any, fill_value: float, wrap: bool = False) -> Tensor:
    """A copy with a number on the main diagonal; of a tall matrix, with ``wrap``, again below each square."""
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError("fill_diagonal takes a matrix, or a cube of any axes.", operands=operand_lines(x._type))
    step = sum(math.prod(x.shape[k + 1 :]) for k in range(x.ndim))
    end = x.size if wrap else math.prod(x.shape[1:]) * min(x.shape)
    flat = arange(x.size)
    on = logic.logical_and(flat % step == 0, flat < end)
    return where(on.reshape(x.shape), cast.cast(fill_value, x.dtype), x)


def _storage_offset(self: Any) -> int:
    """Where in its memory a tensor starts: 0, for values have memory of their own."""
    return 0


def _cauchy(x: Any, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Draws of the Cauchy distribution in the shape of the tensor."""
    drawn = draws.rand(*x.shape, dtype=dtypes.float32)
    return cast.cast(median + sigma * tan(math.pi * (drawn - 0.5)), x.dtype)


def _top_k(x: Any, k: int, sorted: bool = True) -> Any:
    """The largest ``k`` along the last axis, and their places."""
    return topk(x, k, None, True, sorted)


def _log_normal(x: Any, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """exp of normal draws in the shape of the tensor."""
    return cast.cast(exp(draws.randn(x.shape) * std + mean), x.dtype)


def _uniform(x: Any, from_: float = 0.0, to: float = 1.0, generator: Any = None) -> Tensor:
    """Draws between two bounds in the shape of the tensor."""
    return cast.cast(draws.rand(x.shape, generator=generator) * (to - from_) + from_, x.dtype)


def _resized(x: Any, *new_shape: Any) -> Tensor:
    """The elements in another shape: as many as it holds, zeros behind them where it holds more; of none: as it is."""
    if not new_shape:
        return x  # type: ignore[no-any-return]
    one = new_shape[0] if len(new_shape) == 1 and not isinstance(new_shape[0], int) else new_shape
    flat, count = x.reshape(-1)[: math.prod(one)], math.prod(one)
    return pad(flat, (0, count - flat.shape[0])).reshape(tuple(one))


def _windows(x: Any, *place: Any, **words: Any) -> Tensor:
    """``unfold(dimension, size, step)``: windows along an axis, their elements in a new last axis; or, by
    ``kernel_size``, ``dilation``, ``padding``, ``stride``, those of images as columns: ``ops.unfold``."""
    numbers = [value for value in place if isinstance(value, int)]
    if len(numbers) == len(place) == 3 and x.ndim == 4:
        told = "unfold of four axes: three numbers are a kernel, dilation and padding, or a dimension, size and step."
        raise ArgumentError(told, hint="say which by name: unfold(dimension=2, size=3, step=1) or kernel_size=3.")
    if not words.keys() & {"dimension", "size", "step"} and (len(place) != 3 or x.ndim == 4):
        return unfold.unfold(x, *place, **words)  # type: ignore[no-any-return]
    return _along(x, *place, **words)


def _along(x: Any, dimension: int, size: int, step: int) -> Tensor:
    at = normal_axis("unfold", dimension, x.ndim)
    if not 0 < size <= x.shape[at] or step < 1:
        told = f"unfold: windows of {size} in steps of {step} do not fit an axis of {x.shape[at]}."
        raise AttributeValueError(told)
    places = arange(0, x.shape[at] - size + 1, step).reshape(-1, 1) + arange(size)
    return moveaxis(gather(x, places, at), at + 1, -1)


def _choose(x: Any, choices: Any, mode: str = "clip") -> Tensor:
    """At each place the element of ``choices[x]``; places outside are clipped or counted on from 0 ("wrap")."""
    if mode not in ("clip", "wrap"):
        raise AttributeValueError(f"choose: mode is 'clip' or 'wrap', not {mode!r}.")
    rows = [as_tensor(c) for c in choices]
    at = x.clip(0, len(rows) - 1) if mode == "clip" else x % len(rows)
    found = where(at == 0, rows[0], rows[0])
    for k, row in enumerate(rows[1:], 1):
        found = where(at == k, row, found)
    return found


def _bytes(x: Any) -> bytes:
    """The elements as they lie in memory."""
    return x.asnumpy().tobytes()  # type: ignore[no-any-return]


def _never(self: Any) -> bool:
    """False: a tensor lies in memory of its own, neither shared with other processes nor pinned."""
    return False


def _number_of_axes(x: Any) -> int:
    """The number of axes (PyTorch's word)."""
    return int(x.ndim)


def _byte(x: Any) -> Tensor:
    """The values as uint8."""
    return cast.cast(x, "uint8")


def _short(x: Any) -> Tensor:
    """The values as int16."""
    return cast.cast(x, "int16")


def _itself(x: Any) -> Tensor:
    """The values themselves: ``+x``."""
    return x  # type: ignore[no-any-return]


def _complement(x: Any) -> Tensor:
    """All bits turned round: ``~x``."""
    return ~x  # type: ignore[no-any-return]


def _reciprocal(x: Any) -> Tensor:
    """1 / x."""
    return x.reciprocal()  # type: ignore[no-any-return]


def _approximately_equal(x: Any, other: Any, tolerance: float = 1e-5) -> Tensor:
    """True where two tensors differ by less than ``tolerance``."""
    return (x - other).abs() < tolerance  # type: ignore[no-any-return]


def _argmax_with_value(x: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """The largest values along an axis, and their places, to which the gradient goes."""
    return functional.max(x, axis, keep_dims, return_indices=True) if x.ndim else (x, zeros((), dtypes.int64))


def _argmin_with_value(x: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest values along an axis, and their places, to which the gradient goes."""
    return functional.min(x, axis, keep_dims, return_indices=True) if x.ndim else (x, zeros((), dtypes.int64))


def _triangular_solve(b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """The x with A x = b for a triangular A, and A."""
    return solvers.solve_triangular(A, b, int(transpose), not upper, unitriangular), A


_OWN: dict[str, Any] = {
    "new_full": _new_full, "new_empty": _new_empty, "is_signed": _signed,
    "ndimension": _number_of_axes, "nelement": properties.numel, "index_put": _index_put,
    "select": _select, "unique": _unique, "qr": _qr, "fill_diagonal": _fill_diagonal,
    "storage_offset": _storage_offset, "cauchy": _cauchy, "top_k": _top_k, "positive": _itself,
    "i0": bessel_functions.bessel_i0,
    "invert": _complement, "inv": _reciprocal, "soft_shrink": softshrink,
    "matrix_determinant": matrix_functions.det, "log_matrix_determinant": matrix_functions.slogdet,
    "argmax_with_value": _argmax_with_value, "argmin_with_value": _argmin_with_value,
    "scatter_sub": scatter.tensor_scatter_sub, "scatter_mul": scatter.tensor_scatter_mul,
    "scatter_div": scatter.tensor_scatter_div, "scatter_max": scatter.tensor_scatter_max,
    "scatter_min": scatter.tensor_scatter_min, "triangular_solve": _triangular_solve,
    "to_coo": dense_to_sparse_coo, "to_csr": dense_to_sparse_csr,
    "approximate_equal": _approximately_equal, "byte": _byte, "short": _short,
    "log_normal": _log_normal, "uniform": _uniform, "resize": _resized, "unfold": _windows, "choose": _choose,
    "get_bytes": _bytes, "is_pinned": _never, "is_shared": _never,
}  # fmt: skip


def bind() -> None:
    """Give Tensor its methods."""
    for name, fn in {**{f.name if isinstance(f, Op) else f.__name__: f for f in _SAME}, **_OWN}.items():
        made = fn if not isinstance(fn, Op) else single(fn) if fn.arity == 1 else forward(fn)
        setattr(Tensor, name, named(name, made))
    Tensor.H = Tensor.mH = property(matrix_functions.adjoint)  # type: ignore[method-assign, assignment]


bind()
