"""Spectra on the scales of pitch: banks of triangles, and cepstra.

    mel = 2595 log10(1 + f / 700)    (HTK; Slaney: straight up to 1 kHz, then logarithmic)

Source: Davis, Mermelstein 1980; Slaney 1998, "Auditory Toolbox"; `mindspore.dataset.audio`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.dataset.audio.audio_kinds import SoundTransform, check_kind, check_real
from msnb.dataset.audio.loudness import AmplitudeToDB
from msnb.dataset.audio.sound_enums import BorderType, MelType, NormMode, NormType, WindowType
from msnb.dataset.audio.sound_filters import check_rate
from msnb.dataset.audio.spectra import Spectrogram
from msnb.dataset.pipeline import Array, check_count, draws, flag

__all__ = [
    "InverseMelScale", "LFCC", "MFCC", "MelScale", "MelSpectrogram", "create_dct", "linear_fbanks", "melscale_fbanks",
]  # fmt: skip

_STEP, _KNEE = 200 / 3, 1000.0
_LOG = math.log(6.4) / 27


def _to_mel(frequency: float, kind: MelType) -> float:
    if kind is MelType.HTK:
        return 2595 * math.log10(1 + frequency / 700)
    return frequency / _STEP if frequency < _KNEE else _KNEE / _STEP + math.log(frequency / _KNEE) / _LOG


def _to_hertz(mel: Array, kind: MelType) -> Array:
    if kind is MelType.HTK:
        return np.asarray(700 * (10 ** (mel / 2595) - 1))
    knee = _KNEE / _STEP
    return np.where(mel < knee, mel * _STEP, _KNEE * np.exp(_LOG * (mel - knee)))


def _triangles(points: Array, n_freqs: int, sample_rate: float) -> Array:
    """[n_freqs, len(points) - 2]: triangle i rises from point i to i + 1 and falls to i + 2."""
    at = np.linspace(0, sample_rate // 2, n_freqs)
    wide = np.diff(points)
    slopes = points[None, :] - at[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.minimum(-slopes[:, :-2] / wide[:-1], slopes[:, 2:] / wide[1:])
    return np.asarray(np.maximum(np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0), 0))


def _range(name: str, f_min: Any, f_max: Any, sample_rate: Any) -> tuple[float, float, float]:
    rate = check_rate(name, sample_rate)
    low = check_real(f_min, f"{name}: f_min")
    high = float(rate // 2) if f_max is None else check_real(f_max, f"{name}: f_max")
    if low >= high:
        raise AttributeValueError(f"{name}: f_min lies below f_max, got {low} and {high}")
    return low, high, rate


def melscale_fbanks(
    n_freqs: int, f_min: float, f_max: float, n_mels: int, sample_rate: int, norm: NormType = NormType.NONE,
    mel_type: MelType = MelType.HTK,
) -> Array:  # fmt: skip
    """A bank of triangles that are equally wide in mel.

    Args:
        n_freqs: frequencies of the spectra, 0 to half the rate. f_min, f_max: in Hz. n_mels: how many triangles.
        sample_rate: in Hz. norm: a NormType. mel_type: a MelType.

    Returns:
        float32[n_freqs, n_mels].

    Examples:
        >>> melscale_fbanks(201, 0.0, 8000.0, 40, 16000).shape
        (201, 40)
    """
    low, high, rate = _range("melscale_fbanks", f_min, f_max, sample_rate)
    kind = check_kind(mel_type, MelType, "melscale_fbanks: mel_type")
    count = check_count(n_mels, "melscale_fbanks: n_mels")
    points = _to_hertz(np.linspace(_to_mel(low, kind), _to_mel(high, kind), count + 2), kind)
    found = _triangles(points, check_count(n_freqs, "melscale_fbanks: n_freqs"), rate)
    if check_kind(norm, NormType, "melscale_fbanks: norm") is NormType.SLANEY:
        found *= 2 / (points[2:] - points[:-2])
    return found.astype(np.float32)


def linear_fbanks(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int) -> Array:
    """A bank of triangles that are equally wide in Hz, float32[n_freqs, n_filter]; arguments as `melscale_fbanks`."""
    low, high, rate = _range("linear_fbanks", f_min, f_max, sample_rate)
    points = np.linspace(low, high, check_count(n_filter, "linear_fbanks: n_filter") + 2)
    return _triangles(points, check_count(n_freqs, "linear_fbanks: n_freqs"), rate).astype(np.float32)


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> Array:
    """The matrix of a cosine transform of the second kind, float32[n_mels, n_mfcc].

    Args:
        n_mfcc: how many results. n_mels: of how many numbers. norm: a NormMode; ORTHO: columns of length one.
    """
    rows, columns = check_count(n_mels, "create_dct: n_mels"), check_count(n_mfcc, "create_dct: n_mfcc")
    found = np.cos(math.pi / rows * (np.arange(rows)[:, None] + 0.5) * np.arange(columns))
    if check_kind(norm, NormMode, "create_dct: norm") is NormMode.ORTHO:
        found[:, 0] /= math.sqrt(2)
        return np.asarray(found * math.sqrt(2 / rows), np.float32)
    return np.asarray(found * 2, np.float32)


def _on_frequencies(bank: Array, value: Array, what: str) -> Array:
    if value.shape[-2] != len(bank):
        raise ShapeError(f"{what} takes spectra of {len(bank)} frequencies, got {value.shape[-2]}")
    return np.asarray(bank.T.astype(np.float64) @ value)


class MelScale(SoundTransform):
    """Spectra [..., n_stft, frame] to mel [..., n_mels, frame].

    Args:
        n_mels: how many triangles. sample_rate: in Hz. f_min, f_max: in Hz; default: 0 to half the rate.
        n_stft: frequencies of the spectra. norm: a NormType. mel_type: a MelType.
    """

    axes = 2

    def __init__(
        self, n_mels: int = 128, sample_rate: int = 16000, f_min: float = 0.0, f_max: float | None = None,
        n_stft: int = 201, norm: NormType = NormType.NONE, mel_type: MelType = MelType.HTK,
    ) -> None:  # fmt: skip
        high = sample_rate // 2 if f_max is None else f_max
        self.bank: Array = melscale_fbanks(n_stft, f_min, high, n_mels, sample_rate, norm, mel_type)

    def sound(self, value: Array) -> Array:
        return _on_frequencies(self.bank, value, "MelScale")


class InverseMelScale(SoundTransform):
    """Mel [..., n_mels, frame] to spectra [..., n_stft, frame] that have it, not below 0, by descent.

    Args:
        n_stft, n_mels, sample_rate, f_min, f_max, norm, mel_type: as in `MelScale`.
        max_iter: steps at the most. tolerance_loss, tolerance_change: it ends where the error, or its change, is below.
        sgdargs: {"sgd_lr": 0.1, "sgd_momentum": 0.9}, the step and its momentum.
    """

    axes = 2

    def __init__(
        self, n_stft: int, n_mels: int = 128, sample_rate: int = 16000, f_min: float = 0.0, f_max: float | None = None,
        max_iter: int = 100000, tolerance_loss: float = 1e-5, tolerance_change: float = 1e-8,
        sgdargs: Mapping[str, float] | None = None, norm: NormType = NormType.NONE, mel_type: MelType = MelType.HTK,
    ) -> None:  # fmt: skip
        name = "InverseMelScale"
        self.bank: Any = MelScale(n_mels, sample_rate, f_min, f_max, n_stft, norm, mel_type).bank.astype(np.float64)
        self.rounds: int = check_count(max_iter, f"{name}: max_iter")
        self.least: float = check_real(tolerance_loss, f"{name}: tolerance_loss", 0, open_low=True)
        self.change: float = check_real(tolerance_change, f"{name}: tolerance_change", 0, open_low=True)
        given = dict(sgdargs or {})
        self.step: float = check_real(given.pop("sgd_lr", 0.1), f"{name}: sgd_lr", 0, open_low=True)
        self.momentum: float = check_real(given.pop("sgd_momentum", 0.9), f"{name}: sgd_momentum", 0)
        if given:
            raise ArgumentError(f"{name}: sgdargs has sgd_lr and sgd_momentum, got {sorted(given)}")

    def sound(self, value: Array) -> Array:
        if value.shape[-2] != self.bank.shape[1]:
            raise ShapeError(f"InverseMelScale takes {self.bank.shape[1]} mel, got {value.shape[-2]}")
        wanted = np.swapaxes(value, -1, -2).reshape(-1, self.bank.shape[1])
        found = draws().random((len(wanted), len(self.bank)))
        speed, loss = np.zeros_like(found), math.inf
        for _ in range(self.rounds):
            error = wanted - found @ self.bank
            before, loss = loss, float((error**2).sum(-1).mean())
            if loss < self.least or abs(before - loss) < self.change:
                break
            speed = self.momentum * speed - 2 * error @ self.bank.T / len(wanted)
            found = np.maximum(found - self.step * speed, 0)
        return np.swapaxes(found.reshape(*value.shape[:-2], value.shape[-1], -1), -1, -2)


class MelSpectrogram(SoundTransform):
    """A sound to its mel spectrogram [..., n_mels, frame]: `Spectrogram`, then `MelScale`; arguments as there."""

    def __init__(
        self, sample_rate: int = 16000, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None,
        f_min: float = 0.0, f_max: float | None = None, pad: int = 0, n_mels: int = 128,
        window: WindowType = WindowType.HANN, power: float = 2.0, normalized: bool = False, center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True, norm: NormType = NormType.NONE,
        mel_scale: MelType = MelType.HTK,
    ) -> None:  # fmt: skip
        check_real(power, "MelSpectrogram: power", 0, open_low=True)
        self.spectrogram: Spectrogram = Spectrogram(
            n_fft, win_length, hop_length, pad, window, power, normalized, center, pad_mode, onesided
        )
        count = n_fft // 2 + 1 if onesided else n_fft
        self.scale: MelScale = MelScale(n_mels, sample_rate, f_min, f_max, count, norm, mel_scale)

    def sound(self, value: Array) -> Array:
        return self.scale.sound(self.spectrogram.sound(value))


class _Cepstrum(SoundTransform):
    """Spectra on a scale, their logarithms, and a cosine transform of these."""

    result: np.dtype[Any] | None = np.dtype(np.float32)

    def _begin(self, count: Any, filters: int, dct_type: Any, norm: NormMode, logarithm: bool) -> None:
        name = type(self).__name__
        if dct_type != 2:
            raise AttributeValueError(f"{name}: dct_type is 2, got {dct_type!r}")
        if check_count(count, f"{name}: the number of coefficients") > filters:
            raise AttributeValueError(f"{name}: {count} coefficients of {filters} filters")
        self.matrix = create_dct(count, filters, norm)
        self.logarithm, self.decibels = flag(logarithm), AmplitudeToDB()

    def _finish(self, value: Array) -> Array:
        found = np.log(value + 1e-6) if self.logarithm else self.decibels.sound(value)
        return _on_frequencies(self.matrix, found, type(self).__name__)


def _options(name: str, given: Mapping[str, Any] | None, **defaults: Any) -> dict[str, Any]:
    """Arguments of a spectrogram in a dict."""
    if given is not None and not isinstance(given, Mapping):
        raise ArgumentError(f"{name}: the arguments of the spectrogram are a dict, got {given!r}")
    return {**defaults, **(given or {})}


class MFCC(_Cepstrum):
    """A sound to mel frequency cepstral coefficients [..., n_mfcc, frame].

    Args:
        sample_rate: in Hz. n_mfcc: how many. dct_type: 2. norm: a NormMode. log_mels: logarithms, else decibels.
        melkwargs: arguments of `MelSpectrogram` without the rate; default: as there.
    """

    def __init__(
        self, sample_rate: int = 16000, n_mfcc: int = 40, dct_type: int = 2, norm: NormMode = NormMode.ORTHO,
        log_mels: bool = False, melkwargs: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.mel: MelSpectrogram = MelSpectrogram(sample_rate, **_options("MFCC", melkwargs))
        self._begin(n_mfcc, self.mel.scale.bank.shape[1], dct_type, norm, log_mels)

    def sound(self, value: Array) -> Array:
        return self._finish(self.mel.sound(value))


class LFCC(_Cepstrum):
    """A sound to cepstral coefficients on a straight scale [..., n_lfcc, frame].

    Args:
        sample_rate: in Hz. n_filter: how many triangles. n_lfcc: how many coefficients. f_min, f_max: in Hz.
        dct_type: 2. norm: a NormMode. log_lf: logarithms, else decibels.
        speckwargs: arguments of `Spectrogram`; default: as there.
    """

    def __init__(
        self, sample_rate: int = 16000, n_filter: int = 128, n_lfcc: int = 40, f_min: float = 0.0,
        f_max: float | None = None, dct_type: int = 2, norm: NormMode = NormMode.ORTHO, log_lf: bool = False,
        speckwargs: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.spectrogram: Spectrogram = Spectrogram(**_options("LFCC", speckwargs))
        high = sample_rate // 2 if f_max is None else f_max
        self.bank: Array = linear_fbanks(self.spectrogram.frames.n_fft // 2 + 1, f_min, high, n_filter, sample_rate)
        self._begin(n_lfcc, n_filter, dct_type, norm, log_lf)

    def sound(self, value: Array) -> Array:
        return self._finish(_on_frequencies(self.bank, self.spectrogram.sound(value), "LFCC"))
