"""Filters of sounds: difference equations, and the biquads of the "Audio EQ Cookbook".

    a0 y[n] + a1 y[n-1] + ... = b0 x[n] + b1 x[n-1] + ...

The equation is solved in blocks: of a block of 256 samples, what its own input gives is one matrix product for all
blocks at once, and what the block before leaves behind is carried on block by block.

Source: Bristow-Johnson, "Cookbook formulae for audio equalizer biquad filter coefficients"; `mindspore.dataset.audio`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.dataset.audio.audio_kinds import SoundTransform, check_real
from msnb.dataset.pipeline import Array, flag

__all__ = [
    "AllpassBiquad", "BandBiquad", "BandpassBiquad", "BandrejectBiquad", "BassBiquad", "Biquad", "DeemphBiquad",
    "EqualizerBiquad", "Filtfilt", "HighpassBiquad", "LFilter", "LowpassBiquad", "RiaaBiquad", "TrebleBiquad",
]  # fmt: skip

_BLOCK = 256


def filtered(value: Array, a: Sequence[float] | Array, b: Sequence[float] | Array) -> Array:
    """The solution of the difference equation, from rest, along the last axis."""
    head = float(a[0])
    poles, zeros = np.asarray(a[1:], np.float64) / head, np.asarray(b, np.float64) / head
    forced = np.zeros_like(value)
    for shift, factor in enumerate(zeros[: value.shape[-1]]):
        forced[..., shift:] += factor * value[..., : value.shape[-1] - shift]
    while len(poles) and poles[-1] == 0:
        poles = poles[:-1]
    return _recursion(forced, poles) if len(poles) else forced


def _recursion(forced: Array, poles: Array) -> Array:
    """y[n] = forced[n] - poles . (y[n-1], y[n-2] ...)"""
    order, size = len(poles), forced.shape[-1]
    # what the block gives for a one at its first sample, and for a one at each of the samples before it
    given = np.zeros((order + 1, _BLOCK + order))
    given[0, order] = 1.0
    given[1:, :order] = np.eye(order)
    for n in range(order, _BLOCK + order):
        given[:, n] -= given[:, n - order : n][:, ::-1] @ poles
    answer, rest = given[0, order:], given[1:, order:]
    places = np.subtract.outer(np.arange(_BLOCK), np.arange(_BLOCK))
    inner = np.where(places >= 0, answer[np.abs(places)], 0.0)
    count = -(-size // _BLOCK)
    blocks = np.pad(forced.reshape(-1, size), ((0, 0), (0, count * _BLOCK - size))).reshape(-1, count, _BLOCK)
    found = blocks @ inner.T
    before = np.zeros((len(found), order))
    for i in range(count):
        found[:, i] += before @ rest
        joined = np.concatenate([before, found[:, i]], -1)
        before = joined[:, -order:]
    return found.reshape(len(found), -1)[:, :size].reshape(forced.shape)


def _coefficients(values: Sequence[float], what: str) -> list[float]:
    if not isinstance(values, (list, tuple)) or not values:
        raise ArgumentError(f"{what} is a list of numbers, got {values!r}")
    return [check_real(v, what) for v in values]


class LFilter(SoundTransform):
    """A difference equation.

    Args:
        a_coeffs, b_coeffs: its coefficients, a0 first; as many of each.
        clamp: cut the result to -1..1.

    Examples:
        >>> LFilter([1.0, -0.5], [1.0, 0.0])([1.0, 0.0, 0.0]).tolist()
        [1.0, 0.5, 0.25]
    """

    def __init__(self, a_coeffs: Sequence[float], b_coeffs: Sequence[float], clamp: bool = True) -> None:
        name = type(self).__name__
        self.a: list[float] = _coefficients(a_coeffs, f"{name}: a_coeffs")
        self.b: list[float] = _coefficients(b_coeffs, f"{name}: b_coeffs")
        if len(self.a) != len(self.b) or self.a[0] == 0:
            raise AttributeValueError(f"{name}: there are as many a as b, and a0 is not 0; got {self.a} and {self.b}")
        self.clamp: bool = flag(clamp)

    def sound(self, value: Array) -> Array:
        found = filtered(value, self.a, self.b)
        return np.clip(found, -1, 1) if self.clamp else found


class Filtfilt(LFilter):
    """A difference equation, forwards and then backwards, so that nothing is delayed; arguments as `LFilter`."""

    def sound(self, value: Array) -> Array:
        found = filtered(filtered(value, self.a, self.b)[..., ::-1], self.a, self.b)[..., ::-1]
        return np.clip(found, -1, 1) if self.clamp else found


class Biquad(LFilter):
    """A difference equation of second order.

    Args:
        b0, b1, b2, a0, a1, a2: its coefficients.
    """

    def __init__(self, b0: float, b1: float, b2: float, a0: float, a1: float, a2: float) -> None:
        super().__init__([a0, a1, a2], [b0, b1, b2])


def _angle(name: str, sample_rate: Any, frequency: Any, quality: Any) -> tuple[float, float, float]:
    """The frequency as an angle w, its cosine, and sin(w) / 2Q."""
    rate = check_rate(name, sample_rate)
    angle = 2 * math.pi * check_real(frequency, f"{name}: a frequency", 0) / rate
    return angle, math.cos(angle), math.sin(angle) / 2 / check_real(quality, f"{name}: Q", 0, 1, open_low=True)


def check_rate(name: str, sample_rate: Any) -> float:
    """A rate of samples, which is not 0."""
    rate = check_real(sample_rate, f"{name}: sample_rate")
    if not isinstance(sample_rate, (int, np.integer)):
        raise ArgumentError(f"{name}: sample_rate is a whole number, got {sample_rate!r}")
    if rate == 0:
        raise AttributeValueError(f"{name}: sample_rate is a whole number other than 0, got {sample_rate!r}")
    return rate


class AllpassBiquad(Biquad):
    """Turns phases and keeps magnitudes.

    Args:
        sample_rate: in Hz. central_freq: in Hz. Q: the quality, 0..1.
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707) -> None:
        _, cos, alpha = _angle(type(self).__name__, sample_rate, central_freq, Q)
        super().__init__(1 - alpha, -2 * cos, 1 + alpha, 1 + alpha, -2 * cos, 1 - alpha)


