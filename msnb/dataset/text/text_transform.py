"""What transforms of text share: a column of text holds NumPy strings, one per row or a row of tokens.

A tokenizer gives tokens; with offsets also where each begins and ends, counted in bytes of UTF-8:

    "aé b"  ->  ["aé", "b"], [0, 4], [3, 5]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from msnb.base import DatasetError
from msnb.dataset.pipeline import Array, describe, flag
from msnb.dataset.transforms.basic import Transform

Span = tuple[int, int]


class TextTransform(Transform):
    """A transform of text: subclasses define `text(array of str) -> array`."""

    def apply(self, value: Array) -> Any:
        if value.dtype.kind not in "US":
            raise DatasetError(f"{type(self).__name__} expects text, got {describe(value)}")
        return self.text(value.astype(str))

    def text(self, value: Array) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define text(array)")

    def one(self, value: Array) -> str:
        """The single string of a row."""
        if value.ndim:
            raise DatasetError(f"{type(self).__name__} expects one string per row, got {describe(value)}")
        return str(value)


class EachString(TextTransform):
    """A transform of each string on its own: subclasses define `change(str) -> str`."""

    def text(self, value: Array) -> Array:
        return np.array([self.change(str(token)) for token in value.ravel()], np.str_).reshape(value.shape)

    def change(self, string: str) -> str:
        raise NotImplementedError(f"{type(self).__name__} must define change(string)")


class Tokenizer(TextTransform):
    """A string to tokens: subclasses define `spans(str)`, where tokens begin and end, or `split` itself.

    Args:
        with_offsets: give three columns: tokens, where each begins, where it ends (uint32, bytes of UTF-8).
    """

    def __init__(self, with_offsets: bool = False) -> None:
        self.with_offsets: bool = flag(with_offsets)

    def spans(self, string: str) -> Iterable[Span]:
        raise NotImplementedError(f"{type(self).__name__} must define spans(string)")

    def split(self, string: str) -> tuple[str, Sequence[tuple[str, Span]]]:
        """The string that the places refer to, and the tokens with their places."""
        return string, [(string[start:stop], (start, stop)) for start, stop in self.spans(string)]

    def text(self, value: Array) -> Any:
        string, found = self.split(self.one(value))
        return tokens_of(string, found, self.with_offsets)


def tokens_of(string: str, found: Sequence[tuple[str, Span]], with_offsets: bool) -> Any:
    """Tokens, and if asked where they are in the bytes of the string; one empty token where there is none."""
    tokens = np.array([token for token, _ in found] or [""])
    if not with_offsets:
        return tokens
    places = np.cumsum([0, *(len(c.encode("utf-8", "surrogatepass")) for c in string)])
    spans = [span for _, span in found] or [(0, 0)]
    return tokens, places[[a for a, _ in spans]].astype(np.uint32), places[[b for _, b in spans]].astype(np.uint32)
