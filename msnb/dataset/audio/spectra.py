"""Spectrograms: sounds cut into overlapping windows, and the frequencies of each; and the way back.

    [..., time]  --Spectrogram-->  [..., n_fft/2 + 1, frames]  --InverseSpectrogram-->  [..., time]

Source: Allen, Rabiner 1977; Griffin, Lim 1984; Flanagan, Golden 1966 (the phase vocoder); `mindspore.dataset.audio`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.dataset.audio.audio_kinds import ComplexTransform, SoundTransform, check_kind, check_real, joined, parted
from msnb.dataset.audio.sound_enums import BorderType, WindowType
from msnb.dataset.audio.sound_filters import check_rate
from msnb.dataset.pipeline import Array, check_count, draws, flag

__all__ = ["GriffinLim", "InverseSpectrogram", "PhaseVocoder", "SpectralCentroid", "Spectrogram", "TimeStretch"]


def window_of(kind: WindowType, size: int) -> Array:
    """A window whose period is its size."""
    makers: dict[WindowType, Any] = {
        WindowType.BARTLETT: np.bartlett, WindowType.BLACKMAN: np.blackman, WindowType.HAMMING: np.hamming,
        WindowType.HANN: np.hanning, WindowType.KAISER: lambda n: np.kaiser(n, 12.0),
    }  # fmt: skip
    return np.asarray(makers[kind](size + 1)[:size])


@dataclass(frozen=True)
class Frames:
    """How a sound is cut: the arguments that all transforms of spectra share."""

    n_fft: int
    win_length: int
    hop_length: int
    window: Array  # [n_fft]
    normalized: bool = False
    center: bool = True
    border: BorderType = BorderType.REFLECT
    onesided: bool = True

    @property
    def scale(self) -> float:
        return math.sqrt(float((self.window**2).sum())) if self.normalized else 1.0

    def spectra(self, value: Array) -> Array:
        """Complex [..., frequency, frame]."""
        if self.center:
            side = self.n_fft // 2
            if self.border is BorderType.REFLECT and value.shape[-1] <= side:
                raise ShapeError(f"a sound of {value.shape[-1]} samples is too short to be reflected over {side}")
            value = np.pad(value, [(0, 0)] * (value.ndim - 1) + [(side, side)], mode=self.border.value)
        if value.shape[-1] < self.n_fft:
            raise ShapeError(f"a sound of {value.shape[-1]} samples is shorter than one window of {self.n_fft}")
        cut = np.lib.stride_tricks.sliding_window_view(value, self.n_fft, -1)[..., :: self.hop_length, :] * self.window
        found = np.fft.rfft(cut) if self.onesided else np.fft.fft(cut)
        return np.swapaxes(found, -1, -2) / self.scale

    def sound(self, spectra: Array, length: int | None) -> Array:
        """The sound whose spectra come nearest to these: windows are added up, and divided by their squares."""
        frames = np.swapaxes(spectra * self.scale, -1, -2)
        count = self.n_fft // 2 + 1 if self.onesided else self.n_fft
        if frames.shape[-1] != count:
            raise ShapeError(f"spectra of n_fft={self.n_fft} have {count} frequencies, got {frames.shape[-1]}")
        cut = np.fft.irfft(frames, self.n_fft) if self.onesided else np.fft.ifft(frames).real
        size = self.n_fft + self.hop_length * (cut.shape[-2] - 1)
        found, weight = np.zeros((*cut.shape[:-2], size)), np.zeros(size)
        for i in range(cut.shape[-2]):
            place = slice(i * self.hop_length, i * self.hop_length + self.n_fft)
            found[..., place] += cut[..., i, :] * self.window
            weight[place] += self.window**2
        start = self.n_fft // 2 if self.center else 0
        stop = size - start if length is None else start + length
        found, weight = found[..., start:stop], weight[start:stop]
        found = found / np.where(weight > 1e-11, weight, 1.0)
        if length is not None and found.shape[-1] < length:
            found = np.pad(found, [(0, 0)] * (found.ndim - 1) + [(0, length - found.shape[-1])])
        return found


def frames_of(
    name: str, n_fft: int, win_length: int | None, hop_length: int | None, window: WindowType, normalized: bool = False,
    center: bool = True, pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True,
) -> Frames:  # fmt: skip
    """Checked arguments; the window stands in the middle of n_fft."""
    size = check_count(n_fft, f"{name}: n_fft")
    width = size if not win_length else check_count(win_length, f"{name}: win_length")
    hop = width // 2 if not hop_length else check_count(hop_length, f"{name}: hop_length")
    if width > size or not hop:
        raise AttributeValueError(f"{name}: 1 <= hop_length, win_length <= n_fft, got {hop}, {width} and {size}")
    shape = np.zeros(size)
    left = (size - width) // 2
    shape[left : left + width] = window_of(check_kind(window, WindowType, f"{name}: window"), width)
    border = check_kind(pad_mode, BorderType, f"{name}: pad_mode")
    return Frames(size, width, hop, shape, flag(normalized), flag(center), border, flag(onesided))


class Spectrogram(SoundTransform):
    """A sound to its frequencies over time.

    Args:
        n_fft: samples of a window. win_length: of them not zero; default: all. hop_length: from window to window;
            default: win_length // 2. pad: zeros on both sides of the sound. window: a WindowType.
        power: of the magnitudes: 1, 2 ...; 0: complex numbers [..., frequency, frame, 2].
        normalized: divide by the window's root of squares. center: windows stand around their sample.
        pad_mode: a BorderType, what stands before the first sample. onesided: half of the frequencies, else all.

    Examples:
        >>> Spectrogram(8)(np.ones(32, np.float32)).shape
        (5, 9)
    """

    frames: Frames

    def __init__(
        self, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None, pad: int = 0,
        window: WindowType = WindowType.HANN, power: float = 2.0, normalized: bool = False, center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        self.frames = frames_of(name, n_fft, win_length, hop_length, window, normalized, center, pad_mode, onesided)
        self.pad: int = check_count(pad, f"{name}: pad", least=0)
        self.power: float = check_real(power, f"{name}: power", 0)

    def sound(self, value: Array) -> Array:
        wide = np.pad(value, [(0, 0)] * (value.ndim - 1) + [(self.pad, self.pad)])
        found = self.frames.spectra(wide)
        return np.abs(found) ** self.power if self.power else parted(found)


class InverseSpectrogram(ComplexTransform):
    """Complex spectra [..., frequency, frame, 2] to the sound.

    Args:
        length: of the sound; default: what the frames give. The others: as in `Spectrogram`.
    """

    frames: Frames
    axes = 3

    def __init__(
        self, length: int | None = None, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None,
        pad: int = 0, window: WindowType = WindowType.HANN, normalized: bool = False, center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        self.frames = frames_of(name, n_fft, win_length, hop_length, window, normalized, center, pad_mode, onesided)
        self.length: int | None = None if not length else check_count(length, f"{name}: length")
        self.pad: int = check_count(pad, f"{name}: pad", least=0)

    def sound(self, value: Array) -> Array:
        length = None if self.length is None else self.length + 2 * self.pad
        found = self.frames.sound(joined(value), length)
        return found[..., self.pad : found.shape[-1] - self.pad] if self.pad else found


class GriffinLim(SoundTransform):
    """Magnitudes [..., frequency, frame] to a sound that has them: the angles are found by going there and back.

    Args:
        n_fft, win_length, hop_length: as in `Spectrogram`. n_iter: how often. window_type: a WindowType.
        power: of the magnitudes. momentum: 0..1, how fast. length: of the sound. rand_init: begin with random angles,
            else with zeros.
    """

    axes = 2

    def __init__(
        self, n_fft: int = 400, n_iter: int = 32, win_length: int | None = None, hop_length: int | None = None,
        window_type: WindowType = WindowType.HANN, power: float = 2.0, momentum: float = 0.99,
        length: int | None = None, rand_init: bool = True,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        self.frames: Frames = frames_of(name, n_fft, win_length, hop_length, window_type)
        self.rounds: int = check_count(n_iter, f"{name}: n_iter")
        self.power: float = check_real(power, f"{name}: power", 0, open_low=True)
        fast = check_real(momentum, f"{name}: momentum", 0)
        self.momentum: float = fast / (1 + fast)
        self.random: bool = flag(rand_init)
        self.length: int | None = None if not length else check_count(length, f"{name}: length")

    def sound(self, value: Array) -> Array:
        magnitude = value ** (1 / self.power)
        angles = np.ones(value.shape, np.complex128)
        if self.random:
            drawn = draws()
            angles = drawn.random(value.shape) + 1j * drawn.random(value.shape)
        before = np.zeros_like(angles)
        for _ in range(self.rounds):
            again = self.frames.spectra(self.frames.sound(magnitude * angles, self.length))
            angles = again - before * self.momentum
            angles /= np.abs(angles) + 1e-16
            before = again
        return self.frames.sound(magnitude * angles, self.length)


def vocoded(spectra: Array, rate: float, advance: Array) -> Array:
    """Complex spectra, `rate` times as fast; angles go on as the frequencies say."""
    if rate == 1:
        return spectra
    steps = np.arange(0, spectra.shape[-1], rate)
    whole = np.floor(steps).astype(np.int64)
    part = steps - whole
    wide = np.concatenate([spectra, np.zeros((*spectra.shape[:-1], 2))], -1)
    one, two = wide[..., whole], wide[..., whole + 1]
    turn = np.angle(two) - np.angle(one) - advance
    turn = turn - 2 * math.pi * np.round(turn / (2 * math.pi)) + advance
    first = np.angle(spectra[..., :1])
    phase = np.cumsum(np.concatenate([first, turn[..., :-1]], -1), -1)
    found: Array = (part * np.abs(two) + (1 - part) * np.abs(one)) * np.exp(1j * phase)
    return found


class PhaseVocoder(ComplexTransform):
    """Complex spectra [..., frequency, frame, 2], faster or slower at the same pitch.

    Args:
        rate: how many times as fast. phase_advance: [frequency, 1], the angle from frame to frame.
    """

    axes = 3

    def __init__(self, rate: float, phase_advance: Any) -> None:
        self.rate: float = check_real(rate, "PhaseVocoder: rate", 0, open_low=True)
        self.advance: Any = np.asarray(phase_advance, np.float64)
        if self.advance.ndim != 2 or self.advance.shape[1] != 1:
            raise ShapeError(f"PhaseVocoder: phase_advance is [frequency, 1], got {list(self.advance.shape)}")

    def sound(self, value: Array) -> Array:
        if len(self.advance) != value.shape[-3]:
            raise ShapeError(f"PhaseVocoder: {len(self.advance)} angles for {value.shape[-3]} frequencies")
        return parted(vocoded(joined(value), self.rate, self.advance))


class TimeStretch(ComplexTransform):
    """Complex spectra [..., n_freq, frame, 2], faster or slower at the same pitch.

    Args:
        hop_length: from window to window; default: n_freq - 1. n_freq: how many frequencies.
        fixed_rate: how many times as fast; default: 1.
    """

    rate: float
    axes = 3

    def __init__(self, hop_length: int | None = None, n_freq: int = 201, fixed_rate: float | None = None) -> None:
        self.count: int = check_count(n_freq, "TimeStretch: n_freq")
        hop = self.count - 1 if hop_length is None else check_count(hop_length, "TimeStretch: hop_length")
        self.rate = 1.0 if fixed_rate is None else check_real(fixed_rate, "TimeStretch: fixed_rate", 0, open_low=True)
        self.advance: Any = np.linspace(0, math.pi * hop, self.count)[:, None]

    def sound(self, value: Array) -> Array:
        if value.shape[-3] != self.count:
            raise ShapeError(f"TimeStretch: n_freq is {self.count}, the spectra have {value.shape[-3]}")
        return parted(vocoded(joined(value), self.rate, self.advance))


class SpectralCentroid(SoundTransform):
    """The mean frequency of each frame, weighted by magnitudes: [..., 1, frame].

    Args:
        sample_rate: in Hz. The others: as in `Spectrogram`.
    """

    frequencies: Any

    def __init__(
        self, sample_rate: int, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None,
        pad: int = 0, window: WindowType = WindowType.HANN,
    ) -> None:  # fmt: skip
        self.spectrogram: Spectrogram = Spectrogram(n_fft, win_length, hop_length, pad, window, 1.0)
        self.frequencies = np.linspace(0, check_rate("SpectralCentroid", sample_rate) // 2, 1 + n_fft // 2)[:, None]

    def sound(self, value: Array) -> Array:
        found = self.spectrogram.sound(value)
        with np.errstate(invalid="ignore"):  # silence has no mean frequency
            mean: Array = (self.frequencies * found).sum(-2, keepdims=True) / found.sum(-2, keepdims=True)
        return mean