class BandBiquad(Biquad):
    """A band of two poles.

    Args:
        sample_rate: in Hz. central_freq: in Hz. Q: the quality, 0..1. noise: for noise, not for pitched sounds.
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707, noise: bool = False) -> None:
        angle, cos, _ = _angle(type(self).__name__, sample_rate, central_freq, Q)
        a2 = math.exp(-angle / Q)
        a1 = -4 * a2 / (1 + a2) * cos
        b0 = math.sqrt(max(1 - a1 * a1 / (4 * a2), 0)) * (1 - a2)
        if flag(noise):
            b0 = math.sqrt(((1 + a2) ** 2 - a1 * a1) * (1 - a2) / (1 + a2))
        super().__init__(b0, 0.0, 0.0, 1.0, a1, a2)


class BandpassBiquad(Biquad):
    """Lets a band through.

    Args:
        sample_rate: in Hz. central_freq: in Hz. Q: the quality, 0..1. const_skirt_gain: the peak grows with Q.
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707, const_skirt_gain: bool = False) -> None:
        angle, cos, alpha = _angle(type(self).__name__, sample_rate, central_freq, Q)
        gain = math.sin(angle) / 2 if flag(const_skirt_gain) else alpha
        super().__init__(gain, 0.0, -gain, 1 + alpha, -2 * cos, 1 - alpha)


