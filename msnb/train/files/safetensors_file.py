"""A checkpoint file: named arrays and a few strings in the safetensors format, whole or not there at all.

Never pickle: reading a file runs no code of the file. ``base.files.tensor_file`` has the format and its checks.

Saving is atomic:  write a file aside in the same folder -> fsync -> rename over name -> fsync the folder.
Whatever stops it leaves the old file as it was; what a killed writer left goes with the next save
(``base.files.atomic_write``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msnb.base import CheckpointError
from msnb.base.files import tensor_file
from msnb.base.files.atomic_write import write_all, write_whole
from msnb.base.files.bounded_reader import MOST_JSON, Refuse, open_file, read_json, size_of
from msnb.base.files.json_schema import FLAG, TEXT, FixedRow, Rows
from msnb.core import Array

PARAMETERS, CONSTANT = "msnb.parameters", "constant "
_ROWS = Rows(FixedRow(TEXT, FLAG))
_FOREIGN = {
    b"PK\x03\x04": "It looks like a zip or PyTorch file; load_checkpoint reads PyTorch's weights.",
    b"\x80": "It looks like a pickle, which could run code when read; convert it to safetensors where it was made.",
    b"\n": "It may be a protobuf .ckpt of MindSpore that was cut short or changed; copy it again.",
}


class MissingCheckpoint(CheckpointError, FileNotFoundError):
    """There is no file of that name."""


# ---- bytes ----


def encode(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    """The file's content for these arrays and strings."""

    def refuse(why: str, hint: str = "") -> CheckpointError:
        return CheckpointError(f"this cannot be written: {why}.", hint=hint)

    return tensor_file.encode(arrays, metadata, refuse)


def decode(content: bytes, path: str) -> tuple[dict[str, Array], dict[str, str]]:
    """Arrays (read-only views of ``content``) and strings of a file.

    Raises:
        CheckpointError: the content is not whole, not safetensors, or was changed after it was written.
    """
    _need_own_kind(content[:8], len(content), path)
    return tensor_file.decode(content, damaged(path))


def damaged(path: str) -> Callable[..., CheckpointError]:
    """What makes the error of a file that cannot be read."""

    def refuse(why: str, hint: str = "") -> CheckpointError:
        hint = f"{hint} Nothing was loaded from it." if hint else "nothing was loaded from it."
        return CheckpointError(f"the checkpoint {path!r} cannot be read: {why}.", hint=hint)

    return refuse


def parameter_rows(note: str, arrays: Mapping[str, Array], refuse: Refuse) -> list[tuple[str, bool]]:
    """The Parameters of a file in their order, and whether each wants a gradient, from its note ``PARAMETERS``.

    Raises:
        What ``refuse`` makes: the note does not name every array that is no constant of a program, once.
    """
    rows = read_json(note, refuse, _ROWS, f"the note {PARAMETERS}")
    names = [name for name, _ in rows]
    absent = sorted(set(names) - set(arrays)) or sorted(
        name for name in set(arrays) - set(names) if not name.startswith(CONSTANT)
    )
    if absent or len(set(names)) < len(names):
        found = f"{absent[0]!r} is missing in one of them" if absent else "a name stands there twice"
        raise refuse(f"the note {PARAMETERS} does not name its arrays: {found}")
    return [(name, wanted) for name, wanted in rows]


def _need_own_kind(first: bytes, total: int, path: str) -> None:
    """Other programs' files get advice."""
    if len(first) < 8 or int.from_bytes(first, "little") <= min(total - 8, MOST_JSON):
        return
    for magic, advice in _FOREIGN.items():
        if first.startswith(magic):
            raise CheckpointError(f"{path!r} is not a checkpoint in the safetensors format.", hint=advice)


# ---- files ----


def read(path: str) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays and strings of a file.

    Raises:
        CheckpointError: there is none (also a FileNotFoundError), or it is damaged, as for ``decode``.
    """
    need_file(path)
    refuse = damaged(path)
    with open_file(path, refuse) as file:
        _need_own_kind(file.read(8), size_of(file), path)
    return tensor_file.read(path, refuse)


def need_file(path: str) -> None:
    """Raise MissingCheckpoint (also a FileNotFoundError) where there is no such file."""
    if not os.path.isfile(path):
        folder = Path(path).parent
        near = sorted(p.name for p in folder.glob("*") if p.suffix in (".ckpt", ".safetensors"))[:8]
        hint = f"the folder has: {', '.join(near)}." if near else f"the folder {str(folder)!r} has no checkpoints."
        raise MissingCheckpoint(f"there is no checkpoint file {path!r}.", hint=hint)


def write(path: str, content: bytes) -> None:
    """Put ``content`` into the file ``path``, all of it or nothing: until the last moment the old file stays."""
    os.makedirs(os.path.dirname(os.path.realpath(path)), exist_ok=True)
    write_whole(path, lambda file: write_all(file.fileno(), content))
