"""State and effects, program by program, in both modes: Parameters, Cells, hooks, jit's options, recursion."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn, ops
from msnb.base.errors import CaptureError, ConcretizationError, ShapeError


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found.asnumpy(), np.asarray(expected, found.asnumpy().dtype))


class Branches(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.p = Parameter(Tensor([1.0, 1.0]), name="p")

    def construct(self, x: Any, y: Any, v: Any) -> Any:
        out = v
        if x > y:
            ops.assign(self.p, v)
            out = self.p
        return out


def test_a_parameter_assigned_in_a_branch_is_given_back_new(mode: int) -> None:
    net = Branches()
    same(net(Tensor(1.0), Tensor(0.0), Tensor([7.0, 8.0])), [7, 8])
    same(net(Tensor(-1.0), Tensor(0.0), Tensor([3.0, 4.0])), [3, 4])
    same(net.p, [7, 8])


def test_a_gradient_through_it(mode: int) -> None:
    def loss(x: Any, v: Any) -> Any:
        return (Branches()(x, Tensor(0.0), v) * v).sum()

    same(ms.grad(loss, 1)(Tensor(1.0), Tensor([7.0, 8.0])), [14, 16])


class Made(nn.Cell):
    def __init__(self, value: float) -> None:
        super().__init__()
        self.p = Parameter(Tensor([value]), name="p")


class Makes(nn.Cell):
    def construct(self, x: Any) -> Any:
        made = Made(10.0)
        ops.assign(made.p, x)
        before = made.p + 2
        made.p *= 4
        return before, made.p * 1


def test_parameters_of_a_cell_that_the_program_makes(mode: int) -> None:
    net = Makes()
    for value in (20.0, 30.0):
        before, after = net(Tensor([value]))
        same(before, [value + 2])
        same(after, [value * 4])


class Takes(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([1.0]), name="w")

    def construct(self, x: Any) -> Any:
        self.w = self.w + x
        if x > 3:
            self.w = self.w * 10
        return self.w * 2


def test_a_parameter_takes_what_is_assigned_to_its_attribute(mode: int) -> None:
    net = Takes()
    w = net.w
    same(net(Tensor([2.0])), [6])
    same(net(Tensor([4.0])), [140])
    assert net.w is w and [p.name for p in net.trainable_params()] == ["w"]
    same(w, [70])
    with pytest.raises(ShapeError, match=r"Takes.w is a Parameter of shape \[1\], the value assigned has shape \[2\]"):
        net.w = Tensor([1.0, 2.0])
    with pytest.raises(TypeError, match="cannot become a float"):
        net.w = 3.0


class Partials(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.partial, self.map = ops.Partial(), ops.HyperMap()

    def construct(self, *x: Any) -> Any:
        return self.map(self.partial(ops.mul, 2.0), x)


def test_partial_of_an_operator(mode: int) -> None:
    net = Partials()
    shape = (mode + 3, 13, 11)  # of sizes that the operator's record has not met
    first, second = net(ops.ones(shape), ops.ones(shape) * 2)
    same(first, np.full(shape, 2.0))
    same(second, np.full(shape, 4.0))


class Exchanged(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.cells_of = nn.CellDict({"a": nn.Dense(2, 2), "b": nn.ReLU()})

    def construct(self, x: Any) -> Any:
        self.cells_of.clear()
        self.cells_of.update({"c": nn.ReLU(), "a": nn.Tanh()})
        return self.cells_of["c"](x)


def test_a_dict_of_cells_that_construct_changes(mode: int) -> None:
    net = Exchanged()
    for _ in range(3):
        same(net(Tensor([[-1.0, 2.0]])), [[0, 2]])
        assert net.cells_of.keys() == ["c", "a"] and type(net.cells_of["a"]) is nn.Tanh


def test_a_failed_capture_leaves_a_cell_as_it_was() -> None:
    net = Exchanged()

    def fails(x: Any) -> Any:
        net(x)
        return int(x.asnumpy())

    with pytest.raises(ConcretizationError):
        ms.jit(fails, fullgraph=True)(Tensor([[1.0, 2.0]]))
    assert net.cells_of.keys() == ["a", "b"] and [n for n, _ in net.cells_of.items()] == ["a", "b"]


def test_hooks_before_the_backward_pass_see_what_the_cell_gave_out(mode: int) -> None:
    cell, seen = nn.ReLU(), []
    cell.register_forward_hook(lambda c, inputs, out: out + out)
    cell.register_backward_pre_hook(lambda c, grads: seen.append(("pre", grads[0].asnumpy().tolist())))
    cell.register_backward_hook(lambda c, gi, go: seen.append(("hook", go[0].asnumpy().tolist())))
    same(ms.grad(lambda x: cell(x).sum())(Tensor([2.0])), [2])
    assert seen == [("pre", [1.0]), ("hook", [2.0])]


def test_a_hook_before_the_backward_pass_replaces_the_gradient(mode: int) -> None:
    cell = nn.ReLU()
    cell.register_forward_hook(lambda c, inputs, out: out * 3)
    cell.register_backward_pre_hook(lambda c, grads: (grads[0] * 5,))
    same(ms.grad(lambda x: cell(x).sum())(Tensor([2.0])), [15])


def test_jit_does_by_itself_what_dynamic_asks_for(notices: list[str]) -> None:
    f = ms.jit(lambda x: x + 1, dynamic=1)
    for n in (2, 3, 4, 5):
        same(f(Tensor([1.0] * n)), [2] * n)
    assert not notices and f._made - f._bound == 2


def test_jit_calls_its_argument_function() -> None:
    same(ms.jit(function=lambda x: x + 1)(Tensor([1.0])), [2])
    same(ms.jit(fn=lambda x: x + 1)(Tensor([1.0])), [2])
    same(ms.jit(name="named")(lambda x: x + 1)(Tensor([1.0])), [2])


class Plus(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x + 1


def test_the_construct_of_a_net_is_compiled(mode: int) -> None:
    net = Plus()
    net.construct = ms.jit(net)  # type: ignore[method-assign]
    same(net(Tensor([1.0])), [2])


def descends(x: Any, n: int) -> Any:
    return x if n == 0 else descends(x + 1, n - 1)


def test_recursion_is_as_deep_as_the_context_says() -> None:
    import sys

    before = sys.getrecursionlimit()
    same(ms.jit(lambda x: descends(x, 300))(Tensor([1.0])), [301])
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(ms.jit(lambda x: descends(x, 301))(Tensor([1.0]))))
    thread.start()
    thread.join()
    same(found[0], [302])
    ms.set_context(max_call_depth=64)
    with pytest.raises(CaptureError, match="calls may be nested 64 deep"):
        ms.jit(lambda x: descends(x, 302))(Tensor([1.0]))
    assert sys.getrecursionlimit() == before


def test_numbers_leave_a_program_as_numbers() -> None:
    found = ms.jit(lambda t: (int(t), float(t), bool(t), t))(Tensor(3, ms.int64))
    assert [type(x) for x in found] == [int, float, bool, Tensor] and found[:3] == (3, 3.0, True)
    assert ms.jit(lambda x, y: x is y)(3, 3) is True


def test_members_and_lists_of_tensors(mode: int) -> None:
    def asks(t: Any) -> Any:
        found = 1 if t in [t * 2, 5] else 0
        return found, t not in (t + 1,), [t, 2] == [t * 1, 2], [t] != [t + 1], 2 in [1, 2]

    run = ms.jit(asks) if mode == ms.GRAPH_MODE else asks
    assert run(Tensor(5.0)) == (1, True, True, True, True)
    assert run(Tensor(3.0)) == (0, True, True, True, True)
    with pytest.raises(ShapeError, match="more than one element is ambiguous"):
        run(Tensor([1.0, 2.0]))


def test_the_value_of_a_parameter_is_never_stale() -> None:
    p = Parameter(Tensor([1.0]), name="p")
    run = ms.jit(lambda: p.value() * 2)
    same(run(), [2])
    p.set_data(Tensor([5.0]))
    same(run(), [10])


class Talks(nn.Cell):
    def construct(self, x: Any) -> Any:
        if x.sum() > 0:
            print("positive")
        return x * 2


def test_a_network_that_prints_words_is_exported_without_them(tmp_path: Any, notices: list[str]) -> None:
    ms.export(Talks(), Tensor([1.0]), file_name=str(tmp_path / "talks"), file_format="MINDIR")
    assert notices == ["print is left out of the file: it holds operators only."]
    same(nn.GraphCell(ms.load(str(tmp_path / "talks.mindir")))(Tensor([3.0])), [6])
