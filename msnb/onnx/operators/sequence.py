"""Sequences (lists), optionals (None or a value), and texts, which are known before a program runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.core import Tensor
from msnb.onnx.operator_table import Known, operator, tensor
from msnb.onnx.operators.shape_manipulation import concat, ints


@operator("SequenceConstruct")
def sequence_construct(*xs: Any) -> Any:
    """A list."""
    return (list(xs),)


@operator("SequenceEmpty")
def sequence_empty(*, dtype: int = 1) -> Any:
    """An empty list."""
    return ([],)


@operator("SequenceInsert")
def sequence_insert(xs: Any, x: Any, place: Known | None = None) -> Any:
    """A list with one more."""
    at = len(xs) if place is None else int(place.reshape(()))
    at = at if at >= 0 else len(xs) + at
    return ([*xs[:at], x, *xs[at:]],)


@operator("SequenceErase")
def sequence_erase(xs: Any, place: Known | None = None) -> Any:
    """A list with one less."""
    at = (len(xs) - 1 if place is None else int(place.reshape(()))) % len(xs)
    return ([*xs[:at], *xs[at + 1 :]],)


@operator("SequenceAt")
def sequence_at(xs: Any, place: Known) -> Any:
    """An element."""
    return xs[int(place.reshape(()))]


@operator("SequenceLength")
def sequence_length(xs: Any) -> Any:
    """How many elements."""
    return np.array(len(xs), np.int64)


@operator("ConcatFromSequence")
def concat_from_sequence(xs: Any, *, axis: int, new_axis: int = 0) -> Any:
    """The elements joined, or stacked."""
    return ops.stack([tensor(x) for x in xs], axis) if new_axis else concat(*xs, axis=axis)


@operator("SplitToSequence")
def split_to_sequence(x: Tensor, sizes: Known | None = None, *, axis: int = 0, keepdims: int = 1) -> Any:
    """Pieces as a list."""
    length = x.shape[axis]
    if sizes is None:
        rows = list(ops.split(x, [1] * length, axis))
        return ([row if keepdims else ops.squeeze(row, axis) for row in rows],)
    if not sizes.ndim:
        step = int(sizes)
        return (list(ops.split(x, [min(step, length - i) for i in range(0, length, step)], axis)),)
    return (list(ops.split(x, ints(sizes), axis)),)


@operator("SequenceMap")
def sequence_map(xs: Any, *more: Any, body: Any) -> Any:
    """A body applied to each element."""
    rows = [body(x, *(m[i] if isinstance(m, list) else m for m in more)) for i, x in enumerate(xs)]
    return tuple([list(column) for column in zip(*rows)] or [[] for _ in body.graph.outputs])


@operator("Optional")
def optional(x: Any = None, *, type: Any = None) -> Any:
    """A value, or none."""
    return (x,)


@operator("OptionalHasElement")
def optional_has_element(x: Any = None) -> Any:
    """Whether there is one."""
    return np.array(x is not None)


@operator("OptionalGetElement")
def optional_get_element(x: Any) -> Any:
    """The value."""
    return (x,)


# ---- texts ----


@operator("StringConcat")
def string_concat(x: Known, y: Known) -> Any:
    """Texts joined, element by element."""
    return np.asarray(x.astype(object) + y.astype(object), object)


@operator("StringSplit")
def string_split(x: Known, *, delimiter: str = "", maxsplit: int | None = None) -> Any:
    """Words of each text, filled up with empty ones, and how many there are."""
    most = -1 if maxsplit is None else maxsplit
    words = [str(v).split(delimiter or None, most) if str(v) else [] for v in x.reshape(-1)]
    width = max((len(w) for w in words), default=0)
    table = np.array([w + [""] * (width - len(w)) for w in words], object).reshape(*x.shape, width)
    return table, np.array([len(w) for w in words], np.int64).reshape(x.shape)


@operator("RegexFullMatch")
def regex_full_match(x: Known, *, pattern: str) -> Any:
    """Whether the whole text matches."""
    found = [re.fullmatch(pattern, str(v)) is not None for v in x.reshape(-1)]
    return np.array(found, bool).reshape(x.shape)


@operator("StringNormalizer")
def string_normalizer(x: Known, *, case_change_action: str = "NONE", is_case_sensitive: int = 0,
                      locale: str = "", stopwords: Any = ()) -> Any:  # fmt: skip
    """Texts without stop words, in one case."""
    changes: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}
    change = changes[case_change_action]
    plain = str if is_case_sensitive else str.lower
    stops = {plain(word) for word in stopwords}
    rows = [[change(v) for v in row if plain(v) not in stops] for row in x.reshape(-1, x.shape[-1]).tolist()]
    rows = [row or [""] for row in rows]
    return np.array(rows, object).reshape(*x.shape[:-1], -1)


@operator("TfIdfVectorizer")
def tf_idf_vectorizer(x: Known, *, max_gram_length: int, max_skip_count: int, min_gram_length: int, mode: str,
                      ngram_counts: Any, ngram_indexes: Any, pool_int64s: Any = None, pool_strings: Any = None,
                      weights: Any = None) -> Any:  # fmt: skip
    """How often each n-gram of a pool stands in a row, or whether, weighted or not."""
    pool, grams = list(pool_int64s or pool_strings), {}
    column = 0
    for length, start in enumerate(ngram_counts, 1):
        end = ngram_counts[length] if length < len(ngram_counts) else len(pool)
        for at in range(start, end, length):
            grams[tuple(pool[at : at + length])] = column
            column += 1
    rows = x.reshape(-1, x.shape[-1]) if x.ndim else x.reshape(1, 1)
    counts = np.zeros((len(rows), max(ngram_indexes) + 1), np.float32)
    for row, values in zip(counts, rows.tolist()):
        for gram in _grams(values, min_gram_length, max_gram_length, max_skip_count):
            if gram in grams:
                row[ngram_indexes[grams[gram]]] += 1
    scale = np.ones(counts.shape[1], np.float32)
    if weights is not None:
        for column, place in enumerate(ngram_indexes):
            scale[place] = weights[column]
    found = {"TF": counts, "IDF": (counts > 0) * scale, "TFIDF": counts * scale}[mode]
    return found.astype(np.float32).reshape(*x.shape[:-1], -1)


def _grams(values: list[Any], low: int, high: int, skips: int) -> Any:
    for length in range(low, high + 1):
        for skip in range(1, skips + 2 if length > 1 else 2):
            for start in range(len(values) - (length - 1) * skip):
                yield tuple(values[start : start + (length - 1) * skip + 1 : skip])


@operator("LabelEncoder", domain="ai.onnx.ml")
def label_encoder(x: Known, *, default_float: float = -0.0, default_int64: int = -1, default_string: str = "_Unused",
                  default_tensor: Any = None, keys_floats: Any = None, keys_int64s: Any = None,
                  keys_strings: Any = None, keys_tensor: Any = None, values_floats: Any = None,
                  values_int64s: Any = None, values_strings: Any = None, values_tensor: Any = None) -> Any:  # fmt: skip
    """Each key's value, or the default."""
    keys = _first(keys_floats, keys_int64s, keys_strings, keys_tensor)
    ways = ((values_floats, default_float, "f4"), (values_int64s, default_int64, "i8"),
            (values_strings, default_string, object))  # fmt: skip
    if values_tensor is not None:
        values, default, dtype = values_tensor.reshape(-1).tolist(), default_tensor, values_tensor.dtype
        default = default.reshape(-1)[0].item() if default is not None else 0
    else:
        values, default, dtype = next(way for way in ways if way[0] is not None)
    table = dict(zip(keys, values))
    unknown = next((v for k, v in zip(keys, values) if k != k), default)  # a key that is not a number
    found = [unknown if v != v else table.get(v, default) for v in x.reshape(-1).tolist()]
    return np.array(found, dtype).reshape(x.shape)


def _first(*lists: Any) -> list[Any]:
    found = next(v for v in lists if v is not None)
    return list(found.reshape(-1).tolist() if isinstance(found, np.ndarray) else found)


@operator("Binarizer", domain="ai.onnx.ml")
def binarizer(x: Tensor, *, threshold: float = 0.0) -> Any:
    """One above the threshold, else zero."""
    return (x > threshold).astype(x.dtype)
