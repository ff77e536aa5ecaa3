"""Windows: weights that fade a piece of a signal in and out; and the spectrum of every piece (stft).

    periodic=True (the default): one period of ``window_length`` values; False: symmetric, first value = last value

Source: https://numpy.org/doc/stable/reference/routines.window.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Array, Tensor, dtypes
from msnb.ops.definition import as_tensor, operand_lines
from msnb.ops.elementwise.cast import imag, real
from msnb.ops.indexing.gather import gather
from msnb.ops.indexing.pad import pad
from msnb.ops.indexing.rearrange import swapaxes
from msnb.ops.shape.concat_split import stack
from msnb.ops.special.fourier import fft, rfft

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window", "stft"]


def _window(name: str, length: Any, periodic: bool, dtype: Any, make: Callable[[int], Array]) -> Any:
    n = length.item() if isinstance(length, Tensor) else length
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise AttributeValueError(f"{name}: window_length is an integer from 0, got {length!r}.")
    whole = make(n + 1)[:-1] if periodic and n > 1 else make(n)
    return Tensor(whole, dtypes.float32 if dtype is None else dtype)


def bartlett_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Any:
    """A triangle from 0 to 1 and back.

    Args:
        window_length: how many values, from 0.
        periodic: leave out the last value of a symmetric window that is longer by one.
        dtype: a float type; float32 by default.

    Raises:
        ValueError: a length that is no integer from 0.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.bartlett_window(4).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    return _window("bartlett_window", window_length, periodic, dtype, np.bartlett)


def blackman_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Any:
    """0.42 - 0.5 cos + 0.08 cos of the double angle; arguments as of ``bartlett_window``."""
    return _window("blackman_window", window_length, periodic, dtype, np.blackman)


def hamming_window(
    window_length: Any, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None
) -> Any:
    """alpha - beta cos; arguments as of ``bartlett_window``."""

    def make(n: int) -> Array:
        return np.ones(n) if n < 2 else alpha - beta * np.cos(2 * np.pi * np.arange(n) / (n - 1))

    return _window("hamming_window", window_length, periodic, dtype, make)


def hann_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Any:
    """(1 - cos) / 2; arguments as of ``bartlett_window``."""
    return _window("hann_window", window_length, periodic, dtype, np.hanning)


def kaiser_window(window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None) -> Any:
    """Kaiser's window with the shape ``beta``; other arguments as of ``bartlett_window``."""
    return _window("kaiser_window", window_length, periodic, dtype, lambda n: np.kaiser(n, beta))


def stft(x: Any, n_fft: int, hop_length: Any = None, win_length: Any = None, window: Any = None, center: bool = True,
         pad_mode: str = "REFLECT", normalized: bool = False, onesided: Any = None,
         return_complex: Any = None) -> Any:  # fmt: skip
    """The spectrum of every piece of a signal.

    Args:
        x: [L] or [B, L], real or complex.
        n_fft: length of a piece.
        hop_length: from one piece to the next; None: a quarter of n_fft.
        win_length: length of the window; None: n_fft. A shorter one is filled with zeros on both sides.
        window: [win_length] weights; None: ones.
        center: pad the signal by n_fft // 2, so that piece t is centred at t * hop_length.
        pad_mode: how: "REFLECT", "CONSTANT" ...
        normalized: divide by sqrt(n_fft).
        onesided: the first half of the spectrum; None: of real signals.
        return_complex: complex numbers; else real and imaginary part along a new last axis. None: as the signal is.

    Returns:
        [B, frequencies, pieces] complex, or [B, frequencies, pieces, 2].

    Raises:
        ShapeError: no axis or more than two, or a signal shorter than a piece. ValueError: other attributes that
        do not fit.

    Source: `mindspore.ops.stft`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.stft(ms.ops.ones((16,)), 8, return_complex=True).shape
        (5, 9)
    """
    t = as_tensor(x)
    hop, long = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    half = (not t.dtype.is_complex) if onesided is None else onesided
    _check_pieces(t, n_fft, hop, long, half)
    pieces = _pieces(t, n_fft, hop, pad_mode.lower() if center else "") * _weights(window, long, n_fft)
    found = swapaxes((rfft if half else fft)(pieces, norm="ortho" if normalized else None), -1, -2)
    as_complex = t.dtype.is_complex if return_complex is None else return_complex
    return found if as_complex else stack([real(found), imag(found)], -1)


def _check_pieces(t: Any, n_fft: int, hop: int, long: int, half: bool) -> None:
    if t.ndim not in (1, 2):
        raise ShapeError("stft takes a signal [L] or several [B, L].", operands=operand_lines(t._type))
    if hop < 1 or not 0 < long <= n_fft:
        raise AttributeValueError(f"stft: hop_length is from 1 and win_length from 1 to n_fft, got {hop} and {long}.")
    if half and t.dtype.is_complex:
        raise AttributeValueError("stft: the spectrum of a complex signal has no mirrored half; onesided=False.")


def _weights(window: Any, long: int, n_fft: int) -> Any:
    weights = as_tensor(np.ones(long, np.float32) if window is None else window)
    if weights.shape != (long,):
        raise ShapeError(f"stft needs a window of shape [{long}].", operands=operand_lines(weights._type))
    left = (n_fft - long) // 2
    return pad(weights, (left, n_fft - long - left))


def _pieces(t: Any, n_fft: int, hop: int, pad_mode: str) -> Any:
    """[..., pieces, n_fft]"""
    if pad_mode:
        wide = pad(t.reshape(1, -1, t.shape[-1]), (n_fft // 2, n_fft // 2), pad_mode)
        t = wide.reshape(*t.shape[:-1], -1)
    count = 1 + (t.shape[-1] - n_fft) // hop
    if count < 1:
        raise ShapeError(f"stft needs a signal of at least n_fft={n_fft} values.", operands=operand_lines(t._type))
    return gather(t, Tensor(np.arange(count)[:, None] * hop + np.arange(n_fft)), t.ndim - 1)
