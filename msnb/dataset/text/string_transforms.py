"""Transforms of strings, and of rows of tokens.

Source: the pages of these classes in `mindspore.dataset.text`.
"""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Sequence
from re import Pattern
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.core import as_dtype
from msnb.dataset.pipeline import Array, check_count, describe, flag, to_array
from msnb.dataset.text.text_transform import EachString, TextTransform
from msnb.dataset.text.tokenizers import compiled
from msnb.dataset.transforms.basic import Transform

__all__ = [
    "AddToken", "CaseFold", "FilterWikipediaXML", "Ngram", "NormalizeForm", "NormalizeUTF8", "RegexReplace",
    "SlidingWindow", "ToNumber", "Truncate", "TruncateSequencePair", "to_bytes", "to_str",
]  # fmt: skip


class NormalizeForm(enum.Enum):
    """Unicode's normal forms."""

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


def check_form(form: Any, what: str) -> NormalizeForm:
    """An argument that is a NormalizeForm."""
    if not isinstance(form, NormalizeForm):
        raise ArgumentError(f"{what} takes a NormalizeForm, got {form!r}")
    return form


def normalized(string: str, form: NormalizeForm) -> str:
    """A string in a normal form."""
    return string if form is NormalizeForm.NONE else unicodedata.normalize(form.name, string)  # type: ignore[arg-type]


class NormalizeUTF8(EachString):
    """Strings in one of Unicode's normal forms.

    Args:
        normalize_form: a NormalizeForm.

    Examples:
        >>> str(NormalizeUTF8()("ﬁ ①"))
        'fi 1'
    """

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC) -> None:
        self.form: NormalizeForm = check_form(normalize_form, "NormalizeUTF8")

    def change(self, string: str) -> str:
        return normalized(string, self.form)


class CaseFold(EachString):
    """Capitals to small letters."""

    def change(self, string: str) -> str:
        return string.casefold()


class RegexReplace(EachString):
    """What a regular expression finds is replaced, everywhere or (`replace_all=False`) the first time."""

    def __init__(self, pattern: str, replace: str, replace_all: bool = True) -> None:
        self.pattern: Pattern[str] = compiled(pattern, "RegexReplace: pattern")
        self.replace: str = replace
        self.count = 0 if flag(replace_all) else 1

    def change(self, string: str) -> str:
        try:
            return self.pattern.sub(self.replace, string, count=self.count)
        except re.error as error:
            raise AttributeValueError(f"RegexReplace: replace {self.replace!r} does not fit: {error}") from None


