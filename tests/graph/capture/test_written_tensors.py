"""What a program writes into a tensor or an array is in every text and every copy that it takes afterwards."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms

SCALE = ms.Parameter(np.array([2.0, 0.0, 7.0], np.float32), name="scale")
TABLE = np.array([1.0, 2.0, 3.0])
WAYS: dict[str, Callable[[Any], Any]] = {
    "print": lambda t: print(t),
    "f-string": lambda t: print(f"{t}"),
    "percent": lambda t: print("%s" % t),  # noqa: UP031
    "format": lambda t: print("{}".format(t)),  # noqa: UP032
    "str": lambda t: print(str(t) + "|"),
    "in a list": lambda t: print([t], {"a": t}),
}


def made(x: Any) -> Any:
    return ms.Tensor(np.array([2, 0, 237], np.uint8))


def outside(x: Any) -> Any:
    return SCALE


def computed(x: Any) -> Any:
    return x * 2


def run(program: Callable[..., Any], x: Any) -> Any:
    SCALE.set_data(ms.Tensor([2.0, 0.0, 7.0]))
    return program(x)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", [made, outside, computed])
def test_texts(source: Any, way: str, capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: Any) -> Any:
        t = source(x)
        t[::2] = 3
        WAYS[way](t)
        t[1] = 5
        WAYS[way](t)
        return t * 1

    x, said = ms.Tensor([1.0, 2.0, 3.0]), []
    for fn in (program, ms.jit(program)):
        for _ in range(2):
            out = run(fn, x)
            said.append((capsys.readouterr().out.replace("Parameter", "Tensor"), out.tolist()))
    if way != "in a list" or source is not outside:  # a list shows a Parameter with its name
        assert said[0] == said[2]
    assert said[0] == said[1]
    assert said[2] == said[3]
    assert "3" in said[2][0]
    assert "5" in said[2][0]


@pytest.mark.parametrize("source", [made, outside, computed])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda t: t.copy(), ms.Tensor])
def test_copies_of_tensors(source: Any, copied: Any, mode: int) -> None:
    def program(x: Any) -> Any:
        t = source(x)
        t[::2] = 3
        kept = copied(t)
        text = f"{kept}"
        t[1] = 5
        return kept * 1, t * 1, text

    fn = ms.jit(program) if mode == ms.GRAPH_MODE else program
    kept, now, text = run(fn, ms.Tensor([1.0, 2.0, 3.0]))
    assert now.tolist()[1] == 5
    assert kept.tolist()[::2] == [3, 3]
    assert kept.tolist()[1] != 5
    assert "3" in text
    assert "5" not in text


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda t: t.copy(), np.array, lambda t: copy.deepcopy([t])[0]]
)
def test_copies_of_arrays(copied: Any, mode: int) -> None:
    def program(x: Any) -> Any:
        one = copied(TABLE)
        one[0] = 7
        own = np.array([1.0, 2.0])
        other = copied(own)
        other[0], own[1] = 8, 9
        return x + ms.Tensor(one), x + ms.Tensor(TABLE), ms.Tensor(own) * x, ms.Tensor(other) * x

    fn = ms.jit(program) if mode == ms.GRAPH_MODE else program
    for _ in range(2):
        found = [t.tolist() for t in fn(ms.Tensor(np.array(1.0)))]
        assert found == [[8, 3, 4], [2, 3, 4], [1, 9], [8, 2]]
    assert TABLE.tolist() == [1, 2, 3]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, ms.Parameter.clone, lambda p: ms.Parameter(p * 1)])
def test_a_parameter_made_of_another_ends_gradients(copied: Any, mode: int) -> None:
    w, x = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w"), ms.Tensor([3.0, 4.0])

    def program(x: Any) -> Any:
        made = copied(w)
        made += x
        return (made * x + w).sum()

    fn = ms.jit(program) if mode == ms.GRAPH_MODE else program
    for _ in range(2):
        assert fn(x).item() == 12 + 24 + 3
        by_x, (by_w,) = ms.grad(program, 0, [w])(x)
        assert by_w.tolist() == [1, 1]
        assert by_x.tolist() == ms.grad(lambda x: ((x.copy() + ms.Tensor([1.0, 2.0])) * x).sum())(x).tolist()
        assert w.tolist() == [1, 2]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda t: copy.deepcopy([t])[0], lambda t: t.copy()])
def test_gradients_pass_through_copies_of_results(copied: Any, mode: int) -> None:
    by_x = ms.grad(lambda x: (copied(x * 2) ** 2).sum())
    assert by_x(ms.Tensor([3.0, 4.0])).tolist() == [24, 32]


def test_copies_of_many_parameters(mode: int) -> None:
    w, x = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w"), ms.Tensor([3.0, 4.0])

    def program(x: Any) -> Any:
        (kept,) = ms.ParameterTuple([w]).clone("sum", "zeros")
        ms.ops.assign_add(kept, w * x)
        return kept

    fn = ms.jit(program) if mode == ms.GRAPH_MODE else program
    for _ in range(2):
        found = fn(x)
        assert isinstance(found, ms.Parameter)
        assert found.name == "sum.w"
        assert found.tolist() == [3, 8]
