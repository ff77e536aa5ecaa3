"""Discrete Fourier transforms: a record along an axis, two for real numbers, everything else composed around them.

    dft(x)[k] = sum over j of x[j] exp(-2 pi i j k / n)         inverse=True: exp(+...)

The matrix of the sum is symmetric, so its adjoint is the sum with the other sign: the gradient of the one direction is
the other one, scaled as much. Of real numbers only the first half is computed, which the other half mirrors: real_dft
gives it, real_idft goes back from it. Their gradients are each other, with what is mirrored counted once or twice.

Source: https://numpy.org/doc/stable/reference/routines.fft.html (names, arguments and norms)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, TensorType, dtypes
from msnb.core.engine import keep_calls
from msnb.ops.definition import example_inputs
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define
from msnb.ops.definition.type_inference import normal_axis, operand_lines
from msnb.ops.elementwise.cast import cast, conj
from msnb.ops.indexing.rearrange import moveaxis, narrow, roll
from msnb.ops.reduction.cumulative import axis_labels
from msnb.ops.shape import concat, zeros

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

FAMILY = "fourier"
_OTHER_WAY: dict[str, str] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _need_numbers(name: str, x: TensorType, axis: int = -1) -> None:
    if x.ndim == 0 or x.shape[normal_axis(name, axis, x.ndim)] == 0:
        raise ShapeError(f"{name} needs at least one number along its axis.", operands=operand_lines(x))


def _known_count(name: str, x: TensorType) -> int:
    _need_numbers(name, x)
    n = x.shape[-1]
    if not isinstance(n, int):
        raise ShapeError(f"{name}: how many numbers the last axis has must be known.", operands=operand_lines(x))
    return n


def _need_complex(name: str, x: TensorType) -> None:
    if not x.dtype.is_complex:
        hint = "ms.ops.fft takes real ones."
        raise DTypeError(f"{name} needs complex numbers.", operands=operand_lines(x), hint=hint)


def _dft_type(x: TensorType, *, inverse: bool, axis: int, norm: str) -> TensorType:
    _need_complex("dft", x)
    _need_numbers("dft", x, axis)
    return x


def _dft_body(xp: Any, x: Any, *, inverse: bool, axis: int, norm: str) -> Any:
    return (xp.fft.ifft if inverse else xp.fft.fft)(x, axis=axis, norm=norm)


def _dft_work(types: Any, out_types: Any, attrs: Any) -> Work:
    x = types[0]
    count = math.prod(s for s in x.shape if isinstance(s, int))
    along = x.shape[attrs.get("axis", -1)] if x.ndim else 2
    flops = 5.0 if x.dtype.is_complex else 2.5
    return Work(vector=flops * count * math.log2(max(along if isinstance(along, int) else 2, 2)))


DFT: Op = define(
    "dft", "x", attrs={"inverse": False, "axis": -1, "norm": "backward"}, infer=_dft_type, body=_dft_body,
    doc="The discrete Fourier transform along an axis, scaled as ``norm`` says.",
    grad=lambda dout, inverse, axis, norm: DFT(dout, inverse=not inverse, axis=axis, norm=_OTHER_WAY[norm]),
    axes=axis_labels, work=_dft_work, family=FAMILY,
    examples=(Example((example_inputs.COMPLEX,)), Example((example_inputs.COMPLEX.T.copy(),), {"inverse": True}),
              Example((example_inputs.COMPLEX,), {"axis": 0, "norm": "ortho"}),
              Example((np.zeros((0, 3), np.complex128),))),
    wrong=(InvalidExample((example_inputs.SIGNED,), {}, "needs complex numbers", DTypeError),
           InvalidExample((np.zeros((2, 0), np.complex128),), {}, "at least one number", ShapeError)),
)  # fmt: skip


def _inner_times(xp: Any, x: Any, odd: bool, factor: float) -> Any:
    """Half a spectrum with a factor at all that the other half mirrors."""
    out = xp.array(x)
    out[..., 1 : None if odd else -1] *= factor
    return out


def _real_dft_type(x: TensorType, *, norm: str, twice: bool) -> TensorType:
    if not x.dtype.is_float or x.dtype.itemsize < 4:
        raise DTypeError("real_dft needs float32 or float64.", operands=operand_lines(x), hint="ms.ops.rfft converts.")
    dtype = dtypes.complex128 if x.dtype is dtypes.float64 else dtypes.complex64
    return x.with_shape((*x.shape[:-1], _known_count("real_dft", x) // 2 + 1)).with_dtype(dtype)


def _real_dft_body(xp: Any, x: Any, *, norm: str, twice: bool) -> Any:
    out = xp.fft.rfft(x, norm=norm)
    return _inner_times(xp, out, x.shape[-1] % 2 == 1, 2) if twice else out


def _real_idft_type(x: TensorType, *, odd: bool, norm: str, twice: bool) -> TensorType:
    _need_complex("real_idft", x)
    dtype = dtypes.float64 if x.dtype is dtypes.complex128 else dtypes.float32
    return x.with_shape((*x.shape[:-1], 2 * (_known_count("real_idft", x) - 1) + odd)).with_dtype(dtype)


def _real_idft_body(xp: Any, x: Any, *, odd: bool, norm: str, twice: bool) -> Any:
    n = 2 * (x.shape[-1] - 1) + odd
    return xp.fft.irfft(x if twice else _inner_times(xp, x, odd, 0.5), n, norm=norm)


REAL_DFT: Op = define(
    "real_dft", "x", attrs={"norm": "backward", "twice": False}, infer=_real_dft_type, body=_real_dft_body,
    doc="The first half of the Fourier transform of real numbers along the last axis. ``twice``: what the other half "
        "mirrors counts twice.",
    grad=lambda dout, types, norm, twice: REAL_IDFT(
        dout, odd=types[0].shape[-1] % 2 == 1, norm=_OTHER_WAY[norm], twice=twice),
    axes="... n! -> ... m!", work=_dft_work, family=FAMILY,
    examples=(Example((example_inputs.SIGNED,)), Example((example_inputs.CUBE,), {"norm": "ortho", "twice": True}),
              Example((example_inputs.EMPTY,))),
    wrong=(InvalidExample((example_inputs.COMPLEX,), {}, "needs float32 or float64", DTypeError),
           InvalidExample((np.zeros((2, 0)),), {}, "at least one number", ShapeError)),
)  # fmt: skip
REAL_IDFT: Op = define(
    "real_idft", "x", attrs={"odd": False, "norm": "backward", "twice": True}, infer=_real_idft_type,
    body=_real_idft_body,
    doc="Real numbers, an ``odd`` count or an even one, whose Fourier transform begins with these along the last axis. "
        "``twice``: the mirrored half is there too.",
    grad=lambda dout, norm, twice: REAL_DFT(dout, norm=_OTHER_WAY[norm], twice=twice),
    axes="... m! -> ... n!", work=_dft_work, family=FAMILY,
    examples=(Example((example_inputs.COMPLEX,)), Example((example_inputs.COMPLEX,), {"odd": True, "twice": False}),
              Example((np.zeros((0, 3), np.complex128),), {"norm": "ortho"})),
    wrong=(InvalidExample((example_inputs.SIGNED,), {}, "needs complex numbers", DTypeError),
           InvalidExample((np.zeros((2, 0), np.complex128),), {}, "at least one number", ShapeError)),
)  # fmt: skip


# ---- along one axis ----


def _complex(x: Any) -> Any:
    """The operand as complex numbers: float64 gives complex128, everything else complex64."""
    t = as_tensor(x)
    if t.dtype.is_complex:
        return t
    return cast(t, dtypes.complex128 if t.dtype is dtypes.float64 else dtypes.complex64)


def _sized(name: str, t: Any, n: Any, axis: int) -> Any:
    """``n`` values along the axis: the first ones, or zeros behind them."""
    have = t.shape[axis]
    want = have if n is None else n
    if isinstance(want, bool) or not isinstance(want, int) or want < 1:
        raise AttributeValueError(f"{name}: the number of values along axis {axis} is an integer from 1, got {want!r}.")
    if want == have:
        return t
    if want < have:
        return narrow(t, axis, 0, want)
    rest = tuple(want - have if i == axis else s for i, s in enumerate(t.shape))
    return concat([t, zeros(rest, t.dtype)], axis)


def _need_axis(name: str, t: Any, axis: Any) -> int:
    if t.ndim == 0:
        raise ShapeError(f"{name} needs a tensor with at least one axis.", operands=operand_lines(t._type))
    return normal_axis(name, axis, t.ndim)


def _norm(name: str, norm: Any) -> str:
    if norm not in (None, *_OTHER_WAY):
        raise AttributeValueError(f"{name}: norm is 'backward', 'ortho' or 'forward', not {norm!r}.")
    return norm or "backward"


def _along(name: str, x: Any, n: Any, axis: int, norm: Any, inverse: bool) -> Any:
    t = _complex(x)
    at = _need_axis(name, t, axis)
    return DFT(_sized(name, t, n, at), inverse=inverse, axis=at, norm=_norm(name, norm))


def _need_real(name: str, x: Any) -> Any:
    t = as_tensor(x)
    if t.dtype.is_complex:
        raise DTypeError(f"{name} takes real numbers.", operands=operand_lines(t._type), hint="fft takes complex ones.")
    return t if t.dtype in (dtypes.float32, dtypes.float64) else cast(t, dtypes.float32)


def fft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The discrete Fourier transform along one axis.

    Args:
        input: real or complex tensor.
        n: how many values of the axis take part: it is cut, or filled with zeros; None: all.
        dim: the axis.
        norm: "backward" (None): not scaled; "ortho": by 1/sqrt(n); "forward": by 1/n.

    Returns:
        complex64, or complex128 for double precision.

    Raises:
        ValueError: an axis that is not there, n below 1, another norm. ShapeError: a number alone.

    Source: `mindspore.ops.fft`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.fft(ms.Tensor([1.0, 2.0, 3.0, 4.0])).tolist()
        [(10+0j), (-2+2j), (-2+0j), (-2-2j)]
    """
    return _along("fft", input, n, dim, norm, inverse=False)


