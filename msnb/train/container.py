"""A checkpoint file: named arrays and a few strings in the safetensors format, whole or not there at all.

    8 bytes: length n | n bytes: JSON header {name: dtype, shape, offsets} + __metadata__ | the arrays' bytes

Never pickle: reading a file runs no code of the file. The metadata carry a CRC-32 of everything that matters (names,
dtypes, shapes, bytes, the other metadata), so that a flipped bit anywhere is found, not trained on. Files of other
programs have none and are read with the format's own checks.

Saving is atomic:  write a file aside in the same folder -> fsync -> rename over name -> fsync the folder.
Whatever stops it leaves the old file as it was; what a killed writer left goes with the next save (``core.aside``).
Complex arrays are stored as pairs of floats, with a note.
Source: https://github.com/huggingface/safetensors (format)
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from msnb.core.aside import aside, remove_leftovers, write_all
from msnb.core.errors import CheckpointError

Array = NDArray[Any]
FORMAT, CRC, COMPLEX = "msnb", "msnb.crc32", "msnb.complex"
_STORED: dict[str, Any] = {
    "BOOL": np.bool_, "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64,
    "U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64,
    "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64, "C64": np.complex64,
}  # fmt: skip
_FOREIGN = {
    b"PK\x03\x04": "It looks like a zip or PyTorch file; export it with safetensors.torch.save_file first.",
    b"\x80": "It looks like a pickle, which could run code when read; convert it to safetensors where it was made.",
    b"\n": "It may be a protobuf .ckpt of MindSpore; convert it there with mindspore.ckpt_to_safetensors.",
}


class MissingCheckpoint(CheckpointError, FileNotFoundError):
    """There is no file of that name."""


# ---- bytes ---------------------------------------------------------------------------------------------------------


def encode(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    """The file's content for these arrays and strings."""
    from safetensors.numpy import save

    plain = {name: _as_floats(a) for name, a in arrays.items()}
    pairs = [name for name, a in arrays.items() if a.dtype.kind == "c"]
    notes = {**metadata, "format": FORMAT} | ({COMPLEX: json.dumps(pairs)} if pairs else {})
    notes[CRC] = _checksum(plain, notes)
    return save(plain, metadata=notes)


def decode(content: bytes, path: str) -> tuple[dict[str, Array], dict[str, str]]:
    """Arrays (read-only views of ``content``) and strings of a file.

    Raises:
        CheckpointError: the content is not whole, not safetensors, or was changed after it was written.
    """
    metadata = _header(content, path)
    arrays = _parse(content, path)
    if metadata.get("format") == FORMAT and metadata.pop(CRC, None) != _checksum(arrays, metadata):
        raise _damaged(path, "its checksum does not match its content: some bytes changed after it was written")
    pairs = json.loads(metadata.pop(COMPLEX, "[]"))
    for name in pairs:
        arrays[name] = _as_complex(arrays[name])
    metadata.pop("format", None)
    return arrays, metadata


def _as_floats(array: Array) -> Array:
    array = np.asarray(array, order="C")
    if array.dtype.kind != "c":
        return array
    half = np.float32 if array.dtype.itemsize == 8 else np.float64
    return array.reshape(*array.shape, 1).view(half)


def _as_complex(array: Array) -> Array:
    whole = np.complex64 if array.dtype.itemsize == 4 else np.complex128
    return array.view(whole).reshape(array.shape[:-1])


def _checksum(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> str:
    crc = zlib.crc32(json.dumps(sorted(metadata.items())).encode())
    for name in sorted(arrays):
        a = arrays[name]
        crc = zlib.crc32(json.dumps([name, a.dtype.name, a.shape]).encode(), crc)
        crc = zlib.crc32(a.tobytes(), crc)
    return f"{crc:08x}"


def _damaged(path: str, why: str) -> CheckpointError:
    return CheckpointError(f"the checkpoint {path!r} cannot be read: {why}.", hint="nothing was loaded from it.")


def _header(content: bytes, path: str) -> dict[str, str]:
    """The strings in the header, after a check that the header is there and whole."""
    if len(content) < 8:
        raise _damaged(path, f"it has only {len(content)} bytes, not even a header; it was probably cut short")
    length = int.from_bytes(content[:8], "little")
    if length > len(content) - 8:
        for magic, advice in _FOREIGN.items():
            if content.startswith(magic):
                raise CheckpointError(f"{path!r} is not a checkpoint in the safetensors format.", hint=advice)
        why = f"its header needs {length} bytes and {len(content) - 8} are there; it was cut short or changed"
        raise _damaged(path, why)
    try:
        header = json.loads(content[8 : 8 + length])
    except ValueError:
        raise _damaged(path, "its header is not text that can be parsed") from None
    found = header.get("__metadata__", {}) if isinstance(header, dict) else None
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise _damaged(path, "its header does not describe tensors")
    return dict(found)


def _parse(content: bytes, path: str) -> dict[str, Array]:
    import safetensors

    parse: Any = safetensors.deserialize
    try:
        entries = parse(content)
    except (safetensors.SafetensorError, ValueError, OverflowError) as error:
        raise _damaged(path, f"the sizes in its header do not fit its {len(content)} bytes ({error})") from None
    return {name: _array(name, entry, path) for name, entry in entries}


def _array(name: str, entry: Mapping[str, Any], path: str) -> Array:
    stored = _STORED.get(entry["dtype"])
    if stored is None:
        raise CheckpointError(
            f"{name} in the checkpoint {path!r} has the dtype {entry['dtype']}, which no tensor of msnb has.",
            hint=f"legal: {', '.join(_STORED)}.",
        )
    found: Array = np.frombuffer(entry["data"], dtype=stored).reshape(entry["shape"])
    return found


# ---- files ---------------------------------------------------------------------------------------------------------


def read(path: str) -> bytes:
    """The content of a file. Raises a CheckpointError that is also a FileNotFoundError if there is none."""
    if not os.path.isfile(path):
        folder = Path(path).parent
        near = sorted(p.name for p in folder.glob("*") if p.suffix in (".ckpt", ".safetensors"))[:8]
        hint = f"the folder has: {', '.join(near)}." if near else f"the folder {str(folder)!r} has no checkpoints."
        raise MissingCheckpoint(f"there is no checkpoint file {path!r}.", hint=hint)
    return Path(path).read_bytes()


def write(path: str, content: bytes) -> None:
    """Put ``content`` into the file ``path``, all of it or nothing: until the last moment the old file stays."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    remove_leftovers(folder)
    with aside(folder, os.path.basename(target)) as (handle, temporary):
        write_all(handle, content)
        os.fsync(handle)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    _sync_folder(folder)


def _mode(target: str) -> int:
    """The permissions of the file that is replaced, or what a new file would get."""
    if os.path.exists(target):
        return os.stat(target).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable, where folders can be opened (not on Windows)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
