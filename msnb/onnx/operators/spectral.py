"""Fourier transforms, windows' filters, and what draws random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.core import Tensor, dtypes
from msnb.onnx.model_reader import numpy_dtype
from msnb.onnx.operator_table import Known, operator


def _complex(x: Any) -> Any:
    return ops.complex(x[..., 0], x[..., 1]) if x.shape[-1] == 2 else ops.complex(x[..., 0], ops.zeros_like(x[..., 0]))


@operator("DFT", since=17)
def old_dft(x: Tensor, length: Known | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Any:
    """Version 17: the axis is an attribute."""
    return dft(x, length, np.array(axis), inverse=inverse, onesided=onesided)


@operator("DFT", since=20)
def dft(x: Tensor, length: Known | None = None, axis: Known | None = None, *, inverse: int = 0,
        onesided: int = 0) -> Any:  # fmt: skip
    """Fourier transform along an axis of pairs (real, imaginary), or of reals."""
    along = -2 if axis is None else int(axis.reshape(()))
    along = along % x.ndim if along >= 0 else along + x.ndim
    size = None if length is None else int(length.reshape(()))
    z = _complex(x if x.dtype.itemsize >= 4 else x.astype("float32"))
    if onesided and inverse:
        n = size if size is not None else 2 * (z.shape[along] - 1)
        return ops.expand_dims(ops.irfft(z, n, along), -1).astype(x.dtype)
    found = (ops.ifft if inverse else ops.fft)(z, size, along)
    if onesided:
        count = found.shape[along] // 2 + 1
        found = ops.gather(found, Tensor(np.arange(count)), along)
    return ops.stack([ops.real(found), ops.imag(found)], -1).astype(x.dtype)


@operator("STFT")
def stft(x: Tensor, step: Known, window: Tensor | None = None, length: Known | None = None, *,
         onesided: int = 1) -> Any:  # fmt: skip
    """Fourier transforms of windows that slide."""
    hop = int(step.reshape(()))
    size = int(length.reshape(())) if length is not None else window.shape[0]  # type: ignore[union-attr]
    starts = np.arange((x.shape[1] - size) // hop + 1) * hop
    places = Tensor((starts[:, None] + np.arange(size)).reshape(-1))
    frames = ops.reshape(ops.gather(x, places, 1), (x.shape[0], len(starts), size, x.shape[2]))
    if window is not None:
        frames = frames * ops.reshape(window, (1, 1, -1, 1))
    return dft(frames, None, np.array(2), onesided=onesided)


@operator("MelWeightMatrix")
def mel_weight_matrix(bins: Known, length: Known, rate: Known, low: Known, high: Known, *,
                      output_datatype: int = 1) -> Any:  # fmt: skip
    """Triangles over the frequencies, evenly spaced in mel."""
    count, size = int(bins.reshape(())), int(length.reshape(())) // 2 + 1
    mel = [2595 * np.log10(1 + float(f.reshape(())) / 700) for f in (low, high)]
    edges = 700 * (10 ** ((np.arange(count + 2) * (mel[1] - mel[0]) / (count + 2) + mel[0]) / 2595) - 1)
    at = ((int(length.reshape(())) + 1) * edges // int(rate.reshape(()))).astype(int)
    out = np.zeros((size, count), np.float32)
    for i in range(count):
        a, b, c = at[i : i + 3]
        if b == a:
            out[b, i] = 1
        else:
            out[a : b + 1, i] = (np.arange(a, b + 1) - a) / (b - a)
        if c > b:
            out[b:c, i] = (c - np.arange(b, c)) / (c - b)
    return out.astype(numpy_dtype(output_datatype))


def _enter_window(name: str, *terms: float) -> None:
    @operator(name, since=17)
    def window(size: Known, *, output_datatype: int = 1, periodic: int = 1) -> Any:
        n = int(size.reshape(()))
        angle = np.arange(n) * 2 * np.pi / (n if periodic else max(n - 1, 1))
        total = sum(term * np.cos(k * angle) for k, term in enumerate(terms))
        return np.asarray(total).astype(numpy_dtype(output_datatype))


_enter_window("HannWindow", 0.5, -0.5)
_enter_window("HammingWindow", 25 / 46, -21 / 46)
_enter_window("BlackmanWindow", 0.42, -0.5, 0.08)


# ---- random numbers: from the stream that ms.set_seed seeds, whatever seed the file has ----


def _drawn(fn: Any, shape: Any, code: int | None, like: Any) -> Any:
    if code:
        dtype = dtypes.of_numpy(numpy_dtype(code))
    else:
        dtype = like.dtype if like is not None else dtypes.float32
    return fn(tuple(shape)).astype(dtype)


def _uniform(low: float, high: float) -> Any:
    return lambda shape: ops.rand(shape) * (high - low) + low


def _normal(mean: float, scale: float) -> Any:
    return lambda shape: ops.randn(shape) * scale + mean


@operator("RandomUniform", pure=False)
def random_uniform(*, shape: Any, dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: Any = None) -> Any:
    """Uniform draws."""
    return _drawn(_uniform(low, high), shape, dtype, None)


@operator("RandomUniformLike", pure=False)
def random_uniform_like(x: Any, *, dtype: int = 0, high: float = 1.0, low: float = 0.0, seed: Any = None) -> Any:
    """Uniform draws in a tensor's shape."""
    return _drawn(_uniform(low, high), x.shape, dtype, x)


@operator("RandomNormal", pure=False)
def random_normal(*, shape: Any, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: Any = None) -> Any:
    """Normal draws."""
    return _drawn(_normal(mean, scale), shape, dtype, None)


@operator("RandomNormalLike", pure=False)
def random_normal_like(x: Any, *, dtype: int = 0, mean: float = 0.0, scale: float = 1.0, seed: Any = None) -> Any:
    """Normal draws in a tensor's shape."""
    return _drawn(_normal(mean, scale), x.shape, dtype, x)


@operator("Bernoulli", pure=False)
def bernoulli(x: Tensor, *, dtype: int = 0, seed: Any = None) -> Any:
    """One with the probability that x says."""
    found = ops.rand(tuple(x.shape)) < x.astype("float32")
    return found.astype(numpy_dtype(dtype) if dtype else x.dtype)


@operator("Dropout", since=12, pure=False)
def dropout(x: Tensor, ratio: Known | None = None, training: Known | None = None, *, seed: Any = None,
            results: int = 1) -> Any:  # fmt: skip
    """In training, elements dropped and the rest scaled; and which remain."""
    p = 0.5 if ratio is None else float(ratio.reshape(()))
    if training is None or not bool(training.reshape(())) or p == 0:
        return (x, ops.ones_like(x).astype("bool"))[:results]
    mask = ops.rand(tuple(x.shape)) >= p
    return (ops.where(mask, x / (1 - p), ops.zeros_like(x)), mask)[:results]
