"""The calls that are tried on both sides: every shared name with each of these operands and attributes.

No framework is imported here: a pattern is NumPy arrays, numbers and keywords, the same for MindSpore and the alias.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_RNG = np.random.default_rng(20260917)
_F = _RNG.standard_normal((3, 4)).astype(np.float32)
ARRAYS: dict[str, Any] = {
    "f34": _F,
    "pos": np.abs(_F) + np.float32(0.1),
    "unit": np.tanh(_F),
    "zeros": np.where(_F > 0.3, 0, _F).astype(np.float32),
    "f345": _RNG.standard_normal((2, 3, 4)).astype(np.float32),
    "square": _RNG.standard_normal((4, 4)).astype(np.float32),
    "i34": _RNG.integers(-5, 6, (3, 4)),
    "i32": _RNG.integers(-5, 6, (3, 4)).astype(np.int32),
    "u8": _RNG.integers(0, 9, (3, 4)).astype(np.uint8),
    "b34": _RNG.random((3, 4)) > 0.5,
    "f16": _F.astype(np.float16),
    "f64": _F.astype(np.float64),
    "c64": (_F + 1j * _F[::-1]).astype(np.complex64),
    "vector": _RNG.standard_normal(5).astype(np.float32),
    "places": np.array([3, 1, 2, 1, 3, 0], np.int32),
    "rows": np.array([0, 2], np.int32),
    "number": np.array(1.5, np.float32),
    "special": np.array([[1, np.nan, 3], [np.inf, -np.inf, -0.0]], np.float32),
    "empty": np.zeros((0, 4), np.float32),
    "image": _RNG.standard_normal((2, 3, 8, 6)).astype(np.float32),
    "volume": _RNG.standard_normal((1, 2, 4, 6, 4)).astype(np.float32),
    "kernel": _RNG.standard_normal((4, 3, 3, 3)).astype(np.float32),
}


@dataclass(frozen=True)
class Pattern:
    """One call: operands by the names of ARRAYS, or plain values, and keywords."""

    operands: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [str(x) for x in self.operands] + [f"{k}={v!r}" for k, v in self.keywords.items()]
        return f"({', '.join(words)})"

    def arrays(self) -> list[Any]:
        """The operands with arrays in place of their names."""
        return [ARRAYS[x].copy() if isinstance(x, str) else x for x in self.operands]


_KEYWORDS = (
    {"axis": 0}, {"axis": -1}, {"axis": (0, 1)}, {"axis": 1, "keep_dims": True}, {"axis": 0, "keepdims": True},
    {"dim": 0}, {"dim": 1, "keepdim": True}, {"ddof": 1}, {"k": 1}, {"n": 2}, {"p": 1}, {"ord": 1}, {"min": 0},
    {"min": -0.5, "max": 0.5}, {"diagonal": 1}, {"reduction": "sum"}, {"approximate": "tanh"}, {"alpha": 0.5},
    {"descending": True}, {"shifts": 1}, {"dims": (0,)}, {"bins": 4},
)  # fmt: skip
_BEHIND = (0, 1, -1, 2, 0.5, (0,), (1, 2), (1, 0), (2, 2), (4, 3))
_PAIRS = ("f34", "i34", "i32", "b34", "f16", "f64", "number")


def _all() -> Iterator[Pattern]:
    for name in ARRAYS:
        yield Pattern((name,))
    for name, words in itertools.product(("f34", "i32", "f345"), _KEYWORDS):
        yield Pattern((name,), words)
    for name, value in itertools.product(("f34", "i32", "f345", "square"), _BEHIND):
        yield Pattern((name, value))
    for pair in itertools.product(_PAIRS, repeat=2):
        yield Pattern(pair)
    for name, value in itertools.product(("f34", "i32", "b34", "u8"), (2, 2.5, True)):
        yield Pattern((name, value))
        yield Pattern((value, name))
    yield from map(Pattern, _MORE)


_MORE: tuple[tuple[Any, ...], ...] = (
    ("pos", "f34"), ("zeros", "f34"), ("f34", "zeros"), ("unit", "unit"), ("special", "special"), ("square", "square"),
    ("vector", "vector"), ("f34", "f345"), ("f345", "square"), ("c64", "c64"), ("c64", "f34"), ("f34", "f34", "f34"),
    ("b34", "f34", "f34"), ("f34", "rows", 0), ("f34", 0, "rows"), ("f34", 0, 1), ("f34", 1, 0), ("places",),
    ("places", 6), ("places", 6, 1.0, 0.0), ("f34", "f34", 0.5), (5,), (2, 7), (2, 9, 3), (0, 1, 5), ((2, 3),),
    ((2, 3), 1.5), ("image", 2), ("image", (4, 3)), ("image", 2, 2), ("image", 3, 1), ("image", (1, 1, 2, 2)),
    ("image", "kernel"), ("volume", 2), ("f345", (2, 0, 1)), ("f34", (4, 3)), ("f34", (2, 3, 4)), ("f345", -1, 0),
    (("f34", "f34"),), (("f34", "f34"), 1), (("f34", "zeros"), -1), ("f34", ((0, 1), (1, 0))), ("f34", 0, "places"),
    ("f34", "i32", "f34"), ("unit", "pos"), ("f34", 2, 0), ("f34", 2, 1), ("vector", "number"), ("f34", "vector"),
)  # fmt: skip
PATTERNS: tuple[Pattern, ...] = tuple(_all())
