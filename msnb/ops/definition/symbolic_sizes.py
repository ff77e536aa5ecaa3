"""Arithmetic of sizes that may be known only at run time.

A size is an int or a ``Dim``. Expressions of Dims are Dims again whose symbol spells the expression, so that the same
expression is the same size wherever it is written:

    n * 3      -> Dim("3*n", 3 * bound)         reshape([n, 3], [-1])
    n / 3      -> Dim("n//3", bound // 3)       reshape([n], [3, -1]); the call sees whether it comes out even
    n + 2      -> Dim("n+2", bound + 2)         concat, pad
    n[1:9:2]   -> Dim("n[1:9:2]", ...)          slicing
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from msnb.core.symbolic_int import sliced_axis
from msnb.core.types import Dim, Shape, Size, TensorType, unequal

_fresh = [0]
sizes_of_data: list[int] = [0]
"""How many sizes ``fresh`` made so far."""


def fresh(prefix: str, bound: int | None) -> Dim:
    """A size that nothing else has: how many elements a mask selects, say."""
    _fresh[0] += 1
    sizes_of_data[0] += 1
    return Dim(f"{prefix}{_fresh[0]}", bound)


def symbol() -> Dim:
    """A size that every call brings along: whoever made it can tell its value (``value_of``)."""
    _fresh[0] += 1
    made = Dim(f"s{_fresh[0]}")
    _bindable.add(made.symbol)
    return made


_bindable: set[str] = set()
_NAME = re.compile(r"[A-Za-z_]\w*")


def is_bindable(size: Size) -> bool:
    """Whether calls bring along all that this size is made of; False for what only the data tell."""
    return isinstance(size, int) or _bindable.issuperset(_NAME.findall(size.symbol))


Comparison = tuple[Dim, Size]


@contextmanager
def compared() -> Iterator[list[Comparison]]:
    """The pairs of sizes that are taken for unequal within the ``with``."""
    told: list[Comparison] = []
    unequal.lists.append(told)
    try:
        yield told
    finally:
        unequal.lists = [each for each in unequal.lists if each is not told]


def differ(pairs: Iterable[Comparison], values: Mapping[str, int]) -> bool:
    """Whether sizes that were taken for unequal are, with the symbols' values put in."""
    known = ((value_of(a, values), value_of(b, values)) for a, b in pairs)
    return not any(type(a) is int and type(b) is int and a == b for a, b in known)


def has_sizes(t: object) -> bool:
    """True for a tensor type whose sizes are known, or will be when the program is bound (``is_bindable``)."""
    return isinstance(t, TensorType) and (t.is_static or all(map(is_bindable, t.shape)))


def value_of(size: Size, values: Mapping[str, int]) -> Size:
    """The size with the symbols' values put in; a Dim that is made of others stays as it is.

    Examples:
        >>> value_of(Dim("(n+3)//2+1"), {"n": 5}), value_of(Dim("n[1:9:2]"), {"n": 4}), value_of(Dim("m"), {"n": 4})
        (5, 2, Dim(symbol='m', bound=None))
    """
    if isinstance(size, int) or not all(name in values for name in _NAME.findall(size.symbol)):
        return size
    found: int = _evaluated(_formula(size.symbol), values)
    return found


@functools.lru_cache(maxsize=4096)
def _formula(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _evaluated(node: ast.AST | None, values: Mapping[str, int]) -> Any:
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.BinOp):
        return _STEPS[type(node.op)](_evaluated(node.left, values), _evaluated(node.right, values))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        parts = [_evaluated(p, values) for p in (node.slice.lower, node.slice.upper, node.slice.step)]
        return sliced_axis(_evaluated(node.value, values), parts)[1]
    if isinstance(node, ast.UnaryOp):
        return -_evaluated(node.operand, values)
    return node.value if isinstance(node, ast.Constant) else None


_STEPS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def bound_of(size: Size) -> int | None:
    """The largest value ``size`` can have, or None."""
    return size if isinstance(size, int) else size.bound


def _as_factor(symbol: str) -> str:
    """A symbol as part of a longer one: a sum or product between brackets, so that equal symbols are equal sizes."""
    return f"({symbol})" if re.search(r"[-+*/]", re.sub(r"\[[^]]*\]", "", symbol)) else symbol


def _factors(size: Size) -> tuple[int | Fraction, Counter[Dim]]:
    if isinstance(size, int):
        return size, Counter()
    return _known.get(size.symbol, (1, Counter([size])))


