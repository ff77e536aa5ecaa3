"""Effects that look at neighbours in time: delays, other rates and pitches, masks, and pitch detection.

Source: SoX, "sox.1"; Smith, "Digital Audio Resampling"; Park et al. 2019 (arXiv:1904.08779, the masks);
`mindspore.dataset.audio`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.dataset.audio.audio_kinds import SoundTransform, check_kind, check_real
from msnb.dataset.audio.sound_enums import BorderType, Interpolation, Modulation, ResampleMethod, WindowType
from msnb.dataset.audio.sound_filters import check_rate
from msnb.dataset.audio.spectra import Frames, frames_of, vocoded
from msnb.dataset.pipeline import Array, check_count, draws, flag

__all__ = [
    "ComputeDeltas", "DetectPitchFrequency", "Flanger", "FrequencyMasking", "MaskAlongAxis", "MaskAlongAxisIID",
    "Phaser", "PitchShift", "Resample", "SlidingWindowCmn", "TimeMasking",
]  # fmt: skip


def wave_table(kind: Modulation, size: int, low: float, high: float, phase: float) -> Array:
    """One period of a wave between low and high."""
    point = (np.arange(size) + int(phase / math.pi / 2 * size + 0.5)) % size
    if kind is Modulation.SINUSOIDAL:
        found = (np.sin(point / size * 2 * math.pi) + 1) / 2
    else:
        at = point * 2 / size
        found = np.choose(4 * point // size, [at + 0.5, 1.5 - at, 1.5 - at, at - 1.5])
    return np.asarray(found * (high - low) + low)


class Phaser(SoundTransform):
    """A sound and its copy, delayed by a changing time.

    Args:
        sample_rate: in Hz. gain_in, gain_out: factors before (0..1) and behind. delay_ms: in ms, 0..5. decay: 0..0.99.
        mod_speed: in Hz, 0.1..2. sinusoidal: the wave of the delay, else a triangle.
    """

    def __init__(
        self, sample_rate: int, gain_in: float = 0.4, gain_out: float = 0.74, delay_ms: float = 3.0, decay: float = 0.4,
        mod_speed: float = 0.5, sinusoidal: bool = True,
    ) -> None:  # fmt: skip
        rate = check_rate("Phaser", sample_rate)
        self.before: float = check_real(gain_in, "Phaser: gain_in", 0, 1)
        self.behind: float = check_real(gain_out, "Phaser: gain_out", 0, 1e9)
        self.decay: float = check_real(decay, "Phaser: decay", 0, 0.99)
        self.length: int = max(int(check_real(delay_ms, "Phaser: delay_ms", 0, 5) * 0.001 * rate + 0.5), 1)
        kind = Modulation.SINUSOIDAL if flag(sinusoidal) else Modulation.TRIANGULAR
        size = int(rate / check_real(mod_speed, "Phaser: mod_speed", 0.1, 2) + 0.5)
        self.table: Any = (wave_table(kind, size, 1, self.length, math.pi / 2) + 0.5).astype(np.int64)

    def sound(self, value: Array) -> Array:
        found, kept = value * self.before, np.zeros((*value.shape[:-1], self.length))
        for i in range(value.shape[-1]):
            delay = (i + self.table[i % len(self.table)]) % self.length
            found[..., i] += kept[..., delay]
            kept[..., (i + 1) % self.length] = found[..., i] * self.decay
        return np.clip(found * self.behind, -1, 1)


class Flanger(SoundTransform):
    """A sound [..., channel, time] and copies with feedback, delayed by a changing time.

    Args:
        sample_rate: in Hz. delay: in ms, 0..30. depth: in ms, 0..10. regen: feedback in percent, -95..95.
        width: of the copy in percent, 0..100. speed: in Hz, 0.1..10. phase: between channels, in percent of a period.
        modulation: a Modulation. interpolation: an Interpolation.
    """

    def __init__(
        self, sample_rate: int, delay: float = 0.0, depth: float = 2.0, regen: float = 0.0, width: float = 71.0,
        speed: float = 0.5, phase: float = 25.0, modulation: Modulation = Modulation.SINUSOIDAL,
        interpolation: Interpolation = Interpolation.LINEAR,
    ) -> None:  # fmt: skip
        rate, name = check_rate("Flanger", sample_rate), "Flanger"
        least = check_real(delay, f"{name}: delay", 0, 30) / 1000
        most = least + check_real(depth, f"{name}: depth", 0, 10) / 1000
        self.feedback: float = check_real(regen, f"{name}: regen", -95, 95) / 100
        share = check_real(width, f"{name}: width", 0, 100) / 100
        self.phase: float = check_real(phase, f"{name}: phase", 0, 100) / 100
        self.own: float = 1 / (1 + share)
        self.copy: float = share / (1 + share) * (1 - abs(self.feedback))
        self.length: int = int(most * rate + 0.5) + 2
        size = int(rate / check_real(speed, f"{name}: speed", 0.1, 10))
        kind = check_kind(modulation, Modulation, f"{name}: modulation")
        self.table: Array = wave_table(kind, size, math.floor(least * rate + 0.5), self.length - 2, 3 * math.pi / 2)
        self.straight: bool = check_kind(interpolation, Interpolation, f"{name}: interpolation") is Interpolation.LINEAR

    def sound(self, value: Array) -> Array:
        wide = value.reshape(-1, *value.shape[-2:]) if value.ndim > 1 else value[None, None]
        channels = np.arange(wide.shape[1])
        shifts = (channels * len(self.table) * self.phase + 0.5).astype(np.int64)
        kept, last = np.zeros((*wide.shape[:2], self.length)), np.zeros(wide.shape[:2])
        found = np.empty_like(wide)
        for i in range(wide.shape[-1]):
            at = -(i + 1) % self.length
            delay = self.table[(i + shifts) % len(self.table)]
            whole = np.floor(delay).astype(np.int64)
            kept[..., at] = wide[..., i] + last * self.feedback
            near = [kept[:, channels, (at + whole + k) % self.length] for k in range(3)]
            last = self._between(near, delay - whole)
            found[..., i] = wide[..., i] * self.own + last * self.copy
        return np.clip(found.reshape(value.shape), -1, 1)

    def _between(self, near: list[Array], part: Array) -> Array:
        """The value between samples."""
        one, two = near[1] - near[0], near[2] - near[0]
        if self.straight:
            return np.asarray(near[0] + one * part)
        return np.asarray(near[0] + ((two * 0.5 - one) * part + one * 2 - two * 0.5) * part)


def resampled(
    value: Array, orig: float, new: float, method: ResampleMethod, width: int, rolloff: float, beta: float
) -> Array:
    """A sound at another rate: a windowed sinc around every new sample."""
    common = math.gcd(int(orig), int(new))
    old, fresh = int(orig) // common, int(new) // common
    if old == fresh:
        return value
    base = min(old, fresh) * rolloff
    reach = math.ceil(width * old / base)
    places = np.arange(-reach, reach + old)[None] / old
    at = np.clip((np.arange(0, -fresh, -1)[:, None] / fresh + places) * base, -width, width)
    if method is ResampleMethod.SINC_INTERPOLATION:
        window = np.cos(at * math.pi / width / 2) ** 2
    else:
        window = np.i0(beta * np.sqrt(np.maximum(1 - (at / width) ** 2, 0))) / np.i0(beta)
    kernels = np.sinc(at) * window * (base / old)  # [fresh, reach * 2 + old]
    size = value.shape[-1]
    wide = np.pad(value, [(0, 0)] * (value.ndim - 1) + [(reach, reach + old)])
    cut = np.lib.stride_tricks.sliding_window_view(wide, kernels.shape[1], -1)[..., ::old, :]
    found = cut @ kernels.T
    return np.asarray(found.reshape(*value.shape[:-1], -1)[..., : math.ceil(fresh * size / old)])


class Resample(SoundTransform):
    """A sound at another rate.

    Args:
        orig_freq, new_freq: the rates in Hz. resample_method: a ResampleMethod, the window.
        lowpass_filter_width: of the window, in zeros of the sinc. rolloff: the part of the new rate's half that passes,
            above 0 up to 1. beta: of Kaiser's window; default: 14.769656459379492.

    Examples:
        >>> Resample(16000, 8000)(np.ones(100, np.float32)).shape
        (50,)
    """

    arguments: tuple[float, float, Any, int, float, float]

    def __init__(
        self, orig_freq: float = 16000, new_freq: float = 16000,
        resample_method: ResampleMethod = ResampleMethod.SINC_INTERPOLATION, lowpass_filter_width: int = 6,
        rolloff: float = 0.99, beta: float | None = None,
    ) -> None:  # fmt: skip
        for what, rate in (("orig_freq", orig_freq), ("new_freq", new_freq)):
            if check_real(rate, f"Resample: {what}", 1) != int(rate):
                raise AttributeValueError(f"Resample: {what} is a whole number of Hz, got {rate!r}")
        kind = check_kind(resample_method, ResampleMethod, "Resample: resample_method")
        width = check_count(lowpass_filter_width, "Resample: lowpass_filter_width")
        part = check_real(rolloff, "Resample: rolloff", 0, 1, open_low=True)
        curve = 14.769656459379492 if beta is None else check_real(beta, "Resample: beta")
        self.arguments = (float(orig_freq), float(new_freq), kind, width, part, curve)

    def sound(self, value: Array) -> Array:
        return resampled(value, *self.arguments)


class PitchShift(SoundTransform):
    """A sound at another pitch and of the same length.

    Args:
        sample_rate: in Hz. n_steps: by how many steps. bins_per_octave: steps of an octave.
        n_fft, win_length, hop_length, window: as in `Spectrogram`; hop_length: default win_length // 4.
    """

    def __init__(
        self, sample_rate: int, n_steps: int, bins_per_octave: int = 12, n_fft: int = 512,
        win_length: int | None = None, hop_length: int | None = None, window: WindowType = WindowType.HANN,
    ) -> None:  # fmt: skip
        octave = check_count(bins_per_octave, "PitchShift: bins_per_octave", least=-(1 << 30))
        if not octave:
            raise AttributeValueError("PitchShift: bins_per_octave is not 0")
        self.rate: float = check_rate("PitchShift", sample_rate)
        self.slower: Any = 2.0 ** (-check_count(n_steps, "PitchShift: n_steps", least=-(1 << 30)) / octave)
        width = win_length or n_fft
        self.frames: Frames = frames_of("PitchShift", n_fft, width, hop_length or width // 4, window)

    def sound(self, value: Array) -> Array:
        hop, size = self.frames.hop_length, value.shape[-1]
        spectra = self.frames.spectra(value)
        advance = np.linspace(0, math.pi * hop, spectra.shape[-2])[:, None]
        slow = self.frames.sound(vocoded(spectra, self.slower, advance), round(size / self.slower))
        kind = ResampleMethod.SINC_INTERPOLATION
        found = resampled(slow, int(self.rate / self.slower), self.rate, kind, 6, 0.99, 0.0)[..., :size]
        return np.pad(found, [(0, 0)] * (value.ndim - 1) + [(0, size - found.shape[-1])])


class ComputeDeltas(SoundTransform):
    """How fast numbers change along time, by a line through neighbours.

    Args:
        win_length: how many, 3 at the least. pad_mode: a BorderType, what stands at the ends.
    """

    def __init__(self, win_length: int = 5, pad_mode: BorderType = BorderType.EDGE) -> None:
        self.reach: int = (check_count(win_length, "ComputeDeltas: win_length", least=3) - 1) // 2
        self.border: Any = check_kind(pad_mode, BorderType, "ComputeDeltas: pad_mode")

    def sound(self, value: Array) -> Array:
        n = self.reach
        wide = np.pad(value, [(0, 0)] * (value.ndim - 1) + [(n, n)], mode=self.border.value)
        size = value.shape[-1]
        total = sum(k * wide[..., n + k : n + k + size] for k in range(-n, n + 1))
        return np.asarray(total / (n * (n + 1) * (2 * n + 1) / 3))


class SlidingWindowCmn(SoundTransform):
    """Numbers [..., time, feature] less the mean of a window in time.

    Args:
        cmn_window: frames of the window. min_cmn_window: at the begin, so many at the least (without center).
        center: the window stands around its frame, else before it. norm_vars: divide by the deviation too.
    """

    axes = 2

    def __init__(
        self, cmn_window: int = 600, min_cmn_window: int = 100, center: bool = False, norm_vars: bool = False
    ) -> None:
        self.window: int = check_count(cmn_window, "SlidingWindowCmn: cmn_window")
        self.least: int = check_count(min_cmn_window, "SlidingWindowCmn: min_cmn_window")
        self.center: bool = flag(center)
        self.deviation: bool = flag(norm_vars)

    def sound(self, value: Array) -> Array:
        size, found = value.shape[-2], np.empty_like(value)
        for t in range(size):
            part = value[..., slice(*self._range(t, size)), :]
            found[..., t, :] = value[..., t, :] - part.mean(-2)
            if self.deviation:
                found[..., t, :] = found[..., t, :] / part.std(-2) if part.shape[-2] > 1 else 0.0
        return found

    def _range(self, t: int, size: int) -> tuple[int, int]:
        """Kaldi's window: moved inside where it leads out."""
        start = t - self.window // 2 if self.center else t - self.window
        stop = start + self.window if self.center else t + 1
        if start < 0:
            stop, start = stop - start if self.center else stop, 0
        if not self.center and stop > t:
            stop = max(t + 1, self.least)
        if stop > size:
            start, stop = max(start - (stop - size), 0), size
        return start, stop


