"""PyTorch's files of weights, written instruction by instruction: no PyTorch is needed, and lies can be told."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

KINDS = {"float32": "FloatStorage", "float64": "DoubleStorage", "float16": "HalfStorage", "int64": "LongStorage",
         "bool": "BoolStorage"}  # fmt: skip


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def numbers(values: Any) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def tensor(key: str, array: np.ndarray[Any, Any], **lies: Any) -> bytes:
    """The instructions of a tensor; ``lies`` replace shape, strides, count."""
    strides = tuple(s // array.itemsize for s in array.strides)
    said = {"shape": array.shape, "strides": strides, "count": array.size, "offset": 0, **lies}
    kind = KINDS[array.dtype.name].encode()
    storage = (
        b"(" + text("storage") + b"ctorch\n" + kind + b"\n" + text(key) + text("cpu") + number(said["count"]) + b"tQ"
    )
    hooks = b"\x89" + b"ccollections\nOrderedDict\n)R"
    parts = number(said["offset"]) + numbers(said["shape"]) + numbers(said["strides"])
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + parts + hooks + b"tR"


def state(arrays: Mapping[str, Any], **lies: Any) -> bytes:
    """The instructions of a dict of tensors."""
    pairs = b"".join(text(name) + tensor(str(i), array, **lies) for i, (name, array) in enumerate(arrays.items()))
    return b"\x80\x02}(" + pairs + b"u."


def saved(
    path: Path, arrays: Mapping[str, Any], code: bytes = b"", packed: int = zipfile.ZIP_STORED, **lies: Any
) -> str:
    """A file of these tensors, or of other instructions."""
    with zipfile.ZipFile(path, "w", packed) as archive:
        archive.writestr("archive/data.pkl", code or state(arrays, **lies))
        archive.writestr("archive/byteorder", "little")
        for i, array in enumerate(arrays.values()):
            archive.writestr(f"archive/data/{i}", np.ascontiguousarray(array).tobytes())
    return str(path)
