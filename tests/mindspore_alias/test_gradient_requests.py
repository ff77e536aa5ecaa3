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
