"""Discrete Fourier transforms: one record along the last axis, everything else composed around it.

    dft(x)[k] = sum over j of x[j] exp(-2 pi i j k / n)         inverse=True: exp(+...); neither is scaled

The matrix of the sum is symmetric, so its adjoint is the sum with the other sign: the gradient of the one direction is
the other one. Real transforms are the half of the complex one that the other half mirrors.

Source: https://numpy.org/doc/stable/reference/routines.fft.html (names, arguments and norms)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, TensorType, dtypes
from msnb.ops.definition import example_inputs
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define
from msnb.ops.definition.type_inference import normal_axis, operand_lines
from msnb.ops.elementwise.cast import cast, conj, real
from msnb.ops.indexing.rearrange import flip, moveaxis, narrow, roll
from msnb.ops.shape import concat, zeros

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

FAMILY = "fourier"


def _dft_type(x: TensorType, *, inverse: bool) -> TensorType:
    if not x.dtype.is_complex:
        raise DTypeError("dft needs complex numbers.", operands=operand_lines(x), hint="ms.ops.fft takes real ones.")
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ShapeError("dft needs at least one number along the last axis.", operands=operand_lines(x))
    return x


def _dft_body(xp: Any, x: Any, *, inverse: bool) -> Any:
    return xp.fft.ifft(x, norm="forward") if inverse else xp.fft.fft(x)


def _dft_work(types: Any, out_types: Any, attrs: Any) -> Work:
    sizes = types[0].shape
    count = math.prod(s for s in sizes if isinstance(s, int))
    last = sizes[-1] if sizes and isinstance(sizes[-1], int) else 2
    return Work(vector=5.0 * count * math.log2(max(last, 2)))


DFT: Op = define(
    "dft", "x", attrs={"inverse": False}, infer=_dft_type, body=_dft_body,
    doc="The discrete Fourier transform along the last axis, not scaled.",
    grad=lambda dout, inverse: DFT(dout, inverse=not inverse), axes="... n! -> ... n!", work=_dft_work, family=FAMILY,
    examples=(Example((example_inputs.COMPLEX,)), Example((example_inputs.COMPLEX.T.copy(),), {"inverse": True}),
              Example((np.zeros((0, 3), np.complex128),))),
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


def _scale(name: str, norm: Any, n: int, inverse: bool) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise AttributeValueError(f"{name}: norm is 'backward', 'ortho' or 'forward', not {norm!r}.")
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if inverse == (norm in (None, "backward")) else 1.0


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


def _along(name: str, x: Any, n: Any, axis: int, norm: Any, inverse: bool) -> Any:
    t = _complex(x)
    at = _need_axis(name, t, axis)
    t = moveaxis(_sized(name, t, n, at), at, -1)
    scale = _scale(name, norm, t.shape[-1], inverse)
    out = DFT(t, inverse=inverse)
    return moveaxis(out if scale == 1 else out * scale, -1, at)


def _need_real(name: str, x: Any) -> Any:
    t = as_tensor(x)
    if t.dtype.is_complex:
        raise DTypeError(f"{name} takes real numbers.", operands=operand_lines(t._type), hint="fft takes complex ones.")
    return t


def _whole_spectrum(name: str, x: Any, n: Any, axis: int) -> Any:
    """All ``n`` values of a spectrum whose first half is given; the other half mirrors it."""
    t = _complex(x)
    at = _need_axis(name, t, axis)
    size = 2 * (t.shape[at] - 1) if n is None else n
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise AttributeValueError(
            f"{name}: the number of results along axis {axis} is an integer from 1, got {size!r}."
        )
    half = _sized(name, t, size // 2 + 1, at)
    mirrored = (size - 1) // 2
    return concat([half, conj(flip(narrow(half, at, 1, mirrored), at))], at) if mirrored else half


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
    out = _along("rfft", _need_real("rfft", input), n, dim, norm, inverse=False)
    return narrow(out, dim, 0, out.shape[dim] // 2 + 1)


def irfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The inverse of ``rfft``: ``n`` real numbers (None: 2 (m - 1) of the m that are given)."""
    return real(_along("irfft", _whole_spectrum("irfft", input, n, dim), None, dim, norm, inverse=True))


_OTHER_WAY = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _turned(name: str, norm: Any) -> Any:
    if norm not in _OTHER_WAY:
        raise AttributeValueError(f"{name}: norm is 'backward', 'ortho' or 'forward', not {norm!r}.")
    return _OTHER_WAY[norm]


def hfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The real spectrum of ``n`` values of a signal whose first half is given; the other half mirrors it."""
    return irfft(conj(_complex(input)), n, dim, _turned("hfft", norm))


def ihfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The inverse of ``hfft``: the first n // 2 + 1 values of the signal."""
    return conj(rfft(input, n, dim, _turned("ihfft", norm)))


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
