"""What a program of MindSpore returns is whole: no iterator that can be gone through once only."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms
from msnb import Tensor, nn


def more(x: Any) -> Any:
    return x + 1


PROGRAMS: dict[str, tuple[Any, Any]] = {
    "map": (lambda x, t: map(more, x), (2, 3, 4)),
    "map of a list": (lambda x, t: map(more, [*x]), [2, 3, 4]),
    "zip": (lambda x, t: zip(x, [*x]), ((1, 1), (2, 2), (3, 3))),
    "enumerate": (lambda x, t: enumerate(x, 5), ((5, 1), (6, 2), (7, 3))),
    "filter": (lambda x, t: filter(lambda a: a > 1, x), [2, 3]),
    "range": (lambda x, t: range(len(x)), (0, 1, 2)),
    "keys": (lambda x, t: {"a": 1, "b": t}.keys(), ("a", "b")),
    "values": (lambda x, t: {"a": 1, "b": 2}.values(), (1, 2)),
    "items": (lambda x, t: {"a": 1, "b": 2}.items(), [("a", 1), ("b", 2)]),
    "generator": (lambda x, t: (a * a for a in x if a > 1), [4, 9]),
    "nothing": (lambda x, t: map(more, ()), ()),
    "no iterator": (lambda x, t: [*map(more, x)], [2, 3, 4]),
    "text": (lambda x, t: "ab", "ab"),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_returned_iterator_is_a_container(name: str) -> None:
    fn, want = PROGRAMS[name]
    program = ms.jit(fn)
    for _ in range(2):  # the second call runs what the first compiled
        found = program((1, 2, 3), Tensor([1.0]))
        assert type(found) is type(want) and found == want


def test_tensors_in_a_returned_iterator(mode: int) -> None:
    class Net(nn.Cell):
        def construct(self, x: Any, y: Any) -> Any:
            return map(lambda a: a * 2, (x, y))

    found = Net()(Tensor([1.0]), Tensor([2.0, 3.0]))
    assert isinstance(found, tuple if mode == ms.GRAPH_MODE else map)  # Python runs a Cell of PyNative mode
    assert [a.tolist() for a in found] == [[2.0], [4.0, 6.0]]


def test_functions_that_yield_and_other_names() -> None:
    from msnb.as_mindspore import install, uninstall

    def steps(x: Any) -> Any:
        while True:
            yield x

    assert next(ms.jit(steps)(Tensor([1.0]))).tolist() == [1.0]
    uninstall()
    try:
        assert isinstance(ms.jit(lambda x: map(more, x))((1, 2)), map)
        assert ms.jit(lambda x: range(len(x)))((1, 2)) == range(2)
    finally:
        install()


def test_errors_in_a_returned_iterator() -> None:
    with pytest.raises(TypeError):
        ms.jit(lambda x: map(lambda a: a + "b", x))((1, 2))
    with pytest.raises(ZeroDivisionError):
        ms.jit(lambda x: (1 // (a - 1) for a in x))((1, 2))
