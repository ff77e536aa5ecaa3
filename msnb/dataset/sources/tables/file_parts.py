"""What layouts of files are made of: folders, lists, pictures and words, each refused in the name of its data set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DatasetError
from msnb.base.files.bounded_reader import read_file, read_text
from msnb.dataset.pipeline.rows import Array
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.vision.decode import decoded

Name = str | os.PathLike[str]


def folder_of(name: str, folder: Name) -> Path:
    """The folder of a data set, which must be there."""
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"{name}: {str(path)!r} is not a folder")
    return path


def file_in(name: str, folder: Path, *parts: str) -> Path:
    """A file of a data set, which must be there."""
    path = folder.joinpath(*parts)
    if not path.is_file():
        place = path.parent if path.parent.is_dir() else folder
        present = sorted(entry.name for entry in place.iterdir())[:10]
        raise FileNotFoundError(
            f"{name}: {'/'.join(parts)} is missing in {str(folder)!r}; {place.name} holds {present}"
        )
    return path


def chosen(name: str, argument: str, value: Any, legal: Sequence[str], default: str) -> str:
    """An argument that is one of a few words; None is the default."""
    wanted = default if value is None else value
    if wanted not in legal:
        raise AttributeValueError(f"{name}: {argument} must be one of {list(legal)}, got {value!r}")
    return str(wanted)


def text(value: Any) -> Array:
    """A string as an array."""
    return np.array(str(value))


def number(value: Any, dtype: Any = np.uint32) -> Array:
    """A number as an array."""
    return np.array(value, dtype)


def picture(name: str, path: Path, decode: bool) -> Array:
    """The bytes of a picture's file, uint8[n], or its pixels uint8[h,w,3]."""
    try:
        content = np.frombuffer(read_file(path, refusal(name, path)), np.uint8)
    except FileNotFoundError:
        raise DatasetError(f"{name}: the picture {str(path)!r} is missing.") from None
    return decoded(content, str(path)) if decode else content


def words_of(name: str, path: Path, most: int = 256 << 20) -> list[str]:
    """The lines of a list, blanks cut off, empty ones left out."""
    lines = (line.strip() for line in read_text(path, refusal(name, path), most).splitlines())
    return [line for line in lines if line]


def pictures_in(folder: Path, endings: Sequence[str] = (".jpg", ".jpeg", ".png", ".bmp")) -> list[Path]:
    """The pictures directly in a folder, in alphabetical order."""
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in endings)


def folders_in(folder: Path) -> list[Path]:
    """The folders directly in a folder, in alphabetical order."""
    return sorted(p for p in folder.iterdir() if p.is_dir())


def inner(name: str, folder: Path, relative: str) -> Path:
    """A path that a list in a data set names, which must not lead out of its folder."""
    path = folder / relative
    if "\0" in relative or not path.resolve().is_relative_to(folder.resolve()):
        raise DatasetError(f"{name}: a list names {relative!r}, which leads out of {str(folder)!r}.")
    return path
