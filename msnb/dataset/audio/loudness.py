"""Levels of sounds, and effects that change samples one by one.

Source: the pages of these classes in `mindspore.dataset.audio`; SoX, "sox.1".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.dataset.audio.audio_kinds import ComplexTransform, SoundTransform, check_kind, check_real
from msnb.dataset.audio.sound_enums import DensityFunction, FadeShape, GainType, ScaleType
from msnb.dataset.audio.sound_filters import filtered
from msnb.dataset.pipeline import Array, check_count, draws, flag

__all__ = [
    "AmplitudeToDB", "Angle", "ComplexNorm", "Contrast", "DBToAmplitude", "DCShift", "Dither", "Fade", "Gain",
    "Magphase", "MuLawDecoding", "MuLawEncoding", "Overdrive", "Vol",
]  # fmt: skip


class AmplitudeToDB(SoundTransform):
    """Amplitudes or powers [..., frequency, time] to decibels.

    Args:
        stype: a ScaleType. ref_value: what is 0 dB. amin: smaller values count as this.
        top_db: what is so far below the largest value is raised to there.

    Examples:
        >>> AmplitudeToDB()([[100.0, 1.0]]).tolist()
        [[20.0, 0.0]]
    """

    def __init__(
        self, stype: ScaleType = ScaleType.POWER, ref_value: float = 1.0, amin: float = 1e-10, top_db: float = 80.0
    ) -> None:
        self.factor: float = 10.0 if check_kind(stype, ScaleType, "AmplitudeToDB: stype") is ScaleType.POWER else 20.0
        self.ref: float = check_real(ref_value, "AmplitudeToDB: ref_value", 0, open_low=True)
        self.amin: float = check_real(amin, "AmplitudeToDB: amin", 0, open_low=True)
        self.top: float = check_real(top_db, "AmplitudeToDB: top_db", 0, open_low=True)

    def sound(self, value: Array) -> Array:
        found = self.factor * np.log10(np.maximum(value, self.amin))
        found -= self.factor * math.log10(max(self.ref, self.amin))
        axes = tuple(range(max(found.ndim - 3, 0), found.ndim))
        lowest: Array = found.max(axes, keepdims=True) - self.top
        return np.asarray(np.maximum(found, lowest))


class DBToAmplitude(SoundTransform):
    """Decibels to powers or amplitudes.

    Args:
        ref: what 0 dB is. power: 1 gives powers, 0.5 amplitudes.
    """

    def __init__(self, ref: float, power: float) -> None:
        self.ref: float = check_real(ref, "DBToAmplitude: ref")
        self.power: float = check_real(power, "DBToAmplitude: power")

    def sound(self, value: Array) -> Array:
        return self.ref * (10 ** (0.1 * value)) ** self.power


class Gain(SoundTransform):
    """Louder by `gain_db` decibels."""

    def __init__(self, gain_db: float = 1.0) -> None:
        self.factor: float = 10 ** (check_real(gain_db, "Gain: gain_db") / 20)

    def sound(self, value: Array) -> Array:
        return np.asarray(value * self.factor)


class Vol(SoundTransform):
    """Louder, cut to -1..1.

    Args:
        gain: how much; not below 0 for amplitudes, above 0 for powers. gain_type: a GainType, what the gain is.
    """

    factor: float | None

    def __init__(self, gain: float, gain_type: GainType = GainType.AMPLITUDE) -> None:
        kind = check_kind(gain_type, GainType, "Vol: gain_type")
        low = -math.inf if kind is GainType.DB else 0
        amount = check_real(gain, "Vol: gain", low, open_low=kind is GainType.POWER)
        self.factor = {GainType.DB: 10 ** (amount / 20), GainType.AMPLITUDE: amount}.get(kind, abs(amount) ** 0.5)

    def sound(self, value: Array) -> Array:
        return np.asarray(np.clip(value * self.factor, -1, 1))


class Contrast(SoundTransform):
    """Makes a sound sound louder; `enhancement_amount` lies in 0..100."""

    def __init__(self, enhancement_amount: float = 75.0) -> None:
        self.amount: float = check_real(enhancement_amount, "Contrast: enhancement_amount", 0, 100) / 750

    def sound(self, value: Array) -> Array:
        turn = value * (math.pi / 2)
        return np.sin(turn + self.amount * np.sin(turn * 4))


class DCShift(SoundTransform):
    """Adds a constant.

    Args:
        shift: the constant, -2..2. limiter_gain: how far above the limit samples may go; default: the shift.
    """

    def __init__(self, shift: float, limiter_gain: float | None = None) -> None:
        self.shift: float = check_real(shift, "DCShift: shift", -2, 2)
        self.gain: float = self.shift if limiter_gain is None else check_real(limiter_gain, "DCShift: limiter_gain")

    def sound(self, value: Array) -> Array:
        plain = np.clip(value + self.shift, -1, 1)
        limit = 1 - (abs(self.shift) - self.gain)
        if self.shift == 0 or limit == 1:
            return plain
        side = math.copysign(1, self.shift)
        squeezed = (value * side - limit) * self.gain / (1 - limit) + limit + abs(self.shift)
        return np.where(value * side > limit, side * np.minimum(squeezed, limit), plain)


class Dither(SoundTransform):
    """Rounds to 16 bits, with noise before it that hides the rounding.

    Args:
        density_function: a DensityFunction, the shape of the noise. noise_shaping: the error of a sample goes to the
            next one.
    """

    def __init__(self, density_function: DensityFunction = DensityFunction.TPDF, noise_shaping: bool = False) -> None:
        self.kind: Any = check_kind(density_function, DensityFunction, "Dither: density_function")
        self.shaping: bool = flag(noise_shaping)

    def sound(self, value: Array) -> Array:
        found: Array = np.round(value * (2**15 - 2) + self._noise(value)) / 2**15
        if self.shaping:
            error = found - value
            found[..., 1:] += error[..., :-1]
        return found

    def _noise(self, value: Array) -> Any:
        """As SoX: the noise of the first two kinds is made of samples that are drawn."""
        if self.kind is DensityFunction.TPDF:
            size = value.shape[-1]
            return 1 - np.abs(2 * np.arange(size) / max(size, 1) - 1)
        drawn = draws()
        if self.kind is DensityFunction.RPDF:
            return value.ravel()[drawn.integers(value.size)] - 0.5
        return value.ravel()[drawn.integers(value.size, size=7)].sum()


def _curve(shape: FadeShape, at: Array) -> Array:
    """The curve of a fade, from 0 to 1."""
    curves: dict[FadeShape, Array] = {
        FadeShape.LINEAR: at,
        FadeShape.EXPONENTIAL: 2 ** (at - 1) * at,
        FadeShape.LOGARITHMIC: np.log10(0.1 + at) + 1,
        FadeShape.QUARTER_SINE: np.sin(at * math.pi / 2),
        FadeShape.HALF_SINE: np.sin(at * math.pi - math.pi / 2) / 2 + 0.5,
    }
    return np.clip(curves[shape], 0, 1)


class Fade(SoundTransform):
    """Begins and ends softly.

    Args:
        fade_in_len, fade_out_len: over how many samples. fade_shape: a FadeShape, the curve.

    Examples:
        >>> Fade(3)([1.0, 1.0, 1.0, 1.0]).tolist()
        [0.0, 0.5, 1.0, 1.0]
    """

    def __init__(self, fade_in_len: int = 0, fade_out_len: int = 0, fade_shape: FadeShape = FadeShape.LINEAR) -> None:
        self.begin: int = check_count(fade_in_len, "Fade: fade_in_len", least=0)
        self.end: int = check_count(fade_out_len, "Fade: fade_out_len", least=0)
        self.shape: Any = check_kind(fade_shape, FadeShape, "Fade: fade_shape")

    def sound(self, value: Array) -> Array:
        size = value.shape[-1]
        if max(self.begin, self.end) > size:
            raise ShapeError(f"Fade: {max(self.begin, self.end)} samples fade, and the sound has {size}")
        found = value.copy()
        found[..., : self.begin] *= _curve(self.shape, np.linspace(0, 1, self.begin))
        found[..., size - self.end :] *= _curve(self.shape, np.linspace(0, 1, self.end))[::-1]
        return found


class Overdrive(SoundTransform):
    """A guitar's distortion.

    Args:
        gain: in dB, 0..100. color: how many even harmonics, 0..100.
    """

    def __init__(self, gain: float = 20.0, color: float = 20.0) -> None:
        self.gain: float = 10 ** (check_real(gain, "Overdrive: gain", 0, 100) / 20)
        self.color: float = check_real(color, "Overdrive: color", 0, 100) / 200

    def sound(self, value: Array) -> Array:
        driven = np.clip(value * self.gain + self.color, -1, 1)
        bent = driven - driven**3 / 3
        return np.clip(value * 0.5 + filtered(bent, (1.0, -0.995), (1.0, -1.0)) * 0.75, -1, 1)


class MuLawEncoding(SoundTransform):
    """Samples of -1..1 to whole numbers 0..quantization_channels-1, finer near 0 (int32)."""

    def __init__(self, quantization_channels: int = 256) -> None:
        self.mu: float = check_count(quantization_channels, "quantization_channels") - 1.0
        if not self.mu:
            raise AttributeValueError("MuLawEncoding: quantization_channels is at least 2")

    def sound(self, value: Array) -> Array:
        bent = np.sign(value) * np.log1p(self.mu * np.abs(value)) / math.log1p(self.mu)
        return ((bent + 1) / 2 * self.mu + 0.5).astype(np.int32)


class MuLawDecoding(SoundTransform):
    """The way back from `MuLawEncoding`."""

    def __init__(self, quantization_channels: int = 256) -> None:
        self.mu: float = check_count(quantization_channels, "quantization_channels") - 1.0
        if not self.mu:
            raise AttributeValueError("MuLawDecoding: quantization_channels is at least 2")

    def sound(self, value: Array) -> Array:
        bent = value / self.mu * 2 - 1
        return np.sign(bent) * np.expm1(np.abs(bent) * math.log1p(self.mu)) / self.mu


class Angle(ComplexTransform):
    """The angles of complex numbers [..., 2].

    Examples:
        >>> Angle()([[0.0, 2.0]]).round(4).tolist()
        [1.5708]
    """

    def sound(self, value: Array) -> Array:
        return np.arctan2(value[..., 1], value[..., 0])


class ComplexNorm(ComplexTransform):
    """The norms of complex numbers [..., 2] to a `power`."""

    def __init__(self, power: float = 1.0) -> None:
        self.power: float = check_real(power, f"{type(self).__name__}: power", 0)

    def sound(self, value: Array) -> Any:
        return (value**2).sum(-1) ** (self.power / 2)


class Magphase(ComplexNorm):
    """Complex numbers [..., 2] to two columns: norms to a `power`, and angles."""

    def sound(self, value: Array) -> Any:
        return super().sound(value), np.arctan2(value[..., 1], value[..., 0])