_known: dict[str, tuple[int | Fraction, Counter[Dim]]] = {}


def _from_factors(scale: int | Fraction, dims: Counter[Dim]) -> Size:
    times, parts = scale.as_integer_ratio()
    # one spelling per product, so that equal sizes are equal symbols
    names = sorted(dims.elements(), key=lambda d: d.symbol)
    if scale == 0 or not names:
        return times
    if scale == 1 and len(names) == 1:
        return names[0]
    bounds = [d.bound for d in names]
    bound = None if None in bounds else times * math.prod(b for b in bounds if b is not None) // parts
    symbol = "*".join(([str(times)] if times != 1 else []) + [_as_factor(d.symbol) for d in names])
    symbol += f"//{parts}" if parts != 1 else ""
    _known[symbol] = (scale, dims)
    return Dim(symbol, bound)


def product(sizes: Iterable[Size]) -> Size:
    """The number of elements of a shape."""
    factors = tuple(sizes)
    known = [size for size in factors if isinstance(size, int)]
    if len(known) == len(factors):
        return math.prod(known)
    scale, dims = Fraction(1), Counter[Dim]()
    for size in factors:
        s, d = _factors(size)
        scale, dims = scale * s, dims + d
    return _from_factors(scale, dims)


def quotient(whole: Size, part: Size) -> Size | None:
    """``whole / part`` where it comes out even, or may do so in the call, else None."""
    if isinstance(whole, int) and isinstance(part, int):
        return whole // part if part and not whole % part else None
    (s, d), (t, e) = _factors(whole), _factors(part)
    # it may where a symbol is left, and every symbol of the part is among those of the whole
    if t == 0 or any(e[k] > d[k] for k in e) or (d == e and s % t):
        return None
    return _from_factors(Fraction(s) / t, d - e)


def total(sizes: Iterable[Size]) -> Size:
    """The sum of sizes."""
    parts = list(sizes)
    names = [size for size in parts if isinstance(size, Dim)]
    known = sum(size for size in parts if isinstance(size, int))
    if not names:
        return known
    if known == 0 and len(names) == 1:
        return names[0]
    # a new symbol, named by its formula in one order; it is bounded if all of its terms are
    bounds = [d.bound for d in names]
    bound = known + sum(b for b in bounds if b is not None)
    symbol = "+".join(sorted(d.symbol for d in names)) + (f"{known:+d}" if known else "")
    return Dim(symbol, None if None in bounds else bound)


def sliced(size: Size, start: int | None, stop: Size | None, step: int | None) -> Size:
    """How many elements ``[start:stop:step]`` takes of an axis; a symbol as ``stop`` is a place in the axis."""
    if isinstance(stop, Dim):
        return _up_to(stop, start, step)
    if isinstance(size, int):
        return sliced_axis(size, (start, stop, step))[1]
    # the whole axis, forwards or (from its end) backwards; what lies at its ends, if the sizes will be known (where so
    # many are not there, inference says so then); any other slice of a symbol is a symbol named by its text
    if start in (None, 0) and stop is None and step in (None, 1, -1) and not (start == 0 and step == -1):
        return size
    found = _at_ends(size, start, stop) if is_bindable(size) and step in (None, 1) else None
    if found is not None:
        return found
    bound = None if size.bound is None else -(-size.bound // abs(step or 1))
    text = ":".join("" if p is None else str(p) for p in (start, stop, step))
    return Dim(f"{_as_factor(size.symbol)}[{text}]", bound)


def _up_to(stop: Dim, start: int | None, step: int | None) -> Size:
    first = start or 0
    if step not in (None, 1) or first < 0:
        raise ValueError(f"how many elements [{start}:{stop}:{step}] takes is not known.")
    return total((stop, -first))


def _at_ends(size: Dim, first: int | None, stop: int | None) -> Size | None:
    """``[first:stop]`` where both ends of the axis are cut, or some are taken from its end."""
    start = first or 0
    end = 0 if stop is None else stop
    if stop is not None and stop >= 0:
        return None
    if start >= 0:
        return total((size, end - start))
    return end - start if start < end else None


def with_one_unknown(shape: Shape) -> tuple[int, ...]:
    """A shape for ``xp.reshape``: its only Dim becomes -1."""
    return tuple(d if isinstance(d, int) else -1 for d in shape)


def sizes_text(shape: Shape) -> str:
    """A shape as text: ``[n<=4, 3]``."""
    return f"[{', '.join(map(str, shape))}]"
