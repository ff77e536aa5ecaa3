"""Discrete Fourier transforms by NumPy's names and arguments (``axis`` and ``axes``).

Source: https://numpy.org/doc/stable/reference/routines.fft.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msnb import ops
from msnb.ops import fftfreq as fftfreq, rfftfreq as rfftfreq

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


_Fn: TypeAlias = Callable[..., Any]


def _along_axis(name: str) -> Callable[..., Any]:
    of: Callable[..., Any] = getattr(ops, name)

    def transform(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
        return of(a, n, axis, norm)

    transform.__name__, transform.__qualname__, transform.__doc__ = name, name, of.__doc__
    return transform


def _along_axes(name: str) -> Callable[..., Any]:
    of, last = getattr(ops, name), (-2, -1) if name.endswith("2") else None

    def transform(a: Any, s: Any = None, axes: Any = last, norm: str | None = None) -> Any:
        return of(a, s, axes, norm)

    transform.__name__, transform.__qualname__, transform.__doc__ = name, name, of.__doc__
    return transform


fft, ifft, rfft, irfft, hfft, ihfft = map(_along_axis, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))  # type: _Fn, _Fn, _Fn, _Fn, _Fn, _Fn
fft2, ifft2, rfft2, irfft2 = map(_along_axes, ("fft2", "ifft2", "rfft2", "irfft2"))  # type: _Fn, _Fn, _Fn, _Fn
fftn, ifftn, rfftn, irfftn = map(_along_axes, ("fftn", "ifftn", "rfftn", "irfftn"))  # type: _Fn, _Fn, _Fn, _Fn
hfft2, ihfft2, hfftn, ihfftn = map(_along_axes, ("hfft2", "ihfft2", "hfftn", "ihfftn"))  # type: _Fn, _Fn, _Fn, _Fn


def fftshift(x: Any, axes: Any = None) -> Any:
    """Frequency 0 in the middle of each axis (None: of all)."""
    return ops.fftshift(x, axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of ``fftshift``."""
    return ops.ifftshift(x, axes)
