"""Vectors of words out of files, and words to their vectors.

    ok 0.1 0.2          one word per line and its numbers, in files of GloVe, FastText and others; a first line of
    no 0.3 0.4          two numbers (how many words, how many numbers) is passed over
    2gram-ab 0.5 0.6    CharNGram: runs of 2 to 4 characters; a word is the mean of its runs

Source: Pennington et al. 2014; Bojanowski et al. 2016 (arXiv:1607.04606); Hashimoto et al. 2017 (arXiv:1611.01587);
`mindspore.dataset.text`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.base.files.bounded_reader import open_file
from msnb.dataset.pipeline import Array, check_count, flag
from msnb.dataset.text.text_transform import TextTransform

__all__ = ["CharNGram", "FastText", "GloVe", "ToVectors", "Vectors"]

_V = TypeVar("_V", bound="Vectors")
_LONGEST = 1 << 20  # bytes of a line


class Vectors:
    """Words and their vectors.

    Examples:
        >>> Vectors({"a": np.array([1.0, 2.0], np.float32)}).dim
        2
    """

    ending: str | None = None

    def __init__(self, vectors: Mapping[str, Array]) -> None:
        if not vectors:
            raise AttributeValueError(f"{type(self).__name__}: there is no vector")
        self._vectors = dict(vectors)
        self.dim: int = len(next(iter(vectors.values())))

    @classmethod
    def from_file(cls: type[_V], file_path: str | os.PathLike[str], max_vectors: int | None = None) -> _V:
        """The vectors of a text file.

        Args:
            file_path: the file. max_vectors: so many at the most; default: all.

        Raises:
            FileNotFoundError: there is none. DatasetError: a line has other numbers; the error names it.
        """
        path = Path(file_path)
        most = None if max_vectors is None else check_count(max_vectors, "max_vectors", least=0) or None
        if cls.ending is not None and path.suffix != cls.ending:
            raise AttributeValueError(f"{cls.__name__} reads files {cls.ending}, got {path.name!r}")
        return cls(_read(cls.__name__, path, most))

    def lookup(self, word: str) -> Array | None:
        """The vector of a word, or None."""
        return self._vectors.get(word)

    def __len__(self) -> int:
        return len(self._vectors)


class GloVe(Vectors):
    """Vectors of GloVe's files; see `Vectors`."""

    ending: str = ".txt"


class FastText(Vectors):
    """Vectors of FastText's files (.vec); see `Vectors`."""

    ending: str = ".vec"


class CharNGram(Vectors):
    """Vectors of runs of characters; the vector of a word is the mean of those of its runs; see `Vectors`."""

    ending: str = ".txt"

    def lookup(self, word: str) -> Array | None:
        chars = ["#BEGIN#", *word, "#END#"]
        names = [f"{n}gram-{''.join(chars[i : i + n])}" for n in (2, 3, 4) for i in range(len(chars) - n + 1)]
        found = [self._vectors[name] for name in names if name in self._vectors]
        return np.asarray(np.mean(found, 0), np.float32) if found else None


def _read(name: str, path: Path, most: int | None) -> dict[str, Array]:
    def refuse(why: str, hint: str = "") -> DatasetError:
        return DatasetError(f"{name}: {str(path)!r} cannot be read: {why}.", hint=hint)

    found: dict[str, Array] = {}
    width = 0
    with open_file(path, refuse) as file:
        for number in range(1 << 62):
            line = file.readline(_LONGEST)
            if not line or len(found) == most:
                return found
            fields = line.rstrip().split(b" ") if len(line) < _LONGEST else []
            if number == 0 and len(fields) == 2 and all(field.isdigit() for field in fields):
                continue
            vector = _vector(fields[1:])
            if vector is None or (width and len(vector) != width):
                raise refuse(f"line {number + 1} is no word and {width or 'some'} numbers")
            width = len(vector)
            try:
                found.setdefault(fields[0].decode(), vector)
            except UnicodeDecodeError:
                raise refuse(f"the word of line {number + 1} is no text in UTF-8") from None
    return found


def _vector(fields: Sequence[bytes]) -> Array | None:
    try:
        return np.array([float(field) for field in fields], np.float32) if fields else None
    except ValueError:
        return None


class ToVectors(TextTransform):
    """Tokens to their vectors, float32[..., dim].

    Args:
        vectors: a Vectors. unk_init: the vector of unknown tokens; default: zeros.
        lower_case_backup: look for small letters where the token itself is unknown.

    Examples:
        >>> ToVectors(Vectors({"a": np.array([1.0, 2.0], np.float32)}))(["a", "b"]).tolist()
        [[1.0, 2.0], [0.0, 0.0]]
    """

    def __init__(
        self, vectors: Vectors, unk_init: Sequence[float] | None = None, lower_case_backup: bool = False
    ) -> None:
        if not isinstance(vectors, Vectors):
            raise ArgumentError(f"ToVectors takes Vectors, got {type(vectors).__name__}")
        self.vectors: Vectors = vectors
        self.backup: bool = flag(lower_case_backup)
        self.unknown: Any = np.zeros(vectors.dim, np.float32) if unk_init is None else np.asarray(unk_init, np.float32)
        if self.unknown.shape != (vectors.dim,):
            raise AttributeValueError(f"ToVectors: unk_init is {self.unknown.shape}, vectors have {vectors.dim}")

    def text(self, value: Array) -> Array:
        found = [self._one(str(token)) for token in value.ravel()]
        return np.array(found, np.float32).reshape(*value.shape, self.vectors.dim)

    def _one(self, token: str) -> Array:
        found: Any = self.vectors.lookup(token)
        if found is None and self.backup:
            found = self.vectors.lookup(token.lower())
        return self.unknown if found is None else np.asarray(found)
