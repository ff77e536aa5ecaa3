"""Functions of pictures below ``mindspore.dataset.vision``: each is the transform of its name, called at once."""

import sys
from functools import partial
from typing import Any

import numpy as np

from msnb.dataset import vision

_CLASSES = {"auto_contrast": "AutoContrast", "hwc_to_chw": "HWC2CHW", "to_pil": "ToPIL", "to_tensor": "ToTensor"}
_NAMES = (
    "adjust_brightness adjust_contrast adjust_saturation center_crop crop equalize grayscale horizontal_flip pad "
    "resize vertical_flip"
)
augment_error_message = "the picture must be one of Pillow's, not {}."


def is_numpy(img: Any) -> bool:
    """Whether a picture is an array."""
    return isinstance(img, np.ndarray)


def is_pil(img: Any) -> bool:
    """Whether a picture is one of Pillow's."""
    return "PIL.Image" in sys.modules and isinstance(img, sys.modules["PIL.Image"].Image)


class PyTensorOperation:
    """The base of a program's own transforms: calling one calls its ``_execute_py``."""

    transforms: Any = ()
    output_type: Any = None

    def __call__(self, img: Any) -> Any:
        """What the transform makes of a picture."""
        return self._execute_py(img)  # type: ignore[attr-defined]


for _name in (*_CLASSES, *_NAMES.split()):
    _class = getattr(vision, _CLASSES.get(_name) or _name.title().replace("_", ""))
    globals()[_name] = partial(lambda transform, img, *args, **named: transform(*args, **named)(img), _class)
