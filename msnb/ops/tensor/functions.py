"""Functions that are methods of Tensor too: ``x.median()`` is ``ops.median(x)``, and a few short ones of PyTorch's."""

from __future__ import annotations

from typing import Any

from msnb.core import dtypes
from msnb.core.tensor import Tensor
from msnb.ops.definition.record import Op
from msnb.ops.definition.type_inference import normal_axis
from msnb.ops.elementwise import cast
from msnb.ops.elementwise.transcendental import erfinv, logaddexp
from msnb.ops.indexing import grids
from msnb.ops.indexing.gather import take_along_dim
from msnb.ops.indexing.masked_select import masked_scatter
from msnb.ops.indexing.scatter import combine, scatter_reduce
from msnb.ops.linalg import factorization, matrix_functions
from msnb.ops.linalg.matrix_functions import inverse
from msnb.ops.linalg.triangular import diag
from msnb.ops.math import clip_norm_interpolate, statistics
from msnb.ops.math.sort import searchsorted
from msnb.ops.math.statistics import std_mean, unsorted_segment_sum
from msnb.ops.nn.activation import gelu, hardshrink, softshrink
from msnb.ops.random import draws
from msnb.ops.shape.creation import empty, full
from msnb.ops.spatial.interpolate import interpolate
from msnb.ops.tensor import properties
from msnb.ops.tensor.operators import forward, named, single

_SAME: tuple[Any, ...] = (
    gelu, masked_scatter, scatter_reduce, take_along_dim, statistics.cdist,
    grids.t, grids.type_as, grids.fmax, grids.fmin, grids.sgn, grids.signbit, grids.logaddexp2,
    grids.hsplit, grids.vsplit, grids.dsplit,
    cast.angle, cast.is_complex,
    clip_norm_interpolate.deg2rad, clip_norm_interpolate.rad2deg, clip_norm_interpolate.frac,
    clip_norm_interpolate.heaviside, clip_norm_interpolate.copysign,
    clip_norm_interpolate.float_power, clip_norm_interpolate.logcumsumexp, clip_norm_interpolate.nanmean,
    clip_norm_interpolate.nansum, clip_norm_interpolate.ptp,
    clip_norm_interpolate.sinc, clip_norm_interpolate.xdivy, clip_norm_interpolate.xlogy,
    factorization.lstsq, factorization.pinv, factorization.qr, factorization.svd,
    erfinv, hardshrink, logaddexp, softshrink,
    interpolate,
    matrix_functions.cholesky, matrix_functions.cross, matrix_functions.det, matrix_functions.logdet,
    matrix_functions.matrix_power, matrix_functions.slogdet, inverse,
    draws.bernoulli, draws.multinomial,
    searchsorted, std_mean, unsorted_segment_sum,
    statistics.corrcoef, statistics.cov, statistics.diff, statistics.dist, statistics.histc, statistics.nanmedian,
    statistics.nanquantile, statistics.quantile, statistics.unsorted_segment_max, statistics.unsorted_segment_min,
)  # fmt: skip


def _new_full(x: Any, size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """A tensor of another shape in this one's dtype."""
    return full(size, fill_value, dtype=dtype or x.dtype)


def _new_empty(x: Any, size: Any, *, dtype: Any = None) -> Tensor:
    """A tensor of another shape in this one's dtype, its values unknown."""
    return empty(size, dtype=dtype or x.dtype)


def _conjugate_turned(x: Any) -> Tensor:
    """The last two axes exchanged, complex numbers conjugated."""
    return x.mT.conj() if cast.is_complex(x) else x.mT  # type: ignore[no-any-return]


def _signed(x: Any) -> bool:
    """Whether the dtype has negative numbers."""
    return bool(x.dtype.signed and x.dtype is not dtypes.bool_)


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """A copy with ``values`` written at (or, with ``accumulate``, added to) the places that index tensors name."""
    spec = ("t",) * len(indices) + ((None, None, None),) * (x.ndim - len(indices))
    return combine(x, tuple(indices), spec, values, "add" if accumulate else "update")


def _select(x: Any, dim: int, index: int) -> Tensor:
    """One slice along ``dim``, without that axis: ``x[:, index]`` for dim 1."""
    at = normal_axis("select", dim, x.ndim)
    return x[(slice(None),) * at + (index,)]  # type: ignore[no-any-return]


def _number_of_axes(x: Any) -> int:
    """The number of axes (PyTorch's word)."""
    return int(x.ndim)


def _diagonal_matrix(x: Any, offset: int = 0) -> Tensor:
    """A matrix with all elements on a diagonal, ``offset`` above the main one."""
    return diag(x.reshape(-1), offset)


def _byte(x: Any) -> Tensor:
    """The values as uint8."""
    return cast.cast(x, "uint8")


def _short(x: Any) -> Tensor:
    """The values as int16."""
    return cast.cast(x, "int16")


_OWN: dict[str, Any] = {
    "new_full": _new_full, "new_empty": _new_empty, "adjoint": _conjugate_turned, "is_signed": _signed,
    "ndimension": _number_of_axes, "nelement": properties.numel, "index_put": _index_put,
    "select": _select,
    "diagflat": _diagonal_matrix, "byte": _byte, "short": _short,
}  # fmt: skip


def bind() -> None:
    """Give Tensor its methods."""
    for name, fn in {**{f.name if isinstance(f, Op) else f.__name__: f for f in _SAME}, **_OWN}.items():
        made = fn if not isinstance(fn, Op) else single(fn) if fn.arity == 1 else forward(fn)
        setattr(Tensor, name, named(name, made))
    Tensor.H = Tensor.mH = property(_conjugate_turned)  # type: ignore[method-assign, assignment]


bind()
