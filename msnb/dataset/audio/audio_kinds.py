"""What transforms of sounds share: the one idea of what a sound is.

A sound is [..., time]: the last axis runs in time, all others are channels and batches. Results are float32, or float64
for float64.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.dataset.pipeline.rows import Array, describe
from msnb.dataset.transforms.basic import Transform


class SoundTransform(Transform):
    """A transform of [..., time]: subclasses define `sound(array of floats) -> array`."""

    axes = 1  # the fewest that it takes
    result: np.dtype[Any] | None = None  # the dtype of its floats; None: as what it is given

    def apply(self, value: Array) -> Any:
        if value.dtype.kind not in "iufb" or value.ndim < self.axes:
            raise DatasetError(f"{type(self).__name__} expects numbers [..., {self._shape()}], got {describe(value)}")
        given = value if value.dtype in (np.float32, np.float64) else value.astype(np.float32)
        return cast_back(self.sound(given.astype(np.float64)), self.result or given.dtype)

    def sound(self, value: Array) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define sound(array)")

    def _shape(self) -> str:
        return {1: "time", 2: "frequency, time", 3: "frequency, time, 2"}[self.axes]


class ComplexTransform(SoundTransform):
    """A transform of complex numbers, real and imaginary parts on the last axis."""

    def apply(self, value: Array) -> Any:
        if value.ndim < max(self.axes, 1) or value.shape[-1] != 2:
            raise DatasetError(f"{type(self).__name__} expects complex numbers [..., 2], got {describe(value)}")
        return super().apply(value)


def cast_back(value: Any, dtype: np.dtype[Any]) -> Any:
    """Floats in the type that came in; whole numbers as they are."""
    if isinstance(value, tuple):
        return tuple(cast_back(part, dtype) for part in value)
    return value.astype(dtype) if value.dtype.kind == "f" else value


def joined(value: Array) -> Array:
    """Real and imaginary parts on the last axis, as complex numbers."""
    return value[..., 0] + 1j * value[..., 1]


def parted(value: Array) -> Array:
    """Complex numbers as real and imaginary parts on a new last axis."""
    return np.stack([value.real, value.imag], -1)


def check_real(value: Any, what: str, low: float = -math.inf, high: float = math.inf, open_low: bool = False) -> float:
    """A finite number in low..high; ``open_low``: above low."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ArgumentError(f"{what} is a number, got {type(value).__name__} {value!r}")
    if not math.isfinite(value) or not low <= value <= high or (open_low and value == low):
        raise AttributeValueError(f"{what} lies in {low}..{high}{' and above' if open_low else ''}, got {value}")
    return float(value)


def check_kind(value: Any, kind: type[enum.Enum], what: str) -> Any:
    """An argument that is one of a kind."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{what} is one of {kind.__name__}, got {value!r}")
    return value