def ifft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The inverse of ``fft``, with its arguments; "backward" scales by 1/n here, "forward" not."""
    return _along("ifft", input, n, dim, norm, inverse=True)


def rfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """``fft`` of real numbers: the first n // 2 + 1 values, which determine the others.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.rfft(ms.Tensor([1.0, 2.0, 3.0, 4.0])).tolist()
        [(10+0j), (-2+2j), (-2+0j)]
    """
    t = _need_real("rfft", input)
    at = _need_axis("rfft", t, dim)
    return moveaxis(REAL_DFT(moveaxis(_sized("rfft", t, n, at), at, -1), norm=_norm("rfft", norm)), -1, at)


def irfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The inverse of ``rfft``: ``n`` real numbers (None: 2 (m - 1) of the m that are given)."""
    t = _complex(input)
    at = _need_axis("irfft", t, dim)
    size = 2 * (t.shape[at] - 1) if n is None else n
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise AttributeValueError(f"irfft: the number of results along axis {at} is an integer from 1, got {size!r}.")
    half = moveaxis(_sized("irfft", t, size // 2 + 1, at), at, -1)
    return moveaxis(REAL_IDFT(half, odd=size % 2 == 1, norm=_norm("irfft", norm)), -1, at)


def hfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The real spectrum of ``n`` values of a signal whose first half is given; the other half mirrors it."""
    return irfft(conj(_complex(input)), n, dim, _OTHER_WAY[_norm("hfft", norm)])


def ihfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The inverse of ``hfft``: the first n // 2 + 1 values of the signal."""
    return conj(rfft(input, n, dim, _OTHER_WAY[_norm("ihfft", norm)]))


# ---- along several axes ----


def _axes(name: str, t: Any, s: Any, dim: Any) -> tuple[list[int], list[Any]]:
    """The axes and how many values of each: all axes, or the last as many as ``s`` has sizes."""
    sizes = None if s is None else [s] if isinstance(s, int) else list(s)
    if dim is None:
        axes = list(range(t.ndim)) if sizes is None else list(range(t.ndim - len(sizes), t.ndim))
    else:
        axes = [normal_axis(name, d, t.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
    counts: list[Any] = [None] * len(axes) if sizes is None else [None if n == -1 else n for n in sizes]
    if len(counts) != len(axes) or not axes or min(axes) < 0:
        raise AttributeValueError(f"{name}: s and dim are of one length, at most {t.ndim}; got s={s!r}, dim={dim!r}.")
    return axes, counts


def _over(one: Callable[..., Any], x: Any, axes: Sequence[int], counts: Sequence[Any], norm: Any) -> Any:
    for axis, n in zip(axes, counts):
        x = one(x, n, axis, norm)
    return x


def fftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """``fft`` along several axes.

    Args:
        input: real or complex tensor.
        s: how many values of each axis take part; None or -1: all.
        dim: the axes; None: all, or the last len(s).
        norm: as of ``fft``.

    Raises:
        ValueError: s and dim of different lengths, or what ``fft`` refuses.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.fftn(ms.ops.ones((2, 2))).tolist()
        [[(4+0j), 0j], [0j, 0j]]
    """
    x = as_tensor(input)
    return _over(fft, x, *_axes("fftn", x, s, dim), norm)


def ifftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The inverse of ``fftn``."""
    x = as_tensor(input)
    return _over(ifft, x, *_axes("ifftn", x, s, dim), norm)


def rfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """``fftn`` of real numbers: the last axis keeps its first half."""
    x = _need_real("rfftn", input)
    axes, counts = _axes("rfftn", x, s, dim)
    return _over(fft, rfft(x, counts[-1], axes[-1], norm), axes[:-1], counts[:-1], norm)


def irfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The inverse of ``rfftn``: real numbers."""
    x = as_tensor(input)
    axes, counts = _axes("irfftn", x, s, dim)
    return irfft(_over(ifft, x, axes[:-1], counts[:-1], norm), counts[-1], axes[-1], norm)


def hfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """``hfft`` along the last axis, ``fft`` along the others."""
    x = as_tensor(input)
    axes, counts = _axes("hfftn", x, s, dim)
    return hfft(_over(fft, x, axes[:-1], counts[:-1], norm), counts[-1], axes[-1], norm)


def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The inverse of ``hfftn``."""
    x = _need_real("ihfftn", input)
    axes, counts = _axes("ihfftn", x, s, dim)
    return _over(ifft, ihfft(x, counts[-1], axes[-1], norm), axes[:-1], counts[:-1], norm)


def fft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
    """``fftn`` along the last two axes."""
    return fftn(input, s, dim, norm)


def ifft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
    """``ifftn`` along the last two axes."""
    return ifftn(input, s, dim, norm)


def rfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
    """``rfftn`` along the last two axes."""
    return rfftn(input, s, dim, norm)


def irfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
    """``irfftn`` along the last two axes."""
    return irfftn(input, s, dim, norm)


def hfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
    """``hfftn`` along the last two axes."""
    return hfftn(input, s, dim, norm)


def ihfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
    """``ihfftn`` along the last two axes."""
    return ihfftn(input, s, dim, norm)


# ---- frequencies ----


def _frequencies(name: str, n: Any, d: float, dtype: Any) -> Any:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1 or d == 0:
        raise AttributeValueError(f"{name}: n is an integer from 1 and d is not 0, got n={n!r}, d={d!r}.")
    make = np.fft.fftfreq if name == "fftfreq" else np.fft.rfftfreq
    return Tensor(make(n, d), dtypes.float32 if dtype is None else dtype)


def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Any:
    """The frequency of each of the ``n`` results of ``fft``, of values that are ``d`` apart.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.fftfreq(4).tolist()
        [0.0, 0.25, -0.5, -0.25]
    """
    return _frequencies("fftfreq", n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Any:
    """The frequency of each result of ``rfft``."""
    return _frequencies("rfftfreq", n, d, dtype)


def _shifted(x: Any, dim: Any, back: bool) -> Any:
    t = as_tensor(x)
    axes = tuple(range(t.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    axes = tuple(normal_axis("fftshift", a, t.ndim) for a in axes)
    return roll(t, tuple(-(t.shape[a] // 2) if back else t.shape[a] // 2 for a in axes), axes) if axes else t


def fftshift(input: Any, dim: Any = None) -> Any:
    """Frequency 0 in the middle of each axis of ``dim`` (None: of all)."""
    return _shifted(input, dim, back=False)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """The inverse of ``fftshift``."""
    return _shifted(input, dim, back=True)


keep_calls(globals(), "fft ifft rfft irfft hfft ihfft fftn ifftn rfftn irfftn hfftn ihfftn fftshift ifftshift")
