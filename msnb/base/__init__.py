"""What knows no tensor: errors, settings, events, the disk cache, places in the user's code."""

from msnb.base.compile_timing import timed
from msnb.base.errors import (
    ArgumentError,
    AttributeValueError,
    CaptureError,
    CheckpointError,
    DatasetError,
    DeviceError,
    DTypeError,
    GradientError,
    MsnbError,
    ShapeError,
    reraise_interrupt,
)
from msnb.base.events import notice
from msnb.base.missing_names import public_names
from msnb.base.settings import PYNATIVE_MODE, get_context, set_context

__all__ = [
    "ArgumentError", "AttributeValueError", "CaptureError", "CheckpointError", "DTypeError", "DatasetError",
    "DeviceError", "GradientError", "MsnbError", "PYNATIVE_MODE", "ShapeError", "get_context", "notice",
    "public_names", "reraise_interrupt", "set_context", "timed",
]  # fmt: skip
