"""What knows no tensor: errors, settings, events, the disk cache, places in the user's code."""

from msnb.base.compile_timing import timed
from msnb.base.device_registry import register_device
from msnb.base.errors import (
    ArgumentError,
    AttributeValueError,
    CaptureError,
    CheckpointError,
    ContextError,
    DatasetError,
    DeviceError,
    DTypeError,
    GradientError,
    MsnbError,
    OutOfMemoryError,
    ShapeError,
    VerifyError,
    reraise_interrupt,
)
from msnb.base.events import notice, op_listeners
from msnb.base.missing_names import MissingName, public_names
from msnb.base.settings import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    Setting,
    get_context,
    in_graph_mode,
    is_int,
    is_number,
    set_context,
)
from msnb.base.source_location import PACKAGE_DIR, Origin, Where

__all__ = [
    "ArgumentError", "AttributeValueError", "CaptureError", "CheckpointError", "ContextError", "DTypeError",
    "DatasetError", "DeviceError", "GRAPH_MODE", "GradientError", "MissingName", "MsnbError", "Origin",
    "OutOfMemoryError", "PACKAGE_DIR", "PYNATIVE_MODE", "Setting", "ShapeError", "VerifyError", "Where", "get_context",
    "in_graph_mode", "is_int", "is_number", "notice", "op_listeners", "public_names", "register_device",
    "reraise_interrupt", "set_context", "timed",
]  # fmt: skip
