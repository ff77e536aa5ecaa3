"""What graph mode refuses in msnb runs under MindSpore's names as Python, and says so once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn, ops
from msnb.api.graph_breaks import break_at_branches
from msnb.base.errors import BranchTypeError, CaptureError, DTypeError, ShapeError


def list_in_a_branch(x: Tensor) -> Any:
    found = [x]
    if x.sum() > 0:
        found.append(x * 2)
    return [len(found), found[-1].sum().asnumpy().tolist()]


def keys_in_a_branch(x: Tensor) -> Any:
    found = {"a": 1}
    if x.sum() > 0:
        found["b"] = 2
    return found


def list_in_a_loop(x: Tensor) -> Any:
    found, n = [], x.sum()
    while n > 0:
        found.append(n * 1)
        n = n - 1
    return len(found)


def text(x: Tensor) -> Any:
    return "positive" if x.sum() > 0 else "negative"


def nothing(x: Tensor) -> Any:
    if x.sum() > 0:
        return None
    return 1


def array_in_a_branch(x: Tensor) -> Any:
    a = np.zeros(2)
    if x.sum() > 0:
        a[1] = 3
    return a.tolist()


def shape(x: Tensor) -> Any:
    if x.sum() > 0:
        return x.sum().shape
    return x.shape


def shapes(x: Tensor) -> Any:
    if x.sum() > 0:
        return ops.concat((x, x))
    return x


PROGRAMS: list[tuple[Callable[[Any], Any], Any]] = [
    (list_in_a_branch, [2, 6.0]), (keys_in_a_branch, {"a": 1, "b": 2}), (list_in_a_loop, 3), (text, "positive"),
    (nothing, None), (array_in_a_branch, [0, 3]), (shape, ()),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "expected"), PROGRAMS, ids=[fn.__name__ for fn, _ in PROGRAMS])
def test_it_runs_as_python(mode: int, fn: Any, expected: Any) -> None:
    ready = ms.jit(fn) if mode == ms.GRAPH_MODE else fn
    for _ in range(2):
        assert ready(Tensor([1.0, 2.0])) == expected


def test_it_is_said_once_and_has_gradients(capfd: Any) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    fn = ms.jit(shapes)
    assert [fn(Tensor([a, 2.0])).shape for a in (1.0, -5.0, 1.0)] == [(4,), (2,), (4,)]
    assert capfd.readouterr().err.count("shapes runs as Python, not as one program") == 1
    assert ms.grad(lambda x: fn(x).sum())(Tensor([1.0, 2.0])).asnumpy().tolist() == [2, 2]


def test_whole_programs_and_other_dtypes_are_refused() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(ShapeError, match="both must agree"):
        ms.jit(shapes, fullgraph=True)(Tensor([1.0]))
    with pytest.raises(DTypeError, match="both must agree"):
        ms.jit(lambda x: x if x > 0 else x.astype(ms.float64))(Tensor(1.0))


def test_msnb_itself_refuses_it() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    break_at_branches(False)
    for fn, sentence in ((list_in_a_branch, "must leave the same items"), (list_in_a_loop, "must keep its size")):
        with pytest.raises(CaptureError, match=sentence):
            ms.jit(fn)(Tensor([1.0]))


class Chosen(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(2, 2, weight_init="ones"), nn.Tanh()

    def construct(self, x: Tensor) -> Tensor:
        layer = self.first if x.sum() > 0 else self.second
        return layer(x)


def named(x: Tensor) -> Tensor:
    if x > 0:
        fn = ops.sin
    else:
        fn = ops.cos
    return fn(x)


def returned(x: Tensor) -> Tensor:
    def plus(t: Tensor) -> Tensor:
        return t + 3

    def minus(t: Tensor) -> Tensor:
        return t - 1

    def choose(t: Tensor) -> Any:
        if t < 5:
            return plus
        return (lambda u: u * 2) if t > 9 else minus

    return choose(x)(x)


def held(x: Tensor) -> Tensor:
    if x > 0:
        fn = functools.partial(ops.mul, x * 2)
    else:
        fn = ops.cos
    return fn(x)


def test_functions_chosen_by_a_tensor(mode: int) -> None:
    net = Chosen()
    for x in (Tensor([[1.0, 2.0]]), Tensor([[-1.0, -2.0]])):
        expected = (net.first if x.sum() > 0 else net.second)(x)
        np.testing.assert_allclose(net(x).asnumpy(), expected.asnumpy(), rtol=1e-6)
    ready = [ms.jit(fn) if mode == ms.GRAPH_MODE else fn for fn in (named, returned)]
    assert [float(ready[1](Tensor(v))) for v in (1.0, 7.0, 10.0)] == [4, 6, 20]
    for v in (0.5, -0.5):
        assert abs(float(ms.grad(ready[0])(Tensor(v))) - (np.cos(v) if v > 0 else -np.sin(v))) < 1e-6


def test_a_function_that_holds_a_tensor_of_its_branch_is_refused() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(CaptureError, match="fn is a partial after the if branch"):
        ms.jit(held, fullgraph=True)(Tensor(1.0))


def counted(x: Tensor) -> Any:
    for i in range(3):
        yield x * i


def test_a_generator_runs_as_python(mode: int) -> None:
    ready = ms.jit(counted) if mode == ms.GRAPH_MODE else counted
    assert [float(v) for v in ready(Tensor(2.0))] == [0, 2, 4]


KINDS = {
    "tensor": lambda x: x, "other shape": lambda x: x[:1], "number": lambda x: 0, "text": lambda x: "a",
    "none": lambda x: None, "list": lambda x: [1], "tuple": lambda x: (x,), "pair": lambda x: (x, x),
    "mixed pair": lambda x: (x, 1), "dict": lambda x: {"a": x}, "array": lambda x: np.zeros(3),
}  # fmt: skip
_PLAIN = ("tensor", "other shape", "number", "text")
REFUSED = {(a, b) for a in _PLAIN for b in (*_PLAIN, "tuple", "pair", "mixed pair", "dict") if a != b}
REFUSED -= {("tensor", "other shape"), ("other shape", "tensor")}
REFUSED |= {("pair", "mixed pair")}


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_results_of_two_kinds(first: str, second: str) -> None:
    """What MindSpore 2.10 refuses is refused, in words that can be searched for; the rest runs as Python."""
    ms.set_context(mode=ms.GRAPH_MODE)

    def program(x: Tensor) -> Any:
        if x.sum() > 0:
            return KINDS[first](x)
        return KINDS[second](x)

    ready = ms.jit(program)
    if {(first, second), (second, first)} & REFUSED:
        with pytest.raises(TypeError, match="Cannot join the return values of different branches"):
            ready(Tensor([1.0, 2.0]))
    else:
        for v in ([1.0, 2.0], [-1.0, -2.0]):
            assert str(ready(Tensor(v))) == str(program(Tensor(v)))


def test_the_lines_of_both_branches_are_shown() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)

    def program(x: Tensor) -> Any:
        if x.sum() > 0:
            y = x * 2
        else:
            y = 0
        return y

    with pytest.raises(
        BranchTypeError, match=r"if \(line \d+: y = x \* 2\)(.|\n)*: y = 0\): the Python int 0"
    ):
        ms.jit(program)(Tensor([1.0, 2.0]))


def test_a_loop_that_changes_the_kind_is_refused() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)

    def program(x: Tensor) -> Any:
        y = "none"
        while x.sum() > 0:
            y, x = x, x - 1
        return y

    with pytest.raises(BranchTypeError, match=r"y is the Python str 'none' before the loop and a tensor"):
        ms.jit(program)(Tensor([1.0, 2.0]))


def unending(x: Tensor) -> Any:
    if x > 0:
        return unending(x - 1)
    return no_such_name  # type: ignore[name-defined]  # noqa: F821


def test_a_recursion_that_ends_by_raising_runs_as_python(mode: int) -> None:
    ready = ms.jit(unending) if mode == ms.GRAPH_MODE else unending
    with pytest.raises(NameError, match="no_such_name"):
        ready(Tensor(3.0))


def endless(x: Tensor) -> Any:
    if x > 0:
        return endless(x - 1)
    return endless(x + 1)


def test_a_recursion_without_end_is_refused() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(CaptureError, match="a loop without end"):
        ms.jit(endless)(Tensor(3.0))


def test_parts_of_complex_numbers(mode: int) -> None:
    x = ms.Tensor(np.array([1 + 2j, -3j], np.complex64))
    run = ms.jit if mode == ms.GRAPH_MODE else lambda fn: fn
    assert run(lambda x: x.real() - x.imag())(x).tolist() == [-1.0, 3.0]
