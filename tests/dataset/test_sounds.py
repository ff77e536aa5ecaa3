"""Transforms of sounds against SciPy, direct sums and the formulas of the literature."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal
import scipy.stats

import msnb.dataset as ds
from msnb.base.errors import MsnbError
from msnb.dataset import audio

RNG = np.random.default_rng(7)
SOUND = (RNG.random((2, 1500)) * 0.6 - 0.3).astype(np.float64)
SPECTRA = RNG.random((2, 201, 20))
COMPLEX = RNG.random((2, 201, 12, 2)) - 0.5
TONE = np.sin(2 * np.pi * 440 * np.arange(8000) / 8000)


def cookbook(kind: str, rate: float, frequency: float, q: float = 0.707, gain: float = 0.0) -> tuple[Any, Any]:
    """The cookbook's coefficients from the analogue prototype H(s), by the bilinear transform."""
    a = 10 ** (gain / 40)
    analogue: dict[str, tuple[list[float], list[float]]] = {
        "lowpass": ([1], [1, 1 / q, 1]), "highpass": ([1, 0, 0], [1, 1 / q, 1]),
        "bandpass": ([1 / q, 0], [1, 1 / q, 1]),
        "bandreject": ([1, 0, 1], [1, 1 / q, 1]), "allpass": ([1, -1 / q, 1], [1, 1 / q, 1]),
        "equalizer": ([1, a / q, 1], [1, 1 / (a * q), 1]),
        "bass": ([a, a * a**0.5 / q, a * a], [a, a**0.5 / q, 1]),
        "treble": ([a * a, a * a**0.5 / q, a], [1, a**0.5 / q, a]),
    }  # fmt: skip
    b, c = analogue[kind]
    warp = math.tan(math.pi * frequency / rate)

    def scaled(p: list[float]) -> list[float]:
        return [v / warp ** (len(p) - 1 - i) for i, v in enumerate(p)]

    return scipy.signal.bilinear(scaled(b), scaled(c), 0.5)


BIQUADS: dict[str, Any] = {
    "lowpass": audio.LowpassBiquad(16000, 1500.0), "highpass": audio.HighpassBiquad(16000, 1500.0),
    "bandpass": audio.BandpassBiquad(16000, 1500.0), "bandreject": audio.BandrejectBiquad(16000, 1500.0),
    "allpass": audio.AllpassBiquad(16000, 1500.0), "equalizer": audio.EqualizerBiquad(16000, 1500.0, 6.0),
    "bass": audio.BassBiquad(16000, 6.0, 1500.0), "treble": audio.TrebleBiquad(16000, 6.0, 1500.0),
}  # fmt: skip


@pytest.mark.parametrize("kind", BIQUADS)
def test_biquads_are_their_analogue_prototypes(kind: str) -> None:
    gain = 6.0 if kind in ("equalizer", "bass", "treble") else 0.0
    b, a = cookbook(kind, 16000, 1500.0, gain=gain)
    wanted = np.clip(scipy.signal.lfilter(b, a, SOUND), -1, 1)
    assert np.allclose(BIQUADS[kind](SOUND), wanted, atol=1e-10)


@pytest.mark.parametrize("order", [0, 1, 2, 5])
@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 1500])
def test_difference_equations(order: int, size: int) -> None:
    drawn = np.random.default_rng(order * 10_000 + size)
    a = np.atleast_1d(np.poly(drawn.uniform(-0.9, 0.9, order))) * 2
    b, x = drawn.normal(size=order + 1), drawn.normal(size=(2, 3, size))
    assert np.allclose(audio.LFilter(list(a), list(b), clamp=False)(x), scipy.signal.lfilter(b, a, x), atol=1e-9)
    there = scipy.signal.lfilter(b, a, scipy.signal.lfilter(b, a, x)[..., ::-1])[..., ::-1]
    assert np.allclose(audio.Filtfilt(list(a), list(b), clamp=False)(x), there, atol=1e-8)