class BandrejectBiquad(Biquad):
    """Keeps a band out.

    Args:
        sample_rate: in Hz. central_freq: in Hz. Q: the quality, 0..1.
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707) -> None:
        _, cos, alpha = _angle(type(self).__name__, sample_rate, central_freq, Q)
        super().__init__(1.0, -2 * cos, 1.0, 1 + alpha, -2 * cos, 1 - alpha)


class LowpassBiquad(Biquad):
    """Lets low frequencies through.

    Args:
        sample_rate: in Hz. cutoff_freq: in Hz. Q: the quality, 0..1.
    """

    def __init__(self, sample_rate: int, cutoff_freq: float, Q: float = 0.707) -> None:
        _, cos, alpha = _angle(type(self).__name__, sample_rate, cutoff_freq, Q)
        super().__init__((1 - cos) / 2, 1 - cos, (1 - cos) / 2, 1 + alpha, -2 * cos, 1 - alpha)


class HighpassBiquad(Biquad):
    """Lets high frequencies through.

    Args:
        sample_rate: in Hz. cutoff_freq: in Hz. Q: the quality, 0..1.
    """

    def __init__(self, sample_rate: int, cutoff_freq: float, Q: float = 0.707) -> None:
        _, cos, alpha = _angle(type(self).__name__, sample_rate, cutoff_freq, Q)
        super().__init__((1 + cos) / 2, -1 - cos, (1 + cos) / 2, 1 + alpha, -2 * cos, 1 - alpha)


class EqualizerBiquad(Biquad):
    """Raises or lowers a band.

    Args:
        sample_rate: in Hz. center_freq: in Hz. gain: in dB. Q: the quality, 0..1.
    """

    def __init__(self, sample_rate: int, center_freq: float, gain: float, Q: float = 0.707) -> None:
        name = type(self).__name__
        _, cos, alpha = _angle(name, sample_rate, center_freq, Q)
        root = 10 ** (check_real(gain, f"{name}: gain") / 40)
        super().__init__(1 + alpha * root, -2 * cos, 1 - alpha * root, 1 + alpha / root, -2 * cos, 1 - alpha / root)


def _shelf(cos: float, alpha: float, gain: float, side: int) -> tuple[float, ...]:
    """Coefficients of a shelf: side 1 raises what is low, -1 what is high."""
    root = 10 ** (gain / 40)
    width, low, high = 2 * math.sqrt(root) * alpha, side * (root - 1) * cos, side * (root + 1) * cos
    b = root * (root + 1 - low + width), 2 * side * root * (root - 1 - high), root * (root + 1 - low - width)
    a = root + 1 + low + width, -2 * side * (root - 1 + high), root + 1 + low - width
    return (*b, *a)


class BassBiquad(Biquad):
    """Raises or lowers low frequencies.

    Args:
        sample_rate: in Hz. gain: in dB. central_freq: in Hz. Q: the quality, 0..1.
    """

    def __init__(self, sample_rate: int, gain: float, central_freq: float = 100.0, Q: float = 0.707) -> None:
        name = type(self).__name__
        _, cos, alpha = _angle(name, sample_rate, central_freq, Q)
        super().__init__(*_shelf(cos, alpha, check_real(gain, f"{name}: gain"), 1))


class TrebleBiquad(Biquad):
    """Raises or lowers high frequencies.

    Args:
        sample_rate: in Hz. gain: in dB. central_freq: in Hz. Q: the quality, 0..1.
    """

    def __init__(self, sample_rate: int, gain: float, central_freq: float = 3000, Q: float = 0.707) -> None:
        name = type(self).__name__
        _, cos, alpha = _angle(name, sample_rate, central_freq, Q)
        super().__init__(*_shelf(cos, alpha, check_real(gain, f"{name}: gain"), -1))


class DeemphBiquad(Biquad):
    """Takes back the emphasis of compact discs.

    Args:
        sample_rate: 44100 or 48000 Hz.

    Source: ISO 908; the numbers are those of SoX.
    """

    def __init__(self, sample_rate: int) -> None:
        known = {44100: (5283.0, 0.4845, -9.477), 48000: (5356.0, 0.479, -9.62)}
        if sample_rate not in known:
            raise AttributeValueError(f"DeemphBiquad: sample_rate is 44100 or 48000, got {sample_rate!r}")
        center, slope, gain = known[sample_rate]
        angle, root = 2 * math.pi * center / sample_rate, 10 ** (gain / 40)
        alpha = math.sin(angle) / 2 * math.sqrt((root + 1 / root) * (1 / slope - 1) + 2)
        super().__init__(*_shelf(math.cos(angle), alpha, gain, -1))


_RIAA = {  # zeros and poles
    44100: (-0.2014898, 0.9233820, 0.7083149, 0.9924091), 48000: (-0.1766069, 0.9321590, 0.7396325, 0.9931330),
    88200: (-0.1168735, 0.9648312, 0.8590646, 0.9964002), 96000: (-0.1141486, 0.9676817, 0.8699137, 0.9966946),
}  # fmt: skip


class RiaaBiquad(Biquad):
    """The curve of records' players, 0 dB at 1 kHz.

    Args:
        sample_rate: 44100, 48000, 88200 or 96000 Hz.

    Source: the RIAA's curve of 1954; the numbers are those of SoX.
    """

    def __init__(self, sample_rate: int) -> None:
        if sample_rate not in _RIAA:
            raise AttributeValueError(f"RiaaBiquad: sample_rate is one of {list(_RIAA)}, got {sample_rate!r}")
        zero, one, pole, last = _RIAA[sample_rate]
        b, a = np.poly([zero, one]), np.poly([pole, last])
        at = np.exp(-2j * math.pi * 1000 / sample_rate * np.arange(3))
        b = b / abs((b @ at) / (a @ at))
        super().__init__(*map(float, b), *map(float, a))
