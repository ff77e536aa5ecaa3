"""Fourier and cosine transforms by SciPy's names and arguments.

The four cosine transforms are one Fourier transform each, of numbers with weights before and after it:

    X[k] = Re( after[k] FFT_M(before x)[k] ),  k < N

    type   M         before[n]                        after[k]
    I      2(N-1)    1 at both ends, else 2           1
    II     2N        2                                exp(-i pi k / 2N)
    III    2N        (1 at 0, else 2) exp(-i pi n/2N) 1
    IV     2N        2 exp(-i pi n / 2N)              exp(-i pi (2k+1) / 4N)

II and III are inverses of each other up to the factor M, I and IV are their own; so an inverse is the transform of the
other type with the norm turned around.

Source: https://docs.scipy.org/doc/scipy/reference/fft.html; J. Makhoul, A fast cosine transform in one and two
dimensions, IEEE Transactions on Acoustics, Speech, and Signal Processing 28 (1980)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.numpy.fft import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)
from msnb.ops.definition.operand_checks import as_tensor

__all__ = [
    "dct", "dctn", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "idct", "idctn", "ifft",
    "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftfreq", "rfftn",
]  # fmt: skip

_INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}
_INVERSE_NORM = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The discrete cosine transform along an axis.

    Args:
        x: real numbers; integers count as float32.
        type: 1 to 4.
        n: elements of the axis that are transformed: it is cut, or zeros are appended.
        axis: the axis.
        norm: "backward" or None (no factor), "forward" (divided by 2 n; by 2 (n - 1) for type 1), or "ortho" (an
            orthogonal matrix).

    Raises:
        DTypeError: complex numbers.
        AttributeValueError: another type or norm, or too few elements.

    Source:
        https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.dct.html

    Examples:
        >>> import msnb as ms
        >>> [round(v, 4) for v in ms.scipy.fft.dct(ms.Tensor([1.0, 2.0, 3.0])).tolist()]
        [12.0, -3.4641, 0.0]
    """
    return _transformed("dct", x, type, n, axis, norm, inverse=False)


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``dct`` with the same arguments.

    Args:
        x, type, n, axis, norm: as for ``dct``; with norm None or "backward" this side has the factor.

    Raises:
        DTypeError: complex numbers.
        AttributeValueError: another type or norm, or too few elements.

    Source:
        https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.idct.html

    Examples:
        >>> import msnb as ms
        >>> x = ms.scipy.fft.dct(ms.Tensor([1.0, 2.0, 3.0]))
        >>> [round(v, 4) for v in ms.scipy.fft.idct(x).tolist()]
        [1.0, 2.0, 3.0]
    """
    return _transformed("idct", x, type, n, axis, norm, inverse=True)


def dctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """The discrete cosine transform along several axes.

    Args:
        x, type, norm: as for ``dct``.
        s: elements of each of the axes that are transformed (None: all; -1: all of this one).
        axes: the axes; None: all, or the last ones if ``s`` is given.

    Raises:
        ShapeError: ``s`` and ``axes`` are of unlike length.
        DTypeError, AttributeValueError: as ``dct``.

    Source:
        https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.dctn.html

    Examples:
        >>> import msnb as ms
        >>> ms.scipy.fft.dctn(ms.ops.ones((2, 2)))[0, 0].item()
        16.0
    """
    return _along_axes("dctn", x, type, s, axes, norm, inverse=False)


def idctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of ``dctn`` with the same arguments.

    Raises:
        ShapeError, DTypeError, AttributeValueError: as ``dctn``.

    Source:
        https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.idctn.html

    Examples:
        >>> import msnb as ms
        >>> x = ms.scipy.fft.dctn(ms.ops.ones((2, 2)))
        >>> [round(v, 4) for v in ms.scipy.fft.idctn(x).ravel().tolist()]
        [1.0, 1.0, 1.0, 1.0]
    """
    return _along_axes("idctn", x, type, s, axes, norm, inverse=True)


