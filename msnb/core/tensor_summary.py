"""Values at a glance: a range in words, a histogram in one line of text, and what a cell shows for a tensor.

    -1.2 .. 3.4, 2 NaN        ▁▂▅█▅▂▁

Text and not a picture: it survives in every notebook, trusted or not, and in a terminal.
"""

from __future__ import annotations

import html
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.core.dtypes import bfloat16

Array = NDArray[Any]
BLOCKS = "▁▂▃▄▅▆▇█"
MANY = 64


def plain_numbers(array: Array) -> Array:
    """The array in a dtype that NumPy calculates in with care: half precision as float32."""
    return array.astype(np.float32) if array.dtype == bfloat16.numpy or array.dtype == np.float16 else array


def sparkline(array: Array, bins: int = 12) -> str:
    """A histogram of the finite values in one line; nothing where all are equal."""
    values = plain_numbers(array).ravel()
    finite = values[np.isfinite(values)].astype(np.float64) if values.dtype.kind in "fiub" else np.zeros(0)
    if finite.size == 0 or finite.min() == finite.max():
        return ""
    counts = np.histogram(finite / np.abs(finite).max(), bins)[0]  # scaled: the range of extreme values overflows
    return "".join(BLOCKS[int(c * (len(BLOCKS) - 1) / counts.max() + 0.5)] for c in counts)


def value_words(array: Array) -> str:
    """``0.5`` of one number; ``-1.2 .. 3.4`` of many, with how many are not finite."""
    values = plain_numbers(array)
    if values.size == 0:
        return "empty"
    return f"|x| {_span(np.abs(values))}" if values.dtype.kind == "c" else _span(values)


def _span(values: Array) -> str:
    if values.size == 1:
        return _word(values.ravel()[0])
    if values.dtype.kind != "f":
        return f"{_word(values.min())} .. {_word(values.max())}"
    finite = values[np.isfinite(values)]
    words = [f"{_word(finite.min())} .. {_word(finite.max())}"] if finite.size else []
    wrong = (int(np.isnan(values).sum()), "NaN"), (int(np.isinf(values).sum()), "infinite")
    return ", ".join([*words, *(f"{n} {word}" for n, word in wrong if n)])


def _word(x: Any) -> str:
    return f"{float(x):.4g}" if np.asarray(x).dtype.kind == "f" else str(x)


def tensor_html(head: str, values: str, array: Array) -> str:
    """What a cell shows for a tensor; one of many floats also gets its range and histogram.

    Args:
        head: its class, type and device.
        values: its values as text.
        array: the values.
    """
    below = ""
    if array.size > MANY and plain_numbers(array).dtype.kind == "f":
        line = sparkline(array)
        below = f"<div><code>{html.escape(f'{line}   {value_words(array)}'.strip())}</code></div>"
    return f"<div><code>{html.escape(head)}</code><pre>{html.escape(values)}</pre>{below}</div>"
