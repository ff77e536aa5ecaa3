"""Transforms where something outside takes part: Parameters, hooks, random draws, assignments, Python."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import events
from msnb.base.errors import DTypeError, GradientError
from msnb.train import amp

pytestmark = pytest.mark.usefixtures("mode")


def tensor(*values: Any) -> ms.Tensor:
    return ms.Tensor(np.array(values, np.float32))


@pytest.fixture
def w() -> ms.Parameter:
    return ms.Parameter(tensor(2.0, 3.0), name="w")


def lists(tree: Any) -> Any:
    return [lists(part) for part in tree] if isinstance(tree, (tuple, list)) else tree.tolist()


class Both(nn.Cell):
    """Uses its weight and gives it back."""

    def __init__(self) -> None:
        super().__init__()
        self.w = ms.Parameter(tensor(2.0, 2.0), name="w")

    def construct(self, x: Any) -> Any:
        return x * self.w * 3, self.w


# ---- Parameters


def test_vjp_by_a_weight_that_is_read_transposed() -> None:
    net = nn.Dense(2, 1)
    out, pull = ms.vjp(net, tensor([1, 3], [2, 4]), weights=net.trainable_params())
    (dx,), dw = pull(ops.ones_like(out))
    assert lists(dw) == [[[3.0, 7.0]], [2.0]]
    np.testing.assert_allclose(dx.asnumpy(), np.repeat(net.weight.asnumpy(), 2, 0))


def test_gradients_by_a_weight_under_another_transform(w: ms.Parameter) -> None:
    g = ms.grad(lambda x: (x * x * w * w).sum(), None, w)
    x = ops.ones(2)
    assert lists(ms.vmap(g)(ops.ones((2, 2)))) == [[4.0, 6.0], [4.0, 6.0]]
    assert lists(ms.jvp(g, x, x)[1]) == [8.0, 12.0]
    for jacobian in (ms.jacrev, ms.jacfwd):
        assert lists(jacobian(g)(x)) == [[8.0, 0.0], [0.0, 12.0]]
    mapped = ms.grad(lambda x: ms.vmap(ms.grad(lambda a: (a * a * w * w).sum()))(x).sum(), None, w)
    assert lists(mapped(ops.ones((2, 2)))) == [16.0, 24.0]


def test_a_weight_asked_for_twice(w: ms.Parameter) -> None:
    assert lists(ms.grad(lambda x: (x * w).sum(), None, [w, w])(tensor(1, 4))) == [[1.0, 4.0], [1.0, 4.0]]


def test_weights_given_by_an_iterator(w: ms.Parameter) -> None:
    g = ms.grad(lambda x: (x * w).sum(), None, iter([w]))
    assert [lists(g(tensor(1, 4))) for _ in range(3)] == [[[1.0, 4.0]]] * 3


def test_a_weight_that_is_itself_a_result() -> None:
    net = Both()
    assert lists(ms.grad(net, 0, net.trainable_params())(tensor(1, 2))) == [[6.0, 6.0], [[4.0, 7.0]]]
    assert lists(ms.grad(lambda x: net.w, None, net.w)(tensor(1, 2))) == [1.0, 1.0]
    (value, itself), _ = ms.value_and_grad(net, 0, net.trainable_params())(tensor(1, 2))
    assert lists([value, itself]) == [[6.0, 12.0], [2.0, 2.0]] and net.w._rec is None


def test_a_frozen_weight_is_a_constant(w: ms.Parameter, notices: list[str]) -> None:
    b = ms.Parameter(tensor(1.0), name="b")
    w.requires_grad = False
    f = lambda x: (x * w * b).sum()
    assert lists(ms.grad(f, 0, [w, b])(tensor(1, 4))) == [[2.0, 3.0], [[0.0, 0.0], [14.0]]]
    assert lists(ms.vjp(f, tensor(1, 4), weights=[w, b])[1](ms.Tensor(1.0))[1]) == [[0.0, 0.0], [14.0]]
    assert any("requires_grad is False" in n for n in notices)
    w.requires_grad = True
    assert lists(ms.grad(f, 0, [w, b])(tensor(1, 4))) == [[2.0, 3.0], [[1.0, 4.0], [14.0]]]


def test_weights_of_a_compiled_function_that_is_computed_again(w: ms.Parameter) -> None:
    f = ms.jit(lambda x: (x * w).sum())
    assert lists(ms.grad(lambda x: ms.recompute(f, x), None, w)(tensor(1, 2))) == [1.0, 2.0]
    assert lists(ms.vjp(lambda x: ms.recompute(f, x), tensor(1, 2), weights=w)[1](ms.Tensor(1.0))[1]) == [1.0, 2.0]
    given_back = ms.vjp(lambda x: ms.recompute(lambda _: w, x), tensor(1, 2), weights=w)[1]
    assert lists(given_back(tensor(1, 1))[1]) == [1.0, 1.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_weights_of_a_gradient_that_is_computed_again(compiled: bool, w: ms.Parameter) -> None:
    f = ms.jit(lambda x: (x * x * w).sum()) if compiled else lambda x: (x * x * w).sum()
    inner = ms.vjp(lambda x: ms.recompute(lambda a: ms.vjp(f, a)[1](ms.Tensor(1.0))[0], x), tensor(1, 4), weights=w)[1]
    assert lists(inner(tensor(1, 1))) == [[[4.0, 6.0]], [2.0, 8.0]]
    again = ms.grad(lambda x: ms.recompute(lambda a: ms.grad(f)(a), x).sum(), 0, w)
    assert lists(again(tensor(1, 4))) == [[4.0, 6.0], [2.0, 8.0]]


def test_a_pullback_can_be_transformed() -> None:
    _, pull = ms.vjp(lambda x: x * x, tensor(3.0))
    assert lists(ms.grad(lambda v: pull(v)[0].sum())(tensor(1.0))) == [6.0]
    assert lists(ms.jvp(lambda v: pull(v)[0], tensor(1.0), tensor(2.0))[1]) == [12.0]
    assert lists(ms.vmap(pull)(tensor([1.0], [2.0]))) == [[[6.0], [12.0]]]


def test_second_derivatives_through_a_pullback(w: ms.Parameter) -> None:
    def f(x: Any) -> Any:
        y, pull = ms.vjp(lambda a: a * a * w, x)
        return pull(ops.ones_like(y))[0].sum()

    assert lists(ms.grad(f, 0, w)(tensor(1, 4))) == [[4.0, 6.0], [2.0, 8.0]]


def test_a_gradient_inside_a_gradient_rule_needs_the_weight_as_an_argument(w: ms.Parameter) -> None:
    rule = lambda x, out, dout: dout * ms.grad(lambda a: (a * w).sum(), None, w)(x)
    squared = ms.custom_vjp(lambda x: x * x, rule)
    try:
        assert lists(ms.grad(lambda x: squared(x).sum())(tensor(1, 4))) == [1.0, 4.0]
    except GradientError as error:
        assert "as an argument" in str(error)


def test_gradients_of_a_rule_belong_to_the_tensors_of_their_argument() -> None:
    scaled = ms.custom_vjp(lambda pair: pair[0] * pair[1], lambda pair, out, dout: ((None, dout * 7),))
    assert lists(ms.grad(lambda x: scaled((3.0, x)).sum())(tensor(1, 2))) == [7.0, 7.0]
    nothing = ms.custom_vjp(lambda x: x * 2, lambda x, out, dout: (None,))
    assert lists(ms.grad(lambda x: nothing(x).sum())(tensor(np.inf, np.nan))) == [0.0, 0.0]
    short = ms.custom_vjp(lambda pair: pair[0] * pair[1], lambda pair, out, dout: ((dout,),))
    with pytest.raises(GradientError, match="gave 1 gradients for argument 0, which holds 2 tensors"):
        ms.grad(lambda x: short((x, x + 1)).sum())(tensor(1, 2))


# ---- results of another kind, positions


def test_all_inputs_have_an_entry_integers_too() -> None:
    every = ops.GradOperation(get_all=True)
    at, table = ms.Tensor([1, 0], ms.int32), tensor([1, 2], [3, 4])
    assert lists(every(lambda i, t: (t[i] * 2).sum())(at, table)) == [[0, 0], [[2.0, 2.0], [2.0, 2.0]]]
    assert lists(every(lambda i, t: (ops.one_hot(i, 2) * t).sum())(at, table)) == [[0, 0], [[0.0, 1.0], [1.0, 0.0]]]
    right = every(lambda i, t: (t.argmax(1) == i).astype(ms.float32).sum() + t.sum())(at, table)
    assert lists(right) == [[0, 0], [[1.0, 1.0], [1.0, 1.0]]]
    di, dt = every(nn.CrossEntropyLoss())(table, at)[::-1]
    assert (di.dtype, di.shape, dt.shape) == (ms.int32, (2,), (2, 2))


@pytest.mark.parametrize(
    "f", [lambda i, x: (i * x).sum(), lambda i, x: i * i, lambda i, x: (i.astype(ms.float32) * x).sum()]
)
def test_an_integer_that_is_computed_with_is_refused_not_zero(f: Any) -> None:
    with pytest.raises(DTypeError, match="computed with"):
        ops.GradOperation(get_all=True)(f)(ms.Tensor([1, 2], ms.int32), tensor(1, 2))


def test_a_tuple_of_one_position_gives_a_tuple_of_one_gradient() -> None:
    assert lists(ms.grad(lambda x: x * x, (0,))(tensor(3.0))) == [[6.0]]
    assert lists(ms.grad(lambda x: x * x, 0)(tensor(3.0))) == [6.0]


# ---- hooks


def test_a_hook_on_an_input_sees_its_gradient() -> None:
    x, seen = tensor(1.0), list[Any]()
    handle = x.register_hook(lambda g: seen.append(g.tolist()))
    doubling = x.register_hook(lambda g: g * 2)
    g = ms.grad(lambda x: x * 3)
    assert lists([g(x), g(tensor(1.0)), g(x)]) == [[6.0], [3.0], [6.0]]
    assert seen == [[3.0], [3.0]]
    doubling.remove()
    handle.remove()
    assert lists(g(x)) == [3.0] and len(seen) == 2
    assert lists(ms.value_and_grad(lambda a, b: a * b, (0, 1))(x, tensor(2.0))[1]) == [[2.0], [1.0]]


def test_a_hook_inside_can_be_taken_away() -> None:
    def f(x: Any) -> Any:
        y = x * x
        handle = y.register_hook(lambda g: 10 * g)
        y.register_hook(lambda g: 3 * g)
        handle.remove()
        return y.sum()

    assert lists(ms.grad(f)(tensor(3.0))) == [18.0]


# ---- random draws, decisions


@pytest.mark.parametrize(
    "draw",
    [lambda a: ops.dropout(a, 0.5), lambda a: a + ops.randn(40), lambda a: a + ops.rand(40)],
    ids=["dropout", "randn", "rand"],
)
def test_every_lane_draws_for_itself_and_both_modes_draw_alike(draw: Any) -> None:
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        ms.set_seed(5)
        found.append(ms.vmap(draw)(ops.ones((3, 40))).asnumpy())
    rows = {row.tobytes() for row in found[0]}
    assert len(rows) == 3
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_dropout_of_a_network_in_training_differs_between_examples() -> None:
    net = nn.SequentialCell(nn.Dense(4, 40), nn.Dropout(p=0.5)).set_train()
    weights = net.trainable_params()
    g = ms.vmap(ms.grad(lambda x: net(x).sum(), None, weights))(ops.ones((3, 4)))
    assert len({row.tobytes() for row in g[0].asnumpy()}) == 3


def test_decisions_are_made_per_lane() -> None:
    def count(x: Any) -> Any:
        n = ops.zeros(())
        while x.sum() > 1:
            x, n = x / 2, n + 1
        return n

    assert lists(ms.vmap(lambda x: x * 2 if x.sum() > 0 else x - 1)(tensor([1], [-1]))) == [[2.0], [-2.0]]
    assert lists(ms.vmap(count)(tensor([1], [5], [9]))) == [0.0, 3.0, 4.0]


# ---- assignments


def test_a_mapped_function_may_assign_its_argument() -> None:
    p = ms.Parameter(tensor([1, 2], [3, 4]), name="p")
    assert lists(ms.vmap(lambda a: ops.assign(a, a * 2).sum())(p)) == [6.0, 14.0]
    assert lists(p) == [[2.0, 4.0], [6.0, 8.0]]
    ms.vmap(lambda a: ops.assign(a, a + ops.arange(2)), in_axes=1)(p)
    assert lists(p) == [[2.0, 4.0], [7.0, 9.0]]


def test_an_unmapped_argument_takes_no_value_per_lane() -> None:
    p = ms.Parameter(tensor(1.0), name="p")
    with pytest.raises(GradientError, match="p is the same for all lanes"):
        ms.vmap(lambda a, p: ops.assign(p, a), in_axes=(0, None))(tensor([1], [2]), p)
    assert lists(p) == [1.0]


@pytest.mark.parametrize("how", ["grad", "vjp", "jvp", "jacrev", "recompute"])
def test_a_transformed_function_assigns_its_argument_as_the_function_does(how: str) -> None:
    def f(x: Any) -> Any:
        x[0] = x[1] * 3
        return (x * x).sum()

    x = tensor(1, 2)
    if how == "vjp":
        gradient = ms.vjp(f, x)[1](ms.Tensor(1.0))[0]
    elif how == "jvp":
        gradient = ms.jvp(f, x, tensor(0, 1))[1]
    else:
        run = {"grad": ms.grad, "jacrev": ms.jacrev, "recompute": lambda f: ms.grad(lambda x: ms.recompute(f, x))}
        gradient = run[how](f)(x)
    assert lists(gradient) == (40.0 if how == "jvp" else [0.0, 40.0])
    assert lists(x) == [6.0, 2.0]


@pytest.mark.parametrize("how", ["assign", "assign_add", "result"])
def test_gradients_flow_through_assignments(how: str) -> None:
    """``ops.assign(p, v)`` gives p the value v, its dependence on x included: both modes, all transforms."""
    p = ms.Parameter(ms.Tensor(5.0), name="p")

    def f(x: Any) -> Any:
        (ops.assign_add if how == "assign_add" else ops.assign)(p, x * 3)
        return (x * 10, p) if how == "result" else x * 10 + p

    assert lists(ms.grad(f)(ms.Tensor(2.0))) == 13.0
    assert lists(ms.vjp(f, ms.Tensor(2.0))[1](*[ms.Tensor(1.0)] * (2 if how == "result" else 1))) == [13.0]
    assert p._rec is None


# ---- Python around and inside


class WrittenUnderABranch(nn.Cell):
    """Assigns its weight where the sum of the input is large."""

    def __init__(self) -> None:
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([[1.0, -0.5], [0.25, 2.0]]), name="w")

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        if x.sum() > 100:
            ops.assign_add(self.w, self.w)
        return ops.matmul(x, self.w) * x.sum()


class WrittenInALoop(WrittenUnderABranch):
    """Assigns its weight as often as the input says."""

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        while x.sum() > 100:
            ops.assign_add(self.w, self.w)
            x = x - 50
        return ops.matmul(x, self.w) * x.sum()


def _assigned(net: Any, x: Any) -> None:
    ops.assign_add(net.w, net.w * 0.0)


def _differentiated(net: Any, x: Any) -> None:
    ms.grad(net)(x)


@pytest.mark.parametrize("kind", [WrittenUnderABranch, WrittenInALoop])
@pytest.mark.parametrize("before", [_assigned, _differentiated])
@pytest.mark.parametrize("how", ["grad", "vjp", "jvp of grad", "value_and_grad"])
@pytest.mark.parametrize("size", [1.0, 90.0])
def test_a_weight_that_was_assigned_and_may_be_again(kind: Any, before: Any, how: str, size: float) -> None:
    x = ms.Tensor([1.0, 0.5]) * size

    def gradient(net: Any, x: Any) -> Any:
        before(net, x)
        weights = net.trainable_params()
        if how == "grad":
            return ms.grad(net, None, weights)(x)[0]
        if how == "vjp":
            return ms.vjp(net, x, weights=weights)[1](ops.ones(2))[1][0]
        if how == "value_and_grad":
            return ms.value_and_grad(net, 0, weights)(x)[1][1][0]
        return ms.jvp(lambda v: ms.grad(net, None, weights)(v)[0], (x,), (x,))[1]

    eager, net = gradient(kind(), x), kind()
    compiled = ms.jit(lambda x: gradient(net, x))(x)
    np.testing.assert_allclose(compiled.asnumpy(), eager.asnumpy(), rtol=1e-6)
    assert (eager.asnumpy() != 0).all()


def test_a_repeated_transform_is_captured_once(w: ms.Parameter) -> None:
    compiled: list[Any] = []
    with events.listening("compiled", lambda **what: compiled.append(what["reason"])):
        for k in range(4):
            if k == 2:
                compiled.clear()  # one for the product, two sizes of the batch
            scale = float(k)
            v = tensor(1, k)
            found = ms.jvp(ms.grad(lambda x: (x**3 * w).sum() * scale), v, v)[1]
            assert lists(found) == [12.0 * k, 18.0 * k**3]
            ms.vmap(ms.grad(lambda x: (x * w).sum(), None, w))(ops.ones((k % 2 + 1, 2)))
    assert not compiled


def test_a_wrapper_of_a_transform_is_not_taken_for_it() -> None:
    mapped = ms.vmap(lambda x: x * 2)

    @functools.wraps(mapped)
    def plus_one(x: Any) -> Any:
        return mapped(x) + 1

    assert lists(ms.vmap(plus_one)(tensor([1, 2], [3, 4]))) == [[3.0, 5.0], [7.0, 9.0]]
    assert lists(ms.jvp(plus_one, tensor(1, 2), tensor(1, 1))[0]) == [3.0, 5.0]


def test_what_python_does_inside_happens_at_every_call(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []

    def f(x: Any) -> Any:
        seen.append(len(seen))
        print("sum", x.sum())
        return x * x

    for _ in range(3):
        ms.jvp(f, tensor(1, 2), tensor(1, 0))
    assert len(seen) == 3
    assert capsys.readouterr().out.count("sum 3.0") == 3


def test_a_changed_global_is_seen() -> None:
    box = {"k": 2.0}
    mapped = ms.vmap(lambda x: x * box["k"])
    first = lists(mapped(tensor(1, 2)))
    box["k"] = 5.0
    assert [first, lists(mapped(tensor(1, 2)))] == [[2.0, 4.0], [5.0, 10.0]]


def test_transforms_inside_an_eager_gradient_see_closed_over_tensors(w: ms.Parameter) -> None:
    def f(x: Any) -> Any:
        y = x * w
        return ms.vmap(lambda a: a * y.sum())(ops.arange(3).astype(ms.float32)).sum()

    assert lists(ms.grad(f, 0, w)(tensor(1, 4))) == [[6.0, 9.0], [3.0, 12.0]]


class Rows(nn.Cell):
    """A layer over rows: mapped, or one after the other."""

    def __init__(self, mapped: bool) -> None:
        super().__init__()
        self.dense = nn.Dense(2, 2, weight_init=tensor([0.1, 0.7], [0.3, 1.1]), has_bias=False)
        self.mapped = mapped

    def construct(self, x: Any) -> Any:
        return ms.vmap(self.dense)(x) if self.mapped else ops.stack([self.dense(row) for row in x])


@pytest.mark.parametrize("level", ["O1", "O2", "O3"])
def test_transforms_in_mixed_precision_follow_the_rule(level: str) -> None:
    x = tensor([0.3, 1.7], [2.1, 0.9])
    found, want = (amp.auto_mixed_precision(Rows(mapped), level, ms.float16)(x) for mapped in (True, False))
    assert found.dtype is want.dtype
    np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), rtol=2e-3)
    exact = x.asnumpy() @ np.array([[0.1, 0.7], [0.3, 1.1]], np.float32).T
    assert not np.array_equal(found.asnumpy().astype(np.float32), exact)


@pytest.mark.long
@pytest.mark.parametrize("how", ["vmap", "jvp", "jit", "jacrev"])
def test_a_kept_program_does_not_keep_the_network(how: str) -> None:
    def run() -> weakref.ref[Any]:
        net = nn.Dense(2, 2)
        x = ops.ones((3, 2))
        if how == "jvp":
            ms.jvp(lambda a: net(a), x, x)
        elif how == "jit":
            ms.jit(lambda a: net(a))(x)
        else:
            transform = getattr(ms, how)
            transform(ms.grad(lambda a: net(a).sum(), None, net.trainable_params()))(x)
        return weakref.ref(net.weight)

    found = [run() for _ in range(2)]
    gc.collect()
    assert [weight() for weight in found] == [None, None]