class DetectPitchFrequency(SoundTransform):
    """The pitch of each frame in Hz, by correlation with what is one period later.

    Args:
        sample_rate: in Hz. frame_time: of a frame, in s. win_length: frames of the median. freq_low, freq_high: in Hz.
    """

    result: np.dtype[Any] | None = np.dtype(np.float32)

    def __init__(
        self, sample_rate: int, frame_time: float = 0.01, win_length: int = 30, freq_low: float = 85,
        freq_high: float = 3400,
    ) -> None:  # fmt: skip
        name = "DetectPitchFrequency"
        self.rate: float = check_rate("DetectPitchFrequency", sample_rate)
        self.size: int = math.ceil(self.rate * check_real(frame_time, f"{name}: frame_time", 0, open_low=True))
        self.window: int = check_count(win_length, f"{name}: win_length")
        self.most: int = math.ceil(self.rate / check_real(freq_low, f"{name}: freq_low", 0, open_low=True))
        self.least: int = math.ceil(self.rate / check_real(freq_high, f"{name}: freq_high", 0, open_low=True))
        if self.least >= self.most // 2:
            raise AttributeValueError(f"{name}: freq_low is below half of freq_high, got {freq_low} and {freq_high}")

    def sound(self, value: Array) -> Array:
        lags = self._correlations(value)
        best = self._best(lags) + self.least + 1
        side = (self.window - 1) // 2
        wide = np.concatenate([np.repeat(best[..., :1], side, -1), best], -1)
        if wide.shape[-1] < self.window:
            raise ShapeError(f"DetectPitchFrequency: {best.shape[-1]} frames are too few for win_length={self.window}")
        rolled = np.sort(np.lib.stride_tricks.sliding_window_view(wide, self.window, -1), -1)
        return self.rate / (1e-9 + rolled[..., (self.window - 1) // 2])

    def _correlations(self, value: Array) -> Array:
        """[..., frame, lag]"""
        count = -(-value.shape[-1] // self.size)
        wide = np.pad(value, [(0, 0)] * (value.ndim - 1) + [(0, self.most + count * self.size - value.shape[-1])])
        first = wide[..., : count * self.size].reshape(*value.shape[:-1], count, self.size)
        found = []
        for lag in range(1, self.most + 1):
            second = wide[..., lag : lag + count * self.size].reshape(first.shape)
            lengths = (1e-9 + np.linalg.norm(first, axis=-1)) * (1e-9 + np.linalg.norm(second, axis=-1))
            found.append((first * second).sum(-1) / lengths**2)
        return np.stack(found, -1)

    def _best(self, lags: Array) -> Array:
        """The lag of the largest correlation; of those half as long if that is almost as large."""
        half = lags[..., self.least : lags.shape[-1] // 2]
        whole = lags[..., self.least :]
        near = half.max(-1) > 0.99 * whole.max(-1)
        return np.asarray(np.where(near, half.argmax(-1), whole.argmax(-1)))


# ---- masks ----


def _masked(value: Array, axis: int, start: int, width: int, fill: float, what: str) -> Array:
    size = value.shape[axis]
    if start + width > size:
        raise ShapeError(f"{what}: the mask {start}..{start + width} is longer than the axis of {size}")
    found = np.moveaxis(value.copy(), axis, -1)
    found[..., start : start + width] = fill
    return np.moveaxis(found, -1, axis)


def _drawn(value: Array, axis: int, most: int, fill: float, what: str) -> Array:
    """A mask of a random width and place."""
    size, drawn = value.shape[axis], draws()
    if most > size:
        raise ShapeError(f"{what}: a mask of {most} is longer than the axis of {size}")
    width = drawn.random() * most
    start = drawn.random() * (size - width)
    return _masked(value, axis, int(start), int(width), fill, what)


class MaskAlongAxis(SoundTransform):
    """A part of an axis of spectra [..., frequency, time] set to a value.

    Args:
        mask_start, mask_width: where it begins and how long it is. mask_value: the value. axis: 1: frequency, 2: time.
    """

    axes = 2

    def __init__(self, mask_start: int, mask_width: int, mask_value: float, axis: int) -> None:
        self.start: int = check_count(mask_start, "MaskAlongAxis: mask_start", least=0)
        self.width: int = check_count(mask_width, "MaskAlongAxis: mask_width")
        self.fill: float = check_real(mask_value, "MaskAlongAxis: mask_value")
        self.axis: int = _axis(axis)

    def sound(self, value: Array) -> Array:
        return _masked(value, self.axis, self.start, self.width, self.fill, "MaskAlongAxis")


class MaskAlongAxisIID(SoundTransform):
    """A random part of an axis of spectra [..., frequency, time] set to a value.

    Args:
        mask_param: the mask is shorter than this. mask_value: the value. axis: 1: frequency, 2: time.
    """

    axes = 2

    def __init__(self, mask_param: int, mask_value: float, axis: int) -> None:
        self.most: int = check_count(mask_param, "MaskAlongAxisIID: mask_param", least=0)
        self.fill: float = check_real(mask_value, "MaskAlongAxisIID: mask_value")
        self.axis: int = _axis(axis)

    def sound(self, value: Array) -> Array:
        return _drawn(value, self.axis, self.most, self.fill, "MaskAlongAxisIID")


def _axis(axis: Any) -> int:
    if axis not in (1, 2) or isinstance(axis, bool):
        raise AttributeValueError(f"axis is 1 (frequency) or 2 (time), got {axis!r}")
    return int(axis) - 3


class _AxisMask(SoundTransform):
    axes = 2
    axis = -1

    def _begin(self, iid: Any, most: Any, start: Any, fill: Any) -> None:
        name = type(self).__name__
        self.random, self.most = flag(iid), check_count(most, f"{name}: the width", least=0)
        self.start = check_count(start, f"{name}: mask_start", least=0)
        self.fill = check_real(fill, f"{name}: mask_value")

    def sound(self, value: Array) -> Array:
        name = type(self).__name__
        if self.random:
            return _drawn(value, self.axis, self.most, self.fill, name)
        return _masked(value, self.axis, self.start, self.most, self.fill, name)


class FrequencyMasking(_AxisMask):
    """Some frequencies of spectra [..., frequency, time] set to a value.

    Args:
        iid_masks: a mask of a random width and place, else the one that is given.
        freq_mask_param: the width; of random masks the largest. mask_start: where it begins. mask_value: the value.
    """

    axis = -2

    def __init__(
        self, iid_masks: bool = False, freq_mask_param: int = 0, mask_start: int = 0, mask_value: float = 0.0
    ) -> None:
        self._begin(iid_masks, freq_mask_param, mask_start, mask_value)


class TimeMasking(_AxisMask):
    """Some time of spectra [..., frequency, time] set to a value; arguments as `FrequencyMasking`."""

    def __init__(
        self, iid_masks: bool = False, time_mask_param: int = 0, mask_start: int = 0, mask_value: float = 0.0
    ) -> None:
        self._begin(iid_masks, time_mask_param, mask_start, mask_value)
