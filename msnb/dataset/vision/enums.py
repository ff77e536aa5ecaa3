"""MindSpore's enums of images."""

import enum

__all__ = ["Border", "Inter"]


class Inter(enum.Enum):
    """Interpolation of `Resize`."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    LINEAR = BILINEAR
    BICUBIC = "bicubic"
    CUBIC = BICUBIC
    AREA = "area"
    PILCUBIC = "smooth_cubic"
    ANTIALIAS = "antialias"


ANY_INTERPOLATION = (Inter.BILINEAR, Inter.NEAREST, Inter.BICUBIC, Inter.AREA)
"""What a random resizing draws from, as in MindSpore."""


class Border(enum.Enum):
    """How `Pad` fills the new border; the values are NumPy's names."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"
