"""Functions that are methods of Tensor too: ``x.median()`` is ``ops.median(x)``, and a few short ones of PyTorch's."""

from __future__ import annotations

from typing import Any

from msnb.core import dtypes
from msnb.core.tensor import Tensor
from msnb.ops import arrange, casting, composite, factors, facts, linalg, random, statistics
from msnb.ops.activation import gelu, hardshrink, softshrink
from msnb.ops.create import empty, full
from msnb.ops.index import take_along_dim
from msnb.ops.infer import normal_axis
from msnb.ops.linalg import inverse
from msnb.ops.methods import forward, named, single
from msnb.ops.record import Op
from msnb.ops.resample import interpolate
from msnb.ops.scatter import combine, scatter_reduce
from msnb.ops.selection import masked_scatter
from msnb.ops.sorting import searchsorted
from msnb.ops.statistics import std_mean, unsorted_segment_sum
from msnb.ops.transcendental import erfinv, logaddexp
from msnb.ops.triangle import diag

_SAME: tuple[Any, ...] = (
    gelu, masked_scatter, scatter_reduce, take_along_dim, statistics.cdist,
    arrange.t, arrange.type_as, arrange.fmax, arrange.fmin, arrange.sgn, arrange.signbit, arrange.logaddexp2,
    arrange.hsplit, arrange.vsplit, arrange.dsplit,
    casting.angle, casting.is_complex,
    composite.deg2rad, composite.rad2deg, composite.frac, composite.heaviside, composite.copysign,
    composite.float_power, composite.logcumsumexp, composite.nanmean, composite.nansum, composite.ptp,
    composite.sinc, composite.xdivy, composite.xlogy,
    factors.lstsq, factors.pinv, factors.qr, factors.svd,
    erfinv, hardshrink, logaddexp, softshrink,
    interpolate,
    linalg.cholesky, linalg.cross, linalg.det, linalg.logdet, linalg.matrix_power, linalg.slogdet, inverse,
    random.bernoulli, random.multinomial,
    searchsorted, std_mean, unsorted_segment_sum,
    statistics.corrcoef, statistics.cov, statistics.diff, statistics.dist, statistics.histc, statistics.nanmedian,
    statistics.nanquantile, statistics.quantile, statistics.unsorted_segment_max, statistics.unsorted_segment_min,
)  # fmt: skip


def _new_full(x: Any, size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """A tensor of another shape in this one's dtype."""
    return full(size, fill_value, dtype=dtype or x.dtype)


def _new_empty(x: Any, size: Any, *, dtype: Any = None) -> Any:
    """A tensor of another shape in this one's dtype, its values unknown."""
    return empty(size, dtype=dtype or x.dtype)


def _conjugate_turned(x: Any) -> Any:
    """The last two axes exchanged, complex numbers conjugated."""
    return x.mT.conj() if casting.is_complex(x) else x.mT


def _signed(x: Any) -> bool:
    """Whether the dtype has negative numbers."""
    return bool(x.dtype.signed and x.dtype is not dtypes.bool_)


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A copy with ``values`` written at (or, with ``accumulate``, added to) the places that index tensors name."""
    spec = ("t",) * len(indices) + ((None, None, None),) * (x.ndim - len(indices))
    return combine(x, tuple(indices), spec, values, "add" if accumulate else "update")


def _select(x: Any, dim: int, index: int) -> Any:
    """One slice along ``dim``, without that axis: ``x[:, index]`` for dim 1."""
    at = normal_axis("select", dim, x.ndim)
    return x[(slice(None),) * at + (index,)]


_OWN: dict[str, Any] = {
    "new_full": _new_full, "new_empty": _new_empty, "adjoint": _conjugate_turned, "is_signed": _signed,
    "ndimension": lambda x: x.ndim, "nelement": facts.numel, "index_put": _index_put,
    "select": _select,
    "diagflat": lambda x, offset=0: diag(x.reshape(-1), offset),
    "byte": lambda x: casting.cast(x, "uint8"), "short": lambda x: casting.cast(x, "int16"),
}  # fmt: skip


def bind() -> None:
    """Give Tensor its methods."""
    for name, fn in {**{f.name if isinstance(f, Op) else f.__name__: f for f in _SAME}, **_OWN}.items():
        made = fn if not isinstance(fn, Op) else single(fn) if fn.arity == 1 else forward(fn)
        setattr(Tensor, name, named(name, made))
    Tensor.H = Tensor.mH = property(_conjugate_turned)  # type: ignore[attr-defined]


bind()
