"""MindSpore's kinds of borders, noises, scales and windows of sounds."""

import enum

__all__ = [
    "BorderType", "DensityFunction", "FadeShape", "GainType", "Interpolation", "MelType", "Modulation", "NormMode",
    "NormType", "ResampleMethod", "ScaleType", "WindowType",
]  # fmt: skip


class BorderType(enum.Enum):
    """How a border is filled; the values are NumPy's names."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class DensityFunction(enum.Enum):
    """Shapes of noise for `Dither`: a triangle, a rectangle, a bell."""

    TPDF = "TPDF"
    RPDF = "RPDF"
    GPDF = "GPDF"


class FadeShape(enum.Enum):
    """Curves of `Fade`."""

    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"
    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


class GainType(enum.Enum):
    """What the gain of `Vol` is."""

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


class Interpolation(enum.Enum):
    """Between samples, in `Flanger`."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"


class MelType(enum.Enum):
    """Two scales of pitch."""

    HTK = "htk"
    SLANEY = "slaney"


class Modulation(enum.Enum):
    """Waves that modulate."""

    SINUSOIDAL = "sinusoidal"
    TRIANGULAR = "triangular"


class NormMode(enum.Enum):
    """Norms of a cosine transform."""

    ORTHO = "ortho"
    NONE = "none"


class NormType(enum.Enum):
    """Norms of triangles of a filter bank: each of area one (SLANEY), or height one."""

    SLANEY = "slaney"
    NONE = "none"


class ResampleMethod(enum.Enum):
    """Windows of `Resample`."""

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


class ScaleType(enum.Enum):
    """What `AmplitudeToDB` is given: powers or magnitudes."""

    POWER = "power"
    MAGNITUDE = "magnitude"


class WindowType(enum.Enum):
    """Windows of a spectrogram."""

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"