def _along_axes(name: str, x: Any, type: int, s: Any, axes: Any, norm: str | None, inverse: bool) -> Tensor:
    t = as_tensor(x)
    counts = None if s is None else [s] if isinstance(s, int) else list(s)
    if axes is None:
        along: Sequence[int] = range(t.ndim) if counts is None else range(t.ndim - len(counts), t.ndim)
    else:
        along = [axes] if isinstance(axes, int) else list(axes)
    counts = [None] * len(along) if counts is None else [None if n == -1 else n for n in counts]
    if len(counts) != len(along) or len({a % max(t.ndim, 1) for a in along}) != len(along):
        raise ShapeError(f"{name}: s has {len(counts)} sizes for the axes {tuple(along)}, one for each is needed.")
    for n, axis in zip(counts, along):
        t = _transformed(name, t, type, n, axis, norm, inverse)
    return t


def _transformed(name: str, x: Any, type: int, n: int | None, axis: int, norm: str | None, inverse: bool) -> Tensor:
    t = as_tensor(x)
    if type not in _INVERSE_TYPE:
        raise AttributeValueError(f"{name}: type is 1, 2, 3 or 4, not {type!r}.")
    if norm not in _INVERSE_NORM:
        raise AttributeValueError(f"{name}: norm is None, 'backward', 'forward' or 'ortho', not {norm!r}.")
    if t.dtype.is_complex:
        raise DTypeError(f"{name} takes real numbers, not {t.dtype}; transform the real and the imaginary part.")
    if not t.dtype.is_float:
        t = t.astype(dtypes.float32)
    t = _resized(name, ops.moveaxis(t, axis, -1), n, 2 if type == 1 else 1)
    kind, factor = (_INVERSE_TYPE[type], _INVERSE_NORM[norm]) if inverse else (type, norm)
    return ops.moveaxis(_cosines(t, kind, factor), -1, axis)


def _resized(name: str, t: Tensor, n: int | None, least: int) -> Tensor:
    here = t.shape[-1]
    count = here if n is None else n
    if count < least:
        raise AttributeValueError(f"{name}: {count} elements cannot be transformed, at least {least} are needed.")
    if count <= here:
        return t[..., :count]
    return ops.concat((t, ops.zeros((*t.shape[:-1], count - here), t.dtype)), -1)


def _cosines(t: Tensor, kind: int, norm: str | None) -> Tensor:
    count = t.shape[-1]
    length, before, after = _weights(count, kind, norm)
    double = t.dtype in (dtypes.float64,)
    wide = dtypes.complex128 if double else dtypes.complex64
    weighted = t.astype(wide) * Tensor(before.astype(wide.numpy))
    found = fft(weighted, length)[..., :count] * Tensor(after.astype(wide.numpy))
    return ops.real(found).astype(t.dtype)


def _weights(count: int, kind: int, norm: str | None) -> tuple[int, Any, Any]:
    """The length of the Fourier transform, and the weights before and after it."""
    at = np.arange(count)
    length = 2 * (count - 1) if kind == 1 else 2 * count
    turn, half = np.exp(-1j * np.pi * at / (2 * count)), np.exp(-1j * np.pi * (2 * at + 1) / (4 * count))
    before = {1: np.full(count, 2.0 + 0j), 2: np.full(count, 2.0 + 0j), 3: 2 * turn, 4: 2 * turn}[kind]
    after = {1: np.ones(count, complex), 2: turn.copy(), 3: np.ones(count, complex), 4: half}[kind]
    ends = {1: [0, -1], 2: [], 3: [0], 4: []}[kind]
    before[ends] /= 2
    if norm == "ortho":
        before[ends] *= np.sqrt(2)
        after[{1: [0, -1], 2: [0], 3: [], 4: []}[kind]] /= np.sqrt(2)
        after /= np.sqrt(length)
    elif norm == "forward":
        after /= length
    return length, before, after