_DIGITS = dict(zip("0123456789", ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]))
# Mahoney's filter of dumps of Wikipedia: what is found, and what stands for it
_WIKI = [(re.compile(found), other) for found, other in (
    ("<.*>", ""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("<ref[^<]*</ref>", ""), ("<[^>]*>", ""),
    (r"\[http:[^] ]*", "["), (r"\|thumb", ""), (r"\|left", ""), (r"\|right", ""), (r"\|[0-9]+px", ""),
    (r"\[\[image:[^\[\]]*\|", ""), (r"\[\[category:([^|\]]*)[^]]*\]\]", r"[[\1]]"), (r"\[\[[a-z\-]*:[^\]]*\]\]", ""),
    (r"\[\[[^|\]]*\|", "[["), (r"\{\{[^}]*\}\}", ""), (r"\{[^}]*\}", ""), (r"[\[\]]", ""), ("&[^;]*;", " "),
)]  # fmt: skip


class FilterWikipediaXML(EachString):
    """A line of a dump of Wikipedia to words of small letters: no marks, links as their titles, digits as words.

    Source: Mahoney, "About the Test Data" (wikifil.pl); `mindspore.dataset.text.FilterWikipediaXML`.

    Examples:
        >>> str(FilterWikipediaXML()("[[China|The land]] &amp; 10 Dogs"))
        'the land one zero dogs'
    """

    def change(self, string: str) -> str:
        for found, other in _WIKI:
            string = found.sub(other, string)
        spelled = "".join(f" {_DIGITS[c]} " if c in _DIGITS else c for c in string.lower())
        return " ".join(re.findall("[a-z]+", spelled))


class Ngram(TextTransform):
    """A row of tokens to all runs of n of them, joined.

    Args:
        n: a number, or several; their runs stand one after the other.
        left_pad, right_pad: (token, how many): what is put before and behind, n - 1 at the most.
        separator: what joins the tokens of a run.

    Raises:
        DatasetError: no run is that long.

    Examples:
        >>> Ngram(2, ("_", 1))(["a", "b", "c"]).tolist()
        ['_ a', 'a b', 'b c']
    """

    left: tuple[str, int]
    right: tuple[str, int]

    def __init__(
        self, n: int | Sequence[int], left_pad: tuple[str, int] = ("", 0), right_pad: tuple[str, int] = ("", 0),
        separator: str = " ",
    ) -> None:  # fmt: skip
        self.sizes: list[int] = [check_count(size, "n") for size in (n if isinstance(n, (list, tuple)) else [n])]
        if not self.sizes:
            raise AttributeValueError("Ngram: n is empty")
        self.left, self.right = (_pad(side, name) for side, name in ((left_pad, "left_pad"), (right_pad, "right_pad")))
        self.separator = separator

    def text(self, value: Array) -> Array:
        if value.ndim != 1:
            raise DatasetError(f"Ngram expects a row of tokens, got {describe(value)}")
        runs = [run for size in self.sizes for run in self._runs(value.tolist(), size)]
        if not runs:
            raise DatasetError(f"Ngram: {len(value)} tokens have no run of {self.sizes}", hint="pad them")
        return np.array(runs)

    def _runs(self, tokens: list[str], size: int) -> list[str]:
        before, behind = ([word] * min(count, size - 1) for word, count in (self.left, self.right))
        whole = [*before, *tokens, *behind]
        return [self.separator.join(whole[i : i + size]) for i in range(len(whole) - size + 1)]


def _pad(side: Any, name: str) -> tuple[str, int]:
    if not isinstance(side, (tuple, list)) or len(side) != 2 or not isinstance(side[0], str):
        raise ArgumentError(f"Ngram: {name} is (token, how many), got {side!r}")
    return side[0], check_count(side[1], name, least=0)


class SlidingWindow(Transform):
    """A row to all windows of `width` neighbours, along `axis`.

    Args:
        width: of a window. axis: the axis along which it slides; a new one of windows stands before it.
            Where it is shorter than a window the result is empty, of one axis.

    Examples:
        >>> SlidingWindow(2)([1, 2, 3]).tolist()
        [[1, 2], [2, 3]]
    """

    def __init__(self, width: int, axis: int = 0) -> None:
        self.width: int = check_count(width, "width")
        self.axis: int = axis

    def apply(self, value: Array) -> Array:
        if not -value.ndim <= self.axis < value.ndim:
            raise DatasetError(f"SlidingWindow: {describe(value)} has no axis {self.axis}")
        axis = self.axis % value.ndim
        count = value.shape[axis] - self.width + 1
        if count <= 0:
            return np.empty(0, value.dtype)
        places = np.arange(count)[:, None] + np.arange(self.width)
        return np.take(value, places, axis)


class TruncateSequencePair:
    """Two rows of tokens or numbers, cut at their ends, the longer one first, until they have `max_length` together.

    Examples:
        >>> [part.tolist() for part in TruncateSequencePair(4)([1, 2, 3], [4, 5])]
        [[1, 2], [4, 5]]
    """

    def __init__(self, max_length: int) -> None:
        self.length: int = check_count(max_length, "max_length")

    def __call__(self, first: Any, second: Any) -> tuple[Array, Array]:
        one, two = to_array(first), to_array(second)
        if one.ndim != 1 or two.ndim != 1:
            raise DatasetError(f"TruncateSequencePair expects two rows, got {describe(one)} and {describe(two)}")
        a, b = len(one), len(two)
        if a + b > self.length:
            low = min(a, b, self.length // 2)
            a, b = (self.length - low, low) if a > b else (low, self.length - low)
            if min(len(one), len(two)) > self.length // 2:  # both are cut: an odd one goes to the first
                a, b = self.length - self.length // 2, self.length // 2
        return one[:a], two[:b]


class Truncate(Transform):
    """A row of tokens or numbers, or each of several, cut to at most `max_seq_len`."""

    def __init__(self, max_seq_len: int) -> None:
        self.length: int = check_count(max_seq_len, "max_seq_len")

    def apply(self, value: Array) -> Array:
        return value[..., : self.length]


class AddToken(TextTransform):
    """One more token at the begin or end of a row of tokens, or of each of several rows.

    Args:
        token: the token. begin: where it goes: True: before the others, False: behind them.

    Examples:
        >>> AddToken("[CLS]")(["a", "b"]).tolist()
        ['[CLS]', 'a', 'b']
    """

    def __init__(self, token: str, begin: bool = True) -> None:
        if not isinstance(token, str):
            raise ArgumentError(f"AddToken: token is a string, got {token!r}")
        self.token: str = token
        self.begin: bool = flag(begin)

    def text(self, value: Array) -> Array:
        if value.ndim not in (1, 2):
            raise DatasetError(f"AddToken expects a row of tokens, or several, got {describe(value)}")
        column = np.full((*value.shape[:-1], 1), self.token)
        return np.concatenate([column, value] if self.begin else [value, column], -1)


class ToNumber(TextTransform):
    """Strings of digits to numbers of a dtype."""

    def __init__(self, data_type: Any) -> None:
        self.dtype: np.dtype[Any] = as_dtype(data_type).numpy

    def text(self, value: Array) -> Array:
        try:
            return np.asarray(value.astype(np.float64 if self.dtype.kind == "f" else np.int64).astype(self.dtype))
        except ValueError as error:
            raise DatasetError(f"ToNumber: {error}") from error


def to_bytes(array: Any, encoding: str = "utf8") -> Array:
    """An array of text as an array of bytes.

    >>> to_bytes(np.array(["a"])).tolist()
    [b'a']
    """
    value = to_array(array)
    if value.dtype.kind != "U":
        raise DatasetError(f"to_bytes expects text, got {describe(value)}")
    return np.char.encode(value, encoding)


def to_str(array: Any, encoding: str = "utf8") -> Array:
    """An array of bytes as an array of text; text, which columns are since MindSpore 2, stays as it is.

    >>> to_str(np.array([b"a"])).tolist()
    ['a']
    """
    value = to_array(array)
    if value.dtype.kind == "U":
        return value
    if value.dtype.kind != "S":
        raise DatasetError(f"to_str expects bytes, got {describe(value)}")
    try:
        return np.char.decode(value, encoding)
    except UnicodeDecodeError as error:
        raise DatasetError(f"to_str: it is no text in {encoding}: {error}") from None
