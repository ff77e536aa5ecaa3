"""Python that is not about tensors stays Python: each program gives the same captured and plain."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import itertools
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.core import pytree

X = ms.Tensor([1.0, 2.0, 3.0])
Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass
class Box:
    a: Any
    b: Any


def comprehension(x: Any) -> Any:
    return [y * i for i in range(4) if i != 1 for y in (x, -x)], {k: x * k for k in (1, 2)}, {i % 2 for i in range(5)}


def generator(x: Any) -> Any:
    def parts() -> Any:
        for i in range(4):
            if i == 1:
                continue
            yield x * i
        return

    return sum(parts())


def exceptions(x: Any) -> Any:
    y = x
    try:
        if x.sum() > 0:
            y = x * 2
        y = y.reshape((7,))
    except ValueError:
        y = y + 1
    else:
        y = y * 100
    finally:
        y = y * 2
    return y


@contextlib.contextmanager
def factor() -> Any:
    yield 3.0


def with_block(x: Any) -> Any:
    with factor() as k:
        if x.sum() > 0:
            return x * k
    return x


def unpacking(x: Any) -> Any:
    a, *rest = [x, x * 2, x * 3]
    (b, c), d = (x, x + 1), x
    box = Box(x, 1)
    box.a, box.b = b, c
    return a, rest, d, box.a, box.b


def counter(x: Any) -> Any:
    n = 0

    def step() -> int:
        nonlocal n
        n += 1
        return n

    if x.sum() > 0:
        step()
    return x * n + step()


def match(x: Any) -> Any:
    out = []
    for subject in (1, "a", (1, 2), {"k": 3}, None):
        match subject:
            case 1:
                out.append(x)
            case "a" | "b":
                out.append(x * 2)
            case (p, q):
                out.append(x * p + q)
            case {"k": v}:
                out.append(x * v)
            case _:
                out.append(-x)
    return out


class Kind(enum.Enum):
    SLOW = 1
    FAST = 2


def match_by_class(x: Any) -> Any:
    """Classes and constants are named by patterns; what a pattern binds is a value of the program."""
    out = []
    for subject in (Box(0, x), Box(1, x), Kind.SLOW, Kind.FAST, 7, 2, 1.5, [x, 1], {"k": {"v": x}, "w": 1}, None):
        match subject:
            case Box(a=0, b=b):
                out.append(b * 2)
            case Box(b=b) if b.ndim == 1:
                out.append(b * 3)
            case Kind.SLOW | Kind.FAST:
                out.append(x * subject.value)
            case int(n) if n > 5:
                out.append(x * n)
            case int() | float():
                out.append(x - subject)
            case [ms.Tensor() as t, *more]:
                out.append(t + more[0])
            case {"k": {"v": v}, **more}:
                out.append(v * 4 if v.sum() > 0 else v - len(more))
            case _:
                continue
    return out


def extremes(x: Any) -> Any:
    return max(v * v for v in x), min([v - 1 for v in x]), max(x), max([3]), max(map(lambda v: v - 1, x))


def rows_without_end(x: Any) -> Any:
    rows = itertools.chain.from_iterable([n, x * n] for n in itertools.count(1))
    return list(itertools.islice(rows, 3))


def loops_with_else(x: Any) -> Any:
    total = x * 0
    for i in range(3):
        for j in range(3):
            if i == j:
                continue
            if x.sum() * i > 10:
                break
            total = total + x * j
        else:
            total = total * 2
    return total


def classes(x: Any) -> Any:
    class Vector:
        scale = 2 + 1

        def __init__(self, v: Any) -> None:
            self.v = v

        def __add__(self, other: Any) -> Any:
            return Vector(self.v + other.v if other.v.sum() > 0 else self.v)

    return (Vector(x) + Vector(x * 2)).v * Vector.scale


def late_binding(x: Any) -> Any:
    functions = [lambda v, i=i: v * i for i in range(3)]
    late = [lambda v: v * i for i in range(3)]
    return sum(f(x) for f in functions), [f(x) for f in late]


def chained(x: Any) -> Any:
    s = x.sum()
    return (0 < s < 10) and not s == 5, x if 0 < s <= 6 else -x, 1 < 2 < 3


def arguments(x: Any, *args: Any, k: Any = 2, **rest: Any) -> Any:
    return x * k, args, sorted(rest)


PROGRAMS = [
    comprehension, generator, exceptions, with_block, unpacking, counter, match, match_by_class, extremes,
    rows_without_end, loops_with_else, classes, late_binding, chained, arguments,
]  # fmt: skip


def numbers(value: Any) -> list[Any]:
    return [v.tolist() if isinstance(v, ms.Tensor) else v for v in pytree.flatten(value)[0]]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_same_as_python(fn: Any, sign: float) -> None:
    x = X * sign
    run = ms.jit(fn)
    want = numbers(fn(x))
    assert numbers(run(x)) == want
    assert numbers(run(x)) == want
    assert len(run.versions) == 1


@pytest.mark.parametrize(
    "value", [Box(X, 2.0), Pair(X, 2.0), {"a": X, "b": 2.0}, [X, 2.0], (X, 2.0)], ids=lambda v: type(v).__name__
)
def test_trees_as_arguments_and_results(value: Any) -> None:
    def fn(tree_: Any) -> Any:
        first, second = (tree_["a"], tree_["b"]) if isinstance(tree_, dict) else _parts(tree_)
        made = first * second
        return {"made": made, "again": [made, second], "same": tree_}

    run = ms.jit(fn)
    out = run(value)
    assert out["made"].tolist() == [2.0, 4.0, 6.0]
    assert out["again"][0] is out["made"]
    assert out["same"] is value


def _parts(value: Any) -> Any:
    return (value.a, value.b) if hasattr(value, "a") else tuple(value)


def test_errors_keep_line_and_caret() -> None:
    def fn(x: Any) -> Any:
        y = x * 2
        return y + ms.Tensor([1.0, 2.0])

    with pytest.raises(ValueError, match="do not broadcast") as caught:
        ms.jit(fn)(X)
    text = str(caught.value)
    assert "return y + ms.Tensor([1.0, 2.0])" in text
    assert "^" in text


def test_converted_code_outlives_its_capture() -> None:
    def make(x: Any) -> Any:
        return lambda v: v + 1 if v > 0 else v - 1

    kept = ms.jit(make)(X)
    assert kept(2) == 3
    assert kept(-2) == -3


def test_arrays_enter_as_inputs() -> None:
    array = np.array([1.0, 2.0, 3.0], np.float32)
    run = ms.jit(lambda x: x * array)
    assert run(X).tolist() == [1.0, 4.0, 9.0]
    array[0] = 10.0
    assert run(X).tolist() == [10.0, 4.0, 9.0]
    assert len(run.versions) == 1
