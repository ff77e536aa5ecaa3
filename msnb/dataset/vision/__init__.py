"""Image transforms (MindSpore's `mindspore.dataset.vision`) on NumPy arrays [..., height, width, channel].

Axes before the last three are carried along, so a transform works on one image and, after `batch`, on a whole batch.
"""

from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.dataset.picture_files import (
    ImageReadMode,
    encode_jpeg,
    encode_png,
    get_image_num_channels,
    get_image_size,
    read_file,
    read_image,
    write_file,
    write_jpeg,
    write_png,
)
from msnb.dataset.vision import chain_records
from msnb.dataset.vision.boxes import (
    BoundingBoxAugment,
    RandomCropWithBBox,
    RandomHorizontalFlipWithBBox,
    RandomResizedCropWithBBox,
    RandomResizeWithBBox,
    RandomVerticalFlipWithBBox,
    ResizeWithBBox,
)
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
from msnb.dataset.vision.geometry import CenterCrop, Crop, HorizontalFlip, Pad, Resize, VerticalFlip
from msnb.dataset.vision.mixing import CutMixBatch, ImageBatchFormat, MixUp, MixUpBatch
from msnb.dataset.vision.patches import (
    CutOut,
    Erase,
    FiveCrop,
    LinearTransformation,
    NormalizePad,
    PadToSize,
    RandomErasing,
    ResizedCrop,
    SliceMode,
    SlicePatches,
    TenCrop,
)
from msnb.dataset.vision.pixel_values import CHW2HWC, HWC2CHW, Invert, Normalize, Rescale, ToTensor, ToType
from msnb.dataset.vision.policies import (
    AutoAugment,
    AutoAugmentPolicy,
    RandAugment,
    RandomSelectSubpolicy,
    TrivialAugmentWide,
    UniformAugment,
)
from msnb.dataset.vision.random import (
    RandomCrop,
    RandomHorizontalFlip,
    RandomResize,
    RandomResizedCrop,
    RandomVerticalFlip,
)
from msnb.dataset.vision.tones import (
    AdjustGamma,
    AdjustSharpness,
    AutoContrast,
    ConvertColor,
    ConvertMode,
    Equalize,
    GaussianBlur,
    HsvToRgb,
    Posterize,
    RandomAdjustSharpness,
    RandomAutoContrast,
    RandomColor,
    RandomEqualize,
    RandomInvert,
    RandomLighting,
    RandomPosterize,
    RandomSharpness,
    RandomSolarize,
    RgbToHsv,
    Solarize,
)
from msnb.dataset.vision.warp import Affine, Perspective, RandomAffine, RandomPerspective, RandomRotation, Rotate

__all__ = [
    "AdjustBrightness", "AdjustContrast", "AdjustGamma", "AdjustHue", "AdjustSaturation", "AdjustSharpness",
    "Affine", "AutoAugment", "AutoAugmentPolicy", "AutoContrast", "Border", "BoundingBoxAugment", "CHW2HWC",
    "CenterCrop", "ConvertColor", "ConvertMode", "Crop", "CutMixBatch", "CutOut", "Decode", "Equalize", "Erase",
    "FiveCrop", "GaussianBlur", "Grayscale", "HWC2CHW", "HorizontalFlip", "HsvToRgb", "ImageBatchFormat",
    "ImageReadMode", "Inter", "Invert", "LinearTransformation", "MixUp", "MixUpBatch", "Normalize",
    "NormalizePad", "Pad", "PadToSize", "Perspective", "Posterize", "RandAugment", "RandomAdjustSharpness",
    "RandomAffine", "RandomAutoContrast", "RandomColor", "RandomColorAdjust", "RandomCrop",
    "RandomCropDecodeResize", "RandomCropWithBBox", "RandomEqualize", "RandomErasing", "RandomGrayscale",
    "RandomHorizontalFlip", "RandomHorizontalFlipWithBBox", "RandomInvert", "RandomLighting",
    "RandomPerspective", "RandomPosterize", "RandomResize", "RandomResizeWithBBox", "RandomResizedCrop",
    "RandomResizedCropWithBBox", "RandomRotation", "RandomSelectSubpolicy", "RandomSharpness", "RandomSolarize",
    "RandomVerticalFlip", "RandomVerticalFlipWithBBox", "Rescale", "Resize", "ResizeWithBBox", "ResizedCrop",
    "RgbToHsv", "Rotate", "SliceMode", "SlicePatches", "Solarize", "TenCrop", "ToNumpy", "ToPIL", "ToTensor",
    "ToType", "TrivialAugmentWide", "UniformAugment", "VerticalFlip", "encode_jpeg", "encode_png",
    "get_image_num_channels", "get_image_size", "read_file", "read_image", "write_file", "write_jpeg",
    "write_png",
]  # fmt: skip


chain_records.enter_all()

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        return missing_names.attribute(__name__, name)
