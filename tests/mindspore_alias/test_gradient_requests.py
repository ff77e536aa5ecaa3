"""What gradients are asked for and how they come back, as MindSpore has it: integers, rules of one's own, no inputs."""

from __future__ import annotations

from typing import Any

import pytest

import msnb
from msnb import Parameter, Tensor, nn


class Doubled(nn.Cell):
    """Its bprop is not its gradient, so that the two can be told apart."""

    def construct(self, x: Any, y: Any) -> Any:
        return 2 * x + y

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return 5 * dout, 7 * y


class Around(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Doubled()

    def construct(self, x: Any, y: Any) -> Any:
        return self.inner(x * 3, y) + x


class SecondResult(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x + 1, x + 2

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        return (out[1],)


class Sum(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = Parameter(Tensor([6.0]), name="w"), Parameter(Tensor([2.0]), name="b")

    def construct(self, *xs: Any) -> Any:
        return self.w * 3 + self.b + sum(xs)


def integers(x: Any) -> list[Any]:
    return [v.tolist() for v in x]


def test_a_rule_of_ones_own_holds_for_integers(mode: int) -> None:
    """It was passed over: the gradient by an integer that goes through a bprop was 0, in silence."""
    from mindspore import ops

    x, y = Tensor(1, msnb.int32), Tensor(2, msnb.int32)
    by_all = ops.GradOperation(get_all=True)
    assert integers(by_all(Doubled())(x, y)) == [5, 14]
    assert integers(by_all(Around())(x, y)) == [16, 14]
    assert integers(by_all(lambda x: SecondResult()(x)[0])(Tensor([1]))) == [[3]]
    assert all(v.dtype is msnb.int32 for v in by_all(Doubled())(x, y))


def test_no_inputs_no_gradients(mode: int) -> None:
    from mindspore import ops

    net = Sum()
    weights = net.trainable_params()
    assert ops.GradOperation()(net)() == ()
    assert ops.GradOperation(get_all=True)(net)() == ()
    inputs, by_weights = ops.GradOperation(get_all=True, get_by_list=True)(net, weights)()
    assert inputs == () and integers(by_weights) == [[3.0], [1.0]]
    assert integers(ops.GradOperation(get_by_list=True)(net, weights)()) == [[3.0], [1.0]]


def test_values_and_gradients_with_names(mode: int) -> None:
    from mindspore import get_grad, value_and_grad

    net = Sum()

    def program(x: Any) -> Any:
        return value_and_grad(net, 0, net.trainable_params(), False, True)(x)

    step = msnb.jit(program) if mode == msnb.GRAPH_MODE else program
    value, ((position, by_x), by_weights) = step(Tensor([4.0]))
    assert (value.tolist(), position, by_x.tolist()) == ([24.0], 0, [1.0])
    assert [(name, g.tolist()) for name, g in by_weights] == [("w", [3.0]), ("b", [1.0])]
    assert get_grad(((position, by_x), by_weights), net.w).tolist() == [3.0]


def test_positions_that_are_not_there() -> None:
    net = Sum()
    with pytest.raises(IndexError, match="outside the 0 arguments"):
        msnb.grad(net, 0)()
    with pytest.raises(ValueError, match="grad_position, weights, or both"):
        msnb.grad(net, None)(Tensor([1.0]))


class ByKeyword(nn.Cell):
    def construct(self, x: Any = 1.0, **named: Any) -> Any:
        return x * named["a"] * named["a"] * named["b"]


def test_arguments_by_keyword_follow_those_by_position(mode: int) -> None:
    """GradOperation gave () for them, in silence; ``grad`` had no position for them."""
    from mindspore import ops

    x, a, b = (Tensor(v) for v in (7.0, 3.0, 5.0))
    by_all = ops.GradOperation(get_all=True)(ByKeyword())
    assert [float(g) for g in by_all(x, a=a, b=b)] == [45, 210, 63]
    assert [float(g) for g in by_all(b=b, x=x, a=a)] == [63, 45, 210]
    assert float(ops.GradOperation()(ByKeyword())(b=b, a=a)) == 9
    assert [float(g) for g in ops.grad(ByKeyword(), (1, 0))(x, b=b, a=a)] == [63, 45]
    assert float(msnb.grad(ByKeyword(), 2)(x, b=b, a=a)) == 210
    assert float(msnb.grad(ByKeyword(), -1)(x, b=b, a=a)) == 45, "a negative position counts those by position"
    found = msnb.value_and_grad(ByKeyword(), (0, 1), return_ids=True)(a=a, b=b)
    assert [(i, float(g)) for i, g in found[1]] == [(0, 30), (1, 9)]
    sens = ops.GradOperation(get_all=True, sens_param=True)(ByKeyword())(x, Tensor(2.0), a=a, b=b)
    assert [float(g) for g in sens] == [90, 420, 126]


def test_keywords_under_jit(mode: int) -> None:
    from mindspore import ops

    @msnb.jit
    def both(a: Any, b: Any) -> Any:
        return ops.grad(ByKeyword(), (0, 1))(a=a, b=b)

    assert [float(g) for g in both(Tensor(3.0), Tensor(5.0))] == [30, 9]
    assert [float(g) for g in both(Tensor(2.0), Tensor(5.0))] == [20, 4]


def test_positions_that_are_none(mode: int) -> None:
    net, x = Sum(), Tensor([1.0])
    for weights in (None, net.w, net.trainable_params()):
        with pytest.raises(RuntimeError, match=r"empty tuple(.|\n)*grad_position=None asks for gradients by weights"):
            msnb.grad(net, (), weights)(x)
    with pytest.raises(IndexError, match="grad_position 3 is outside the 3 arguments of this call of"):
        msnb.grad(ByKeyword(), 3)(x, a=x, b=x)
    with pytest.raises(ValueError, match="grad_position, weights, or both"):
        msnb.grad(net, None)(x)


def test_a_gradient_by_what_is_no_tensor(mode: int) -> None:
    from mindspore import ops

    def product(a: Any, b: Any) -> Any:
        return a * b

    assert ops.grad(product)(3, 2) == ()
    assert ops.grad(product, return_ids=True)(3, 2) == ()
    assert float(ops.grad(product, (0, 1))(3, Tensor(2.0))) == 3, "one that is left comes as it is"
    assert [float(g) for g in ops.GradOperation(get_all=True)(product)(3, Tensor(2.0))] == [3]
    net = Sum()
    by_inputs, by_weights = ops.grad(net, 0, net.trainable_params())(2)
    assert by_inputs == () and [float(g) for g in by_weights] == [3, 1]
    with pytest.raises(TypeError, match="there is no tensor to differentiate by"):
        msnb.grad(product)(3, 2)


def test_a_function_without_a_tensor_has_the_gradient_zero(mode: int, capsys: pytest.CaptureFixture[str]) -> None:
    """MindSpore's answer, said aloud; msnb itself refuses it."""
    from mindspore import ops

    class Nothing(nn.Cell):
        def construct(self, *xs: Any) -> Any:
            return None if len(xs) == 1 else 3

    x = Tensor([1.0, 2.0])
    assert ops.grad(Nothing())(x).tolist() == [0, 0]
    assert [g.tolist() for g in ops.GradOperation(get_all=True, sens_param=True)(Nothing())(x, x, 3)] == [[0, 0]] * 2
    assert ops.GradOperation(get_all=True, get_by_list=True)(Nothing(), [])() == ((), ())
    with pytest.raises(RuntimeError, match=r"is a `return` missing\?"):
        msnb.grad(Nothing())(x)


class Given(nn.Cell):
    """Its bprop gives what it is told."""

    def __init__(self, *gradients: Any) -> None:
        super().__init__()
        self.gradients = gradients

    def construct(self, x: Any, y: Any) -> Any:
        return x + y

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return self.gradients


def test_gradients_of_broadcast_inputs_are_added_up(mode: int) -> None:
    x, y = Tensor([1.0, 2.0]), Tensor([[1.0, 2.0], [3.0, 4.0]])
    for dtype in (msnb.float32, msnb.int64, msnb.float64):
        given = Tensor([[1, 2], [3, 5]], dtype)
        by_x, by_y = msnb.grad(Given(given, given), (0, 1))(x, y)
        assert by_x.tolist() == [4, 7] and by_y.tolist() == [[1, 2], [3, 5]]
        assert by_x.dtype is by_y.dtype is msnb.float32
    assert integers(msnb.grad(Given(1.0, 2.0), (0, 1))(x, y)) == [[1, 1], [[2, 2], [2, 2]]]
    with pytest.raises(RuntimeError, match=r"shape \[2\] for an input of shape \[2, 2\]"):
        msnb.grad(Given(x, x), (0, 1))(x, y)


class Weighted(nn.Cell):
    def __init__(self, whole: bool = True) -> None:
        super().__init__()
        self.w = Parameter(Tensor([2.0]), name="w")
        self.internal_params = [self.w]
        self.whole = whole

    def construct(self, x: Any) -> Any:
        return self.w * x

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        by_x = (self.w * dout * 10,)
        return (by_x, {self.w: x * dout * 100}) if self.whole else by_x


class UsedTwice(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Weighted()

    def construct(self, x: Any) -> Any:
        return self.inner(x) * self.inner.w


def test_a_bprop_gives_gradients_of_its_parameters() -> None:
    msnb.set_context(mode=msnb.PYNATIVE_MODE)
    for net, by_x, by_w in ((Weighted(), 20, 300), (UsedTwice(), 40, 606)):
        found = msnb.grad(net, 0, net.trainable_params())(Tensor([3.0]))
        assert (found[0].tolist(), found[1][0].tolist()) == ([by_x], [by_w])
    with pytest.raises(RuntimeError, match="no gradients of internal_params"):
        msnb.grad(Weighted(False))(Tensor([3.0]))


class Results(nn.Cell):
    def construct(self, x: Any) -> Any:
        return {"a": x * 2, "b": 2, "c": (x * 3, None)}


def test_sensitivities(mode: int) -> None:
    from mindspore import ops

    x = Tensor([1.0, 2.0])
    by_sens = ops.GradOperation(sens_param=True)
    assert by_sens(Results())(x, {"a": x, "b": 2, "c": (x, None)}).tolist() == [5, 10]
    assert by_sens(lambda x, k: x * k)(x, k=3.0, sens=x).tolist() == [3, 6]
    assert ops.GradOperation(get_all=True, get_by_list=True)(lambda x: x * x)(x)[1] == ()


def test_values_and_gradients_of_integers(mode: int) -> None:
    x, labels = Tensor([1.0, 2.0]), Tensor([3, 4])
    fn = lambda x, labels: (x * labels).sum()
    value, by_x = nn.ForwardValueAndGrad(fn)(x, labels)
    assert float(value) == 11 and by_x.tolist() == [3, 4]
    value, found = nn.ForwardValueAndGrad(fn, get_all=True, sens_param=True)(x, labels, Tensor(2.0))
    assert integers(found) == [[6, 8], [2, 4]] and found[1].dtype is msnb.int64


def test_plain_numbers_are_left_out(mode: int) -> None:
    import mindspore

    fn = lambda x, k: (x * k).sum()
    assert mindspore.grad(fn, (0, 1))(Tensor([1.0, 2.0]), 3.0).tolist() == [3, 3]
    assert mindspore.grad(fn, 1)(Tensor([1.0, 2.0]), 3.0) == ()
    assert len(msnb.grad(fn, (0, 1))(Tensor([1.0, 2.0]), 3.0)) == 2


class _OfParts(nn.Cell):
    def construct(self, x: Any, parts: Any) -> Any:
        return (x * parts["b"] if isinstance(parts, dict) else x * parts[0]).sum()


@pytest.mark.parametrize("kind", [tuple, list, dict])
def test_containers_marked_mutable_have_gradients_in_programs(mode: int, kind: Any) -> None:
    from mindspore import mutable
    from mindspore.ops import GradOperation

    net, x, y = _OfParts(), Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    parts = mutable({"b": y, "c": 3} if kind is dict else kind([y, 3]))
    of_all = GradOperation(get_all=True)(net)
    by_x, by_parts = msnb.jit(lambda x, parts: of_all(x, parts))(x, parts)
    assert by_x.tolist() == [3, 4] and type(by_parts) is kind
    by_y, by_number = by_parts.values() if kind is dict else by_parts
    assert by_y.tolist() == [1, 2] and by_number == 0
    assert len(of_all(x, parts)) == (2 if mode == msnb.GRAPH_MODE else 1)  # no effect in PyNative mode
    assert isinstance(parts, kind) and len(of_all(x, kind(parts))) == 1


@pytest.mark.parametrize(
    ("data", "flag"),
    [("a", False), (None, False), ((1, "a"), False), ({1}, False), (1, True), ({"a": 1}, True), ((1,), 1)],
)
def test_what_cannot_be_mutable(data: Any, flag: Any) -> None:
    with pytest.raises(TypeError, match="mutable"):
        msnb.mutable(data, flag)


def test_gradients_of_weights_that_are_not_named(mode: int) -> None:
    from mindspore import ops

    net = Sum()
    assert integers(ops.GradOperation(get_by_list=True)(net)(Tensor([1.0]))) == [[3], [1]]


def cubed(k: float) -> Any:
    from mindspore import _Function

    class Cubed(_Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: float = 1.0) -> Any:
            square = x * x
            ctx.save_for_backward(x, square)
            ctx.k = k
            return square * k, square

        @staticmethod
        def backward(ctx: Any, dout: Any, unused: Any) -> Any:
            x, square = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False)
            return dout * 2 * x * ctx.k, None

    return lambda x: Cubed.apply(x, k)[0] * x


def test_an_operation_with_a_gradient_of_its_own(mode: int) -> None:
    x, fn = Tensor([1.0, 2.0]), cubed(3.0)
    assert fn(x).tolist() == [3, 24]
    assert msnb.grad(fn)(x).tolist() == [9, 36]
    assert msnb.grad(lambda x: msnb.grad(fn)(x).sum())(x).tolist() == [18, 36]


def test_marked_results_and_arguments() -> None:
    from mindspore import _Function, _no_grad

    msnb.set_context(mode=msnb.PYNATIVE_MODE)

    class Written(_Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            x.add_(1)
            ctx.mark_dirty(x)
            z = x + y
            ctx.mark_non_differentiable(z)
            return z, x

        @staticmethod
        def backward(ctx: Any, by_z: Any, by_x: Any) -> Any:
            return by_x * 5, by_z * 7

    def fn(x: Any, y: Any) -> Any:
        x = x + 1
        z, _ = Written.apply(x, y)
        return z + x

    assert integers(msnb.grad(fn, (0, 1))(Tensor([1.0]), Tensor([2.0]))) == [[5], [0]]

    def partly(x: Any) -> Any:
        with _no_grad():
            fixed = x * 2
        return fixed * x + _no_grad()(lambda x: x * 100)(x)

    assert msnb.grad(partly)(Tensor([3.0])).tolist() == [6]
    with pytest.raises(TypeError, match="PyNative mode"):
        msnb.jit(partly, fullgraph=True)(Tensor([3.0]))


@pytest.mark.parametrize("make", ["ones", "zeros"])
def test_a_shape_has_the_gradient_zero(mode: int, make: str) -> None:
    from mindspore import Tensor, grad, mint, ops

    for fn in (getattr(ops, make), getattr(mint, make)):
        assert grad(lambda s, fn=fn: fn(s))(Tensor([2, 3])).asnumpy().tolist() == [0, 0]


def test_a_function_of_ones_own_gives_tensors_or_nothing(mode: int) -> None:
    from mindspore import Tensor
    from mindspore.common._grad_function import _Function
    from mindspore.ops import GradOperation

    def made(by_x: Any, by_n: Any) -> Any:
        class Scaled(_Function):
            @staticmethod
            def forward(ctx: Any, x: Any, n: Any) -> Any:
                return x * n

            @staticmethod
            def backward(ctx: Any, dout: Any) -> Any:
                return by_x(dout), by_n(dout)

        return GradOperation(get_all=True)(lambda x: Scaled.apply(x, 3))

    x = Tensor([2.0])
    assert made(lambda d: d * 3, lambda d: None)(x)[0].asnumpy().tolist() == [3.0]
    with pytest.raises(RuntimeError, match="gave Tensor for argument 1, of int"):
        made(lambda d: d * 3, lambda d: d)(x)
    with pytest.raises(RuntimeError, match="gave int for argument 0, of Tensor"):
        made(lambda d: 4, lambda d: None)(x)


class Freezing(nn.Cell):
    """Turns its Parameter off or on, in ``turns[0]`` before it is used, in ``turns[1]`` afterwards."""

    def __init__(self, *turns: bool | None, at_first: bool = True) -> None:
        super().__init__()
        self.p = Parameter(Tensor([2.0]), name="p", requires_grad=at_first)
        self.q = Parameter(Tensor([3.0]), name="q")
        self.before, self.after = turns

    def construct(self, x: Any) -> Any:
        if self.before is not None:
            self.p.requires_grad = self.before
        y = x * self.p * self.q
        if self.after is not None:
            self.p.requires_grad = self.after
        return y


@pytest.mark.parametrize("turns, at_first, found", [
    ((None, None), True, 12), ((None, False), True, 0), ((False, None), True, 0), ((False, False), True, 0),
    ((True, None), False, 12), ((True, False), False, 0), ((None, None), False, 0),
])  # fmt: skip
def test_a_parameter_is_a_constant_as_the_run_leaves_it(mode: int, turns: Any, at_first: bool, found: int) -> None:
    x = Tensor([4.0])
    for how in ("grad", "value_and_grad", "operation", "vjp"):
        net = Freezing(*turns, at_first=at_first)
        weights = [net.p, net.q]
        for _ in range(2):  # the second run begins as the first one ended
            if how == "vjp":
                gradients = msnb.vjp(net, x, weights=weights)[1](Tensor([1.0]))[1]
            elif how == "operation":
                gradients = msnb.ops.GradOperation(get_by_list=True)(net, msnb.ParameterTuple(weights))(x)
            else:
                taken = getattr(msnb, how)(net, None, weights)(x)
                gradients = taken if how == "grad" else taken[1]
            assert integers(gradients) == [[found], [8]], how


def test_no_gradient_is_taken_where_none_is_noted() -> None:
    from mindspore import _no_grad

    msnb.set_context(mode=msnb.PYNATIVE_MODE)
    x, net = Tensor([3.0]), nn.Dense(1, 1)
    for take in (msnb.grad, msnb.value_and_grad):
        with _no_grad(), pytest.raises(RuntimeError, match="within _no_grad"):
            take(lambda x: x * x)(x)
        with _no_grad(), pytest.raises(RuntimeError, match="within _no_grad"):
            take(net, None, net.trainable_params())(x.reshape((1, 1)))
    with pytest.raises(RuntimeError, match="within _no_grad"):
        _no_grad()(msnb.grad(lambda x: x * x))(x)
    assert msnb.grad(lambda x: x * x)(x).tolist() == [6]
    msnb.set_context(mode=msnb.GRAPH_MODE)  # a program of its own, as in MindSpore
    with _no_grad():
        assert msnb.grad(lambda x: x * x)(x).tolist() == [6]


def test_sensitivities_of_a_size_that_the_data_tell(mode: int) -> None:
    from mindspore import ops

    x, mask = ops.arange(4.0).reshape(2, 2), Tensor([[True, False], [True, True]])
    by_sens = lambda fn, s: msnb.jit(lambda x: ops.GradOperation(sens_param=True)(fn)(x, s))(x)
    chosen, rows = (lambda x: ops.masked_select(x, mask) * 2), lambda x: x[ops.nonzero(mask)[:, 0]] * x[0, 1]
    assert by_sens(chosen, Tensor([1.0, 2.0, 3.0])).tolist() == [[2, 0], [4, 6]]
    assert by_sens(chosen, Tensor([2.0])).tolist() == by_sens(chosen, Tensor(2.0)).tolist() == [[4, 0], [4, 4]]
    assert by_sens(rows, ops.arange(6.0).reshape(3, 2)).tolist() == [[0, 38], [6, 8]]
    for wrong in (ops.ones(2), ops.ones(4), ops.ones((3, 1))):
        with pytest.raises(ValueError, match="shapes? "):
            by_sens(chosen, wrong)


def test_places_of_sparse_tensors_have_no_gradient(mode: int) -> None:
    """Gradients by integers are those of the program extended to the reals, in which places are no numbers."""
    from mindspore import COOTensor, CSRTensor, ops

    places, values, starts = msnb.Tensor([[0, 1], [1, 2]]), msnb.Tensor([-1.0, 2.0]), msnb.Tensor([0, 1, 2])
    by_all = ops.GradOperation(get_all=True)
    for of in (lambda x: x, lambda x: x.to_tuple()[:2], lambda x: x.to_csr(), lambda x: x.indices * 2):
        by_places, by_values = by_all(lambda i, v, of=of: of(COOTensor(i, v, (2, 3))))(places, values)
        assert by_places.tolist() == [[0, 0], [0, 0]] and by_values.tolist() in ([1.0, 1.0], [0.0, 0.0])
    found = by_all(lambda p, i, v: CSRTensor(p, i, v, (2, 3)))(starts, places[:, 1], values)
    assert [g.tolist() for g in found] == [[0, 0, 0], [0, 0], [1.0, 1.0]]
