"""Results of compiled functions: dicts of a program's own class, as those of model libraries are; others."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, fields
from functools import partial
from types import SimpleNamespace
from typing import Any

import msnb as ms
from msnb import nn


class Output(OrderedDict[str, Any]):
    """Fields are entries as well; what would part the two is refused."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)

    def update(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("no update")

    def copy(self) -> Any:
        raise TypeError("no copy")

    def __getitem__(self, key: Any) -> Any:
        return dict(self.items())[key] if isinstance(key, str) else tuple(self.values())[key]

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)


@dataclass
class Hidden(Output):
    last: Any = None
    layers: Any = None
    unused: Any = None


class Inner(nn.Cell):
    def construct(self, x: Any) -> Any:
        return Hidden(last=x * 2, layers=(x, x + 1))


class Outer(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.seen: OrderedDict[str, int] = OrderedDict(a=1)

    def construct(self, x: Any) -> Any:
        found = self.inner(x)
        self.seen["b"] = self.seen["a"] + 1
        counts: defaultdict[str, int] = defaultdict(int, n=3)
        counts["m"] += 1
        return Hidden(last=found[0] + found.last, layers=found["layers"]), counts


def test_a_result_of_a_class_of_its_own_comes_back_whole(mode: int) -> None:
    net = Outer()
    for n in (1.0, 2.0, 3.0):
        found, counts = net(ms.Tensor([n]))
        assert type(found) is Hidden and list(found) == ["last", "layers"]
        assert found.last is found[0] is found["last"]
        assert (found.last.item(), found.layers[1].item(), found.unused) == (4 * n, n + 1, None)
        assert type(counts) is defaultdict and counts == {"n": 3, "m": 1} and counts["none"] == 0
    assert list(net.seen.items()) == [("a", 1), ("b", 2)]


class Row(list[Any]):
    """A list of a program's own."""


class Marks(set[int]):
    """A set of a program's own."""


def test_lists_of_ones_own(mode: int) -> None:
    @ms.jit
    def run(x: Any) -> Any:
        row, marks, last = Row([x, x + 1]), Marks([1]), deque([x], 2)
        row[0] = x * 7
        row.append(3)
        row.note = x * 2  # type: ignore[attr-defined]
        marks.add(2)
        last.extend([1, 2])
        return row, marks, last

    for x in (2.0, 5.0):  # nothing stays of the first call
        row, marks, last = run(ms.Tensor(x))
        assert [float(v) for v in row] == [7 * x, x + 1, 3] and float(row.note) == 2 * x
        assert (type(row), type(marks), last) == (Row, Marks, deque([1, 2], 2)) and marks == {1, 2}


def test_marked_containers_are_written(mode: int) -> None:
    @ms.jit
    def run(x: Any) -> Any:
        row, sizes, named = ms.mutable([x, x + 1]), ms.mutable([2, 5], True), ms.mutable({"a": x})
        row[1] = x * 9
        row.append(x)
        sizes[0] = 1
        named["b"] = x * 3
        return row, sizes, named

    for x in (1.0, 2.0):
        row, sizes, named = run(ms.Tensor(x))
        assert [float(v) for v in row] == [x, 9 * x, x] and sizes == [1, 5]
        assert {key: float(v) for key, v in named.items()} == {"a": x, "b": 3 * x}


Point = namedtuple("Point", "x y")


class Name(str):
    """A string of a program's own."""


class Pair:
    __slots__ = ("first", "second")

    def __init__(self, first: Any) -> None:
        self.first = first


def test_values_that_copy_copies(mode: int) -> None:
    @ms.jit
    def run(x: Any) -> Any:
        name, rest = Name("a"), iter([0, x, 1])
        name.of = x * 2  # type: ignore[attr-defined]
        next(rest)
        space = SimpleNamespace(at=slice(1, x), known=frozenset([2]))
        views = {"a": x, "b": 1}.values(), OrderedDict(c=x).items()
        return name, Pair(x + 1), rest, space, partial(max, x), ValueError("bad", x), zip([x], "b"), views

    for n in (1.0, 4.0):
        name, pair, rest, space, largest, error, pairs, (values, items) = run(ms.Tensor(n))
        assert (name, type(name), float(name.of)) == ("a", Name, 2 * n)
        assert float(pair.first) == n + 1 and not hasattr(pair, "second")
        assert [float(v) for v in rest] == [n, 1] and [(float(a), b) for a, b in pairs] == [(n, "b")]
        assert float(space.at.stop) == n and space.known == {2} and float(largest(ms.Tensor(2.0))) == max(n, 2)
        assert [float(v) for v in values] == [n, 1] and {k: float(v) for k, v in items} == {"c": n}
        assert error.args[0] == "bad" and float(error.args[1]) == n


class Shown:
    def __init__(self, at: Any) -> None:
        self.at = at

    def __repr__(self) -> str:
        return f"<{self.at}>"


def test_texts_of_ones_own_classes(mode: int) -> None:
    def say(x: Any) -> Any:
        row = ms.mutable([x, (x + 1,)])
        text = f"{row} {Row([x])} {Point(x, 1)} {Shown(x)} {str(Shown(x))}"
        row.append(x)
        return text, x

    for n in (1.0, 2.0):
        assert ms.jit(say)(ms.Tensor(n))[0] == say(ms.Tensor(n))[0]
