"""Image transforms (MindSpore's `mindspore.dataset.vision`) on NumPy arrays [..., height, width, channel].

Axes before the last three are carried along, so a transform works on one image and, after `batch`, on a whole batch.
"""

from msnb.dataset.vision.chance import (
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
)
from msnb.dataset.vision.geometry import (
    CenterCrop,
    Crop,
    HorizontalFlip,
    Pad,
    Resize,
    VerticalFlip,
)
from msnb.dataset.vision.kinds import Border, Inter
from msnb.dataset.vision.pixels import CHW2HWC, HWC2CHW, Invert, Normalize, Rescale, ToTensor, ToType

__all__ = [
    "CHW2HWC",
    "HWC2CHW",
    "Border",
    "CenterCrop",
    "Crop",
    "HorizontalFlip",
    "Inter",
    "Invert",
    "Normalize",
    "Pad",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Rescale",
    "Resize",
    "ToTensor",
    "ToType",
    "VerticalFlip",
]
