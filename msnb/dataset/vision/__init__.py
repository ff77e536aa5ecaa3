"""Image transforms (MindSpore's `mindspore.dataset.vision`) on NumPy arrays [..., height, width, channel].

Axes before the last three are carried along, so a transform works on one image and, after `batch`, on a whole batch.
"""

from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.dataset.vision.color import (
    AdjustBrightness,
    AdjustContrast,
    AdjustHue,
    AdjustSaturation,
    Grayscale,
    RandomColorAdjust,
    RandomGrayscale,
)
from msnb.dataset.vision.decode import Decode, RandomCropDecodeResize, ToNumpy, ToPIL
from msnb.dataset.vision.enums import Border, Inter
from msnb.dataset.vision.geometry import (
    CenterCrop,
    Crop,
    HorizontalFlip,
    Pad,
    Resize,
    VerticalFlip,
)
from msnb.dataset.vision.pixel_values import CHW2HWC, HWC2CHW, Invert, Normalize, Rescale, ToTensor, ToType
from msnb.dataset.vision.random import RandomCrop, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip

__all__ = [
    "CHW2HWC", "HWC2CHW", "AdjustBrightness", "AdjustContrast", "AdjustHue", "AdjustSaturation", "Border", "CenterCrop",
    "Crop", "Decode", "Grayscale", "HorizontalFlip", "Inter", "Invert", "Normalize", "Pad", "RandomColorAdjust",
    "RandomCrop", "RandomCropDecodeResize", "RandomGrayscale", "RandomHorizontalFlip", "RandomResizedCrop",
    "RandomVerticalFlip", "Rescale", "Resize", "ToNumpy", "ToPIL", "ToTensor", "ToType", "VerticalFlip",
]  # fmt: skip


if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        return missing_names.attribute(__name__, name)
