"""Numbers with slopes: the arithmetic of the oracle, forward mode over NumPy, nested as deep as one likes.

A value is a NumPy array or a ``Dual``: a value of a lower level and, for every direction in which somebody
differentiates at this level, the slope in that direction (a value of a lower level, too). Levels are never used twice,
so the derivative of a derivative cannot mix them up. Nothing here is shared with msnb: a wrong rule there is not wrong
here.

    call("mul", a, b)      the primitive on values; slopes by its linear rules, one per argument
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

LEVELS = itertools.count(1)
HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def is_float(dtype: Any) -> bool:
    return dtype in HALVES or np.issubdtype(dtype, np.floating)


def epsilon(dtype: Any) -> float:
    return float(ml_dtypes.finfo(dtype).eps)


class Largest:
    """The largest finite number that was computed since the beginning: where such numbers cancel, their last places
    are what is left. Behind an overflow it is a question of formulas whether a derivative is zero or NaN. Reverse mode
    makes products of two such numbers, which forward mode may never make: of halves they overflow early."""

    seen = 0.0
    overflowed = False

    @classmethod
    def note(cls, value: Any) -> None:
        if is_float(value.dtype) and value.size:
            sizes = np.abs(value.astype(np.float64))
            finite = np.isfinite(sizes)
            cls.seen = max(cls.seen, float(np.max(sizes, where=finite, initial=0.0)))
            squares = value.dtype == np.float16 and cls.seen**2 > float(np.finfo(np.float16).max)
            cls.overflowed = cls.overflowed or squares or not finite.all()


class Rounding:
    """The last places of slopes that are added, drawn anew: in reverse mode the same terms are rounded in another
    order, so what is left where large ones cancel is theirs to choose. Without a generator, off: a first look."""

    rng: np.random.Generator | None = None

    @classmethod
    def added(cls, x: Any, y: Any) -> Any:
        total = call("add", x, y)
        if cls.rng is None or not is_float(number(total).dtype):
            return total
        a, b = np.abs(number(x)), np.abs(number(y))
        small = np.where(np.isfinite(a) & np.isfinite(b), np.minimum(a, b), 0)  # nothing cancels with a zero
        places = max(epsilon(np.float32), epsilon(number(total).dtype))
        off = cls.rng.uniform(-1, 1, number(total).shape) * places * small
        return call("add", total, off.astype(number(total).dtype))


class Dual:
    """A value of a lower level and its slopes in every direction of this level."""

    __slots__ = ("level", "slopes", "value")

    def __init__(self, level: int, value: Any, slopes: list[Any]) -> None:
        self.level, self.value, self.slopes = level, value, slopes


def number(value: Any) -> Any:
    """The NumPy array at the bottom."""
    while isinstance(value, Dual):
        value = value.value
    return np.asarray(value)


def strip(value: Any, level: int) -> Any:
    """The value without its slopes of this level and above (those are of transforms that have ended)."""
    while isinstance(value, Dual) and value.level >= level:
        value = value.value
    return value


def slopes_of(value: Any, level: int, count: int) -> list[Any]:
    """The slopes of this level; zeros where the value does not depend on its directions."""
    while isinstance(value, Dual) and value.level > level:
        value = value.value
    if isinstance(value, Dual) and value.level == level:
        return value.slopes
    zero = np.zeros(number(value).shape, number(value).dtype)
    return [zero] * count


def call(name: str, *args: Any, **attrs: Any) -> Any:
    """A primitive on values of any level."""
    forward, rules = PRIMITIVES[name]
    level = max((a.level for a in args if isinstance(a, Dual)), default=0)
    if level == 0:
        found = np.asarray(_once_rounded(name, forward, args, attrs))
        Largest.note(found)
        return found
    mine = [isinstance(a, Dual) and a.level == level for a in args]
    below = [a.value if m else a for a, m in zip(args, mine)]
    out = call(name, *below, **attrs)
    if not is_float(number(out).dtype) or not rules:
        return out
    zero = np.zeros(number(out).shape, number(out).dtype)
    count = next(len(a.slopes) for a, m in zip(args, mine) if m)
    slopes = []
    for k in range(count):
        slope: Any = zero
        for i, (arg, m) in enumerate(zip(args, mine)):
            if m:
                slope = Rounding.added(slope, rules[min(i, len(rules) - 1)](arg.slopes[k], out, below, i, attrs))
        slopes.append(slope)
    return Dual(level, out, slopes)


def _once_rounded(name: str, forward: Callable[..., Any], args: Any, attrs: dict[str, Any]) -> Any:
    """Half precision is computed in float64 and rounded once."""
    dtypes = {np.dtype(d) for a in args if (d := getattr(a, "dtype", None)) is not None and is_float(d)}
    if len(dtypes) != 1 or not dtypes <= set(HALVES):
        return forward(*args, **attrs)
    (half,) = dtypes
    found = forward(*(np.asarray(a, np.float64) if getattr(a, "dtype", None) == half else a for a in args), **attrs)
    return found if name == "astype" else np.asarray(found).astype(half)


def _masked(x: Any, mask: Any) -> Any:
    return call("mul", x, np.asarray(mask, number(x).dtype))


def _set(x: Any, value: Any, *, index: Any) -> Any:
    out = np.array(x)
    out[index] = value
    return out


def _kept(t: Any, index: Any) -> Any:
    """A slope of what was written over: zero where it was."""
    mask = np.ones(number(t).shape)
    mask[index] = 0
    return _masked(t, mask)


def _one_of(i: int, t: Any, args: list[Any]) -> list[Any]:
    return [t if j == i else np.zeros_like(number(a)) for j, a in enumerate(args)]


def _join(how: Callable[..., Any], *parts: Any, axis: int = 0) -> Any:
    return how(parts, axis=axis)


def _spread(t: Any, shape: tuple[int, ...], index: Any) -> Any:
    return call("set", np.zeros(shape, number(t).dtype), t, index=index)


Rule = Callable[[Any, Any, list[Any], int, dict[str, Any]], Any]


def _linear(name: str) -> Rule:
    return lambda t, out, a, i, k: call(name, t, **k)


def _joined(name: str) -> Rule:
    return lambda t, out, a, i, k: call(name, *_one_of(i, t, a), **k)


def _unary(slope: Callable[[Any, Any], Any]) -> tuple[Rule, ...]:
    return (lambda t, out, a, i, k: call("mul", t, slope(a[0], out)),)


def _choice(better: Callable[[Any, Any], Any]) -> tuple[Rule, ...]:
    def rule(t: Any, out: Any, a: list[Any], i: int, k: Any) -> Any:
        mine, other = number(a[i]), number(a[1 - i])
        return _masked(call("add", t, np.zeros_like(number(out))), better(mine, other) + 0.5 * (mine == other))

    return (rule,)


def _sign(x: Any) -> Any:
    return np.sign(number(x)).astype(number(x).dtype)


PRIMITIVES: dict[str, tuple[Callable[..., Any], tuple[Rule, ...]]] = {
    "add": (np.add, (lambda t, out, a, i, k: t,)),
    "sub": (np.subtract, (lambda t, out, a, i, k: t, lambda t, out, a, i, k: call("neg", t))),
    "mul": (np.multiply, (lambda t, out, a, i, k: call("mul", t, a[1 - i]),)),
    "div": (
        np.divide,
        (
            lambda t, out, a, i, k: call("div", t, a[1]),
            lambda t, out, a, i, k: call("neg", call("mul", t, call("div", out, a[1]))),
        ),
    ),
    "floordiv": (np.floor_divide, ()),
    "mod": (np.remainder, ()),
    "and": (np.bitwise_and, ()),
    "or": (np.bitwise_or, ()),
    "xor": (np.bitwise_xor, ()),
    "neg": (np.negative, (_linear("neg"),)),
    "sin": (np.sin, _unary(lambda x, out: call("cos", x))),
    "cos": (np.cos, _unary(lambda x, out: call("neg", call("sin", x)))),
    "tanh": (np.tanh, _unary(lambda x, out: call("sub", 1.0, call("mul", out, out)))),
    "exp": (np.exp, _unary(lambda x, out: out)),
    "sqrt": (np.sqrt, _unary(lambda x, out: call("div", 0.5, out))),
    "abs": (np.abs, _unary(lambda x, out: _sign(x))),
    "maximum": (np.maximum, _choice(np.greater)),
    "minimum": (np.minimum, _choice(np.less)),
    "where": (
        lambda a, b, cond: np.where(cond, a, b),
        (lambda t, out, a, i, k: _masked(t, k["cond"] if i == 0 else ~k["cond"]),),
    ),
    "sum": (np.sum, (_linear("sum"),)),
    "cumsum": (np.cumsum, (_linear("cumsum"),)),
    "reshape": (lambda x, shape: np.reshape(x, shape), (_linear("reshape"),)),
    "transpose": (lambda x, axes=None: np.transpose(x, axes), (_linear("transpose"),)),
    "astype": (lambda x, dtype: np.asarray(x).astype(dtype), (_linear("astype"),)),
    "get": (lambda x, index: x[index], (_linear("get"),)),
    "matmul": (
        np.matmul,
        (
            lambda t, out, a, i, k: call("matmul", t, a[1]),
            lambda t, out, a, i, k: call("matmul", a[0], t),
        ),
    ),
    "stack": (lambda *p, axis=0: _join(np.stack, *p, axis=axis), (_joined("stack"),)),
    "cat": (lambda *p, axis=0: _join(np.concatenate, *p, axis=axis), (_joined("cat"),)),
    "set": (
        _set,
        (
            lambda t, out, a, i, k: _kept(t, k["index"]),
            lambda t, out, a, i, k: _spread(t, number(out).shape, k["index"]),
        ),
    ),
}