def test_curves_of_records_and_discs() -> None:
    for rate in (44100, 48000, 88200, 96000):
        t = np.arange(rate) / rate
        flat = audio.RiaaBiquad(rate)(0.1 * np.sin(2 * np.pi * 1000 * t))[rate // 2 :]
        assert abs(flat).max() == pytest.approx(0.1, rel=1e-3)
    for rate in (44100, 48000):
        b, a = audio.DeemphBiquad(rate).b, audio.DeemphBiquad(rate).a
        _, response = scipy.signal.freqz(b, a, [2 * math.pi * 20 / rate, 2 * math.pi * 15000 / rate])
        assert abs(20 * np.log10(abs(response)) - [0, -9.0]).max() < 0.6
    _, response = scipy.signal.freqz(
        audio.BandBiquad(16000, 1000.0).b, audio.BandBiquad(16000, 1000.0).a, 512, fs=16000
    )
    assert abs(abs(response).argmax() / 512 * 8000 - 1000) < 150


@pytest.mark.parametrize("window", list(audio.WindowType))
@pytest.mark.parametrize("onesided", [True, False])
def test_spectra_are_sums_over_windows(window: audio.WindowType, onesided: bool) -> None:
    name: Any = ("kaiser", 12.0) if window is audio.WindowType.KAISER else window.value
    shape = np.pad(scipy.signal.get_window(name, 48), (8, 8))
    wide = np.pad(SOUND, ((0, 0), (32, 32)), mode="reflect")
    frames = np.stack([wide[:, i : i + 64] * shape for i in range(0, wide.shape[1] - 63, 20)], 1)
    wanted = np.fft.fft(frames)[..., : 33 if onesided else 64].swapaxes(1, 2)
    found = audio.Spectrogram(64, 48, 20, window=window, power=0.0, onesided=onesided)(SOUND)
    assert np.allclose(found[..., 0] + 1j * found[..., 1], wanted, atol=1e-10)
    power = audio.Spectrogram(64, 48, 20, window=window, normalized=True, onesided=onesided)(SOUND)
    assert np.allclose(power, abs(wanted) ** 2 / (shape**2).sum())


def test_there_and_back() -> None:
    there = audio.Spectrogram(64, hop_length=16, power=0.0)(SOUND)
    assert np.allclose(audio.InverseSpectrogram(1500, 64, hop_length=16)(there), SOUND, atol=1e-10)
    power = audio.Spectrogram(256, hop_length=64, power=2.0)(TONE[None])
    back = audio.GriffinLim(256, 60, hop_length=64, rand_init=False)(power)
    again = audio.Spectrogram(256, hop_length=64, power=2.0)(back)
    size = min(again.shape[-1], power.shape[-1]) - 8
    error = np.sqrt(again[..., 8:size]) - np.sqrt(power[..., 8:size])
    assert np.linalg.norm(error) < 0.25 * np.linalg.norm(np.sqrt(power))
    codes = audio.MuLawEncoding()(SOUND)
    assert codes.dtype == np.int32 and abs(audio.MuLawDecoding()(codes.astype(np.float64)) - SOUND).max() < 0.01
    db = audio.AmplitudeToDB(top_db=200.0)(SPECTRA + 0.1)
    assert np.allclose(audio.DBToAmplitude(1.0, 1.0)(db), SPECTRA + 0.1)


def test_scales_of_pitch() -> None:
    bank = audio.melscale_fbanks(201, 0.0, 8000.0, 10, 16000)
    peaks = 700 * (10 ** (np.arange(1, 11) * 2595 * math.log10(1 + 8000 / 700) / 11 / 2595) - 1)
    assert abs(bank.argmax(0) * 40 - peaks).max() <= 40 and bank.min() == 0 and bank.max() <= 1
    slaney = audio.melscale_fbanks(4001, 100.0, 7000.0, 10, 16000, audio.NormType.SLANEY, audio.MelType.SLANEY)
    assert np.allclose(slaney.sum(0) * 2, 1, atol=1e-2)  # triangles of area one, every 2 Hz
    assert np.allclose(audio.linear_fbanks(201, 0.0, 8000.0, 39, 16000).sum(1)[6:-6], 1, atol=1e-5)
    eye = np.eye(20)
    for norm, name in ((audio.NormMode.ORTHO, "ortho"), (audio.NormMode.NONE, None)):
        assert np.allclose(audio.create_dct(12, 20, norm), scipy.fft.dct(eye, norm=name, axis=-1)[:, :12], atol=1e-6)
    mel = audio.MelSpectrogram(n_mels=40)(SOUND)
    assert np.allclose(mel, audio.MelScale(40)(audio.Spectrogram()(SOUND)))
    options = {"n_mels": 40}
    wanted = scipy.fft.dct(np.log(mel + 1e-6), norm="ortho", axis=-2)[:, :13]
    assert np.allclose(audio.MFCC(n_mfcc=13, log_mels=True, melkwargs=options)(SOUND), wanted, atol=1e-4)
    assert audio.LFCC(n_filter=30, n_lfcc=13)(SOUND).shape == (2, 13, 8)
    ds.config.set_seed(1)
    inverse = audio.InverseMelScale(33, 12, max_iter=4000, tolerance_loss=1e-9)
    spectra = SPECTRA[0, :33]
    again = audio.MelScale(12, n_stft=33)(inverse(audio.MelScale(12, n_stft=33)(spectra)))
    assert abs(again - audio.MelScale(12, n_stft=33)(spectra)).max() < 0.05


def test_pitch_time_and_rate() -> None:
    low = audio.Resample(8000, 6000)(TONE)
    wanted = np.sin(2 * np.pi * 440 * np.arange(6000) / 6000)
    assert len(low) == 6000 and np.allclose(low[50:-50], wanted[50:-50], atol=2e-2)
    kaiser = audio.Resample(8000, 11025, audio.ResampleMethod.KAISER_WINDOW, 16)(TONE)
    assert np.allclose(kaiser[90:-90], np.sin(2 * np.pi * 440 * np.arange(11025) / 11025)[90:-90], atol=2e-2)
    octave = audio.PitchShift(8000, 12)(TONE)
    assert len(octave) == 8000 and abs(np.abs(np.fft.rfft(octave[2000:6000])).argmax() * 2 - 880) <= 6
    assert np.allclose(np.median(audio.DetectPitchFrequency(8000)(TONE)), 440, rtol=0.03)
    spectra = audio.Spectrogram(512, hop_length=128, power=0.0)(TONE)
    fast = audio.TimeStretch(128, 257, 2.0)(spectra)
    assert fast.shape[1] == -(-spectra.shape[1] // 2)
    angles = np.linspace(0, math.pi * 128, 257)[:, None]
    assert np.array_equal(audio.PhaseVocoder(2.0, angles)(spectra), fast)
    assert np.array_equal(audio.TimeStretch(128, 257, 1.0)(spectra), spectra)
    assert abs(np.abs(np.fft.rfft(audio.InverseSpectrogram(None, 512, None, 128)(fast))).argmax() - 220) < 8
    assert abs(np.median(audio.SpectralCentroid(8000)(TONE)) - 440) < 15


def test_numbers_one_by_one() -> None:
    assert np.allclose(audio.Gain(6.0)(SOUND), SOUND * 10**0.3)
    assert np.allclose(audio.Vol(4.0, audio.GainType.POWER)(SOUND), SOUND * 2)
    assert np.allclose(audio.Vol(-6.0, audio.GainType.DB)(SOUND), SOUND * 10**-0.3)
    assert audio.Vol(100.0)(SOUND).max() == 1.0
    norm, angle = audio.Magphase(2.0)(COMPLEX)
    value = COMPLEX[..., 0] + 1j * COMPLEX[..., 1]
    assert np.allclose(norm, abs(value) ** 2) and np.allclose(angle, np.angle(value))
    assert np.allclose(audio.ComplexNorm()(COMPLEX), abs(value)) and np.allclose(audio.Angle()(COMPLEX), angle)
    deltas = audio.ComputeDeltas(5)(np.arange(20.0)[None] * 3)
    assert np.allclose(deltas[0, 2:-2], 3)
    slopes = [np.polyfit(range(5), SPECTRA[0, 0, i : i + 5], 1)[0] for i in range(16)]
    assert np.allclose(audio.ComputeDeltas(5)(SPECTRA)[0, 0, 2:-2], slopes)
    assert np.allclose(audio.SlidingWindowCmn(1000, 1, True, True)(SPECTRA[0]), scipy.stats.zscore(SPECTRA[0], 0))
    assert np.allclose(audio.DCShift(0.25, 1.25 - 1.0)(np.array([-0.9, 0.5])), [-0.65, 0.75])
    assert abs(audio.Dither()(SOUND) - SOUND).max() < 2e-4
    assert np.allclose(audio.Contrast(0.0)(SOUND), np.sin(SOUND * math.pi / 2))


@pytest.mark.parametrize("shape", list(audio.FadeShape))
def test_fades(shape: audio.FadeShape) -> None:
    faded = audio.Fade(400, 400, shape)(np.ones(1000))
    assert abs(faded[[0, -1]]).max() < 1e-9 and np.allclose(faded, faded[::-1]) and np.allclose(faded[399:601], 1)
    assert (np.diff(faded[:400]) >= -1e-12).all()


def test_delays() -> None:
    still = audio.Flanger(8000, 0.0, 0.0, 0.0, 0.0)(SOUND)
    assert np.allclose(still, SOUND)
    click = np.zeros((2, 400))
    click[:, 0] = 0.5
    echo = audio.Flanger(8000, 10.0, 0.0, 50.0, 100.0)(click)
    assert np.allclose(echo[0, [0, 80, 161]], [0.25, 0.125, 0.0625]) and np.count_nonzero(echo[0].round(9)) == 5
    phased = audio.Phaser(8000, decay=0.0)(SOUND)
    assert np.allclose(phased, SOUND * 0.4 * 0.74)
    assert abs(audio.Overdrive(0.0, 0.0)(SOUND)).max() < 0.7


def test_masks_follow_the_seed_and_stay_inside() -> None:
    rows = (audio.FrequencyMasking(False, 10, 5, 9.0)(SPECTRA) == 9).all((0, 2))
    assert np.flatnonzero(rows).tolist() == [*range(5, 15)]
    assert np.argwhere((audio.TimeMasking(False, 3, 4, 9.0)(SPECTRA) == 9).all((0, 1))).ravel().tolist() == [4, 5, 6]
    assert np.array_equal(audio.MaskAlongAxis(4, 3, 9.0, 2)(SPECTRA), audio.TimeMasking(False, 3, 4, 9.0)(SPECTRA))
    data = ds.NumpySlicesDataset(np.ones((20, 30, 40), np.float32), ["x"], shuffle=False)

    def masks(workers: int) -> list[Any]:
        ds.config.set_seed(5)
        mapped = data.map([audio.FrequencyMasking(True, 20), audio.MaskAlongAxisIID(20, 0.0, 2)], "x", None, workers)
        return [x for (x,) in mapped.create_tuple_iterator(num_epochs=1, output_numpy=True)]

    one, two = masks(1), masks(2)
    assert all(np.array_equal(a, b) for a, b in zip(one, two)) and len({a.tobytes() for a in one}) > 15
    assert all(a.dtype == np.float32 and ((a == 0).all(0).sum() < 20) for a in one)
    for kind in audio.DensityFunction:
        ds.config.set_seed(5)
        first = audio.Dither(kind)(SOUND)
        ds.config.set_seed(5)
        assert np.array_equal(first, audio.Dither(kind)(SOUND))


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: audio.LowpassBiquad(0, 1.0), "other than 0"),
    (lambda: audio.LowpassBiquad(8000.5, 1.0), "whole number"),
    (lambda: audio.LowpassBiquad(8000, 1.0, 0.0), "above"),
    (lambda: audio.LowpassBiquad(8000, "a"), "is a number"),
    (lambda: audio.LFilter([1.0], [1.0, 2.0]), "as many a as b"),
    (lambda: audio.LFilter([], []), "list of numbers"),
    (lambda: audio.Gain(math.nan), "lies in"),
    (lambda: audio.Gain()("a"), "expects numbers"),
    (lambda: audio.Angle()([1.0]), "complex numbers"),
    (lambda: audio.Spectrogram(0), "at least 1"),
    (lambda: audio.Spectrogram(64, 65), "win_length <= n_fft"),
    (lambda: audio.Spectrogram(64)(np.ones(8)), "too short"),
    (lambda: audio.Spectrogram(64, center=False)(np.ones(8)), "shorter than one window"),
    (lambda: audio.Spectrogram(window="hann"), "WindowType"),
    (lambda: audio.InverseSpectrogram(n_fft=64)(np.ones((3, 4, 2))), "33 frequencies"),
    (lambda: audio.MelScale(n_stft=5)(np.ones((4, 3))), "5 frequencies"),
    (lambda: audio.MelScale(f_min=9000.0), "below f_max"),
    (lambda: audio.MFCC(n_mfcc=500), "500 coefficients"),
    (lambda: audio.MFCC(dct_type=3), "dct_type is 2"),
    (lambda: audio.MFCC(melkwargs=3), "are a dict"),
    (lambda: audio.InverseMelScale(5, sgdargs={"lr": 1}), "sgd_lr"),
    (lambda: audio.Fade(10)(np.ones(5)), "10 samples fade"),
    (lambda: audio.MaskAlongAxis(0, 9, 0.0, 2)(np.ones((4, 5))), "longer than the axis"),
    (lambda: audio.MaskAlongAxis(0, 9, 0.0, 0), "axis is 1"),
    (lambda: audio.MaskAlongAxisIID(9, 0.0, 2)(np.ones((4, 5))), "longer than the axis"),
    (lambda: audio.Resample(16000.5), "whole number of Hz"),
    (lambda: audio.RiaaBiquad(8000), "one of"),
    (lambda: audio.DeemphBiquad(8000), "44100 or 48000"),
    (lambda: audio.PhaseVocoder(1.0, [1.0]), "phase_advance is"),
    (lambda: audio.TimeStretch(n_freq=5)(np.ones((4, 3, 2))), "n_freq is 5"),
    (lambda: audio.MuLawEncoding(1), "at least 2"),
    (lambda: audio.DetectPitchFrequency(8000, freq_high=100), "below half"),
]


@pytest.mark.parametrize(("wrong", "sentence"), WRONG, ids=range(len(WRONG)))
def test_wrong_uses(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(MsnbError, match=sentence):
        wrong()
