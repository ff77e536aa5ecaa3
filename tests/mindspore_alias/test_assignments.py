"""Gradients and shapes of assignments to Parameters, as MindSpore has them under the alias. Both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import msnb
from msnb import Parameter, Tensor, nn, ops
from msnb.as_mindspore import uninstall
from msnb.base import events
from msnb.base.errors import CaptureError


def by_call(net: Any, x: Any) -> None:
    ops.assign(net.p, x * 3)


def by_primitive(net: Any, x: Any) -> None:
    ops.Assign()(net.p, x * 3)


def by_attribute(net: Any, x: Any) -> None:
    net.p = x * 3


def by_adding(net: Any, x: Any) -> None:
    ops.assign_add(net.p, x * 3)


def by_operator(net: Any, x: Any) -> None:
    net.p += x * 3


class Net(nn.Cell):
    def __init__(self, write: Callable[[Any, Any], None], value: Any = 5.0) -> None:
        super().__init__()
        self.p = Parameter(Tensor(value), name="p")
        self.write = write

    def construct(self, x: Any) -> Any:
        self.write(self, x)
        return (x * 10 + self.p * 2).sum()


WRITES = (by_call, by_primitive, by_attribute, by_adding, by_operator)


@pytest.mark.parametrize("write", WRITES)
def test_the_gradient_ends_at_the_parameter(mode: int, write: Any) -> None:
    net = Net(write)
    of_x, of_p = msnb.grad(net, 0, net.trainable_params())(Tensor(2.0))
    assert float(of_x) == 10.0 and float(of_p[0]) == 2.0
    assert float(net.p) == (11.0 if write in (by_adding, by_operator) else 6.0)


@pytest.mark.parametrize("write", WRITES)
def test_without_the_alias_the_gradient_goes_on(mode: int, write: Any) -> None:
    uninstall()
    net = Net(write)
    of_x, of_p = msnb.grad(net, 0, net.trainable_params())(Tensor(2.0))
    assert float(of_x) == 16.0
    assert float(of_p[0]) == (2.0 if write in (by_adding, by_operator) else 0.0)


def test_values_that_are_infinite(mode: int) -> None:
    net = Net(by_call)
    of_x, of_p = msnb.grad(net, 0, net.trainable_params())(Tensor(float("inf")))
    assert float(of_x) == 10.0 and float(of_p[0]) == 2.0


def test_in_a_loop_that_a_tensor_ends(mode: int) -> None:
    class Loop(Net):
        def construct(self, x: Any) -> Any:
            out, i = x * 0, Tensor(0)
            while i < 3:
                self.p = x * out
                out = out + x * x
                i = i + 1
            return out + self.p

    net = Loop(by_call)
    assert float(msnb.grad(net)(Tensor(2.0))) == 12.0
    assert float(net.p) == 16.0


def test_second_order(mode: int) -> None:
    net = Net(by_call)
    by_x = msnb.grad(msnb.grad(lambda x: net(x * x)))
    assert float(by_x(Tensor(3.0))) == 20.0


def test_one_element_fits_a_scalar(mode: int) -> None:
    class Count(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.n = Parameter(Tensor(5, msnb.int32), name="n")

        def construct(self, x: Any) -> Any:
            ops.assign(self.n, x + self.n)
            return self.n * 2

    found = Count()(Tensor([6], msnb.int32))
    assert (found.shape, int(found)) == ((), 22)
    n, one = Parameter(Tensor(5, msnb.int32)), Tensor([1], msnb.int32)
    for add in (ops.assign_add, ops.AssignAdd(), lambda n, x: ops.assign_sub(n, -x)):
        assert msnb.jit(lambda x, add=add: add(n, x) * 2)(one).shape == add(n, one * 0).shape == ()
    assert int(n) == 8
    with pytest.raises(msnb.base.errors.ShapeError, match="does not fit a variable"):
        Count()(Tensor([6, 7], msnb.int32))
    uninstall()
    with pytest.raises(msnb.base.errors.ShapeError, match="does not fit a variable"):
        Count()(Tensor([6], msnb.int32))


def test_training_is_the_same(mode: int) -> None:
    def trained() -> list[float]:
        msnb.set_seed(3)
        net = nn.Dense(2, 1)
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 0.1))
        for _ in range(3):
            loss = step(Tensor([[1.0, 2.0]]), Tensor([[0.5]]))
        return [float(loss), *net.weight.asnumpy().ravel().tolist()]

    under_the_alias = trained()
    uninstall()
    assert trained() == pytest.approx(under_the_alias, rel=1e-3)  # MindSpore's Adam keeps powers of its betas


class ByName(nn.Cell):
    """A local name of a Parameter, and an attribute, are augmented."""

    def __init__(self) -> None:
        super().__init__()
        self.p, self.q = Parameter(Tensor(4.0), name="p"), Parameter(Tensor(5.0), name="q")

    def construct(self, x: Any) -> Any:
        out = self.p
        out *= x
        self.q += x
        return out + self.p * 100, self.q * 1


def test_a_name_takes_the_value_and_the_parameter_stays(mode: int) -> None:
    net = ByName()
    found, q = net(Tensor(2.0))
    assert (float(found), float(q), float(net.p), float(net.q)) == (408.0, 7.0, 4.0, 7.0)
    assert float(msnb.grad(lambda x: net(x)[0])(Tensor(3.0))) == 4.0


def test_without_the_alias_the_parameter_takes_it(mode: int) -> None:
    uninstall()
    net = ByName()
    found, q = net(Tensor(2.0))
    assert (float(found), float(q), float(net.p), float(net.q)) == (808.0, 7.0, 8.0, 7.0)


def _adds(p: Any, x: Any) -> Any:
    return ops.assign_add(p, x * 2) * 3


def _subtracts(p: Any, x: Any) -> Any:
    return ops.assign_sub(p, x * 2) * 3


def _scatters(p: Any, x: Any) -> Any:
    ops.scatter_add(p, Tensor([0], msnb.int32), x * 2)
    return p * 3 * x


def _keeps(p: Any, x: Any) -> Any:
    return ops.assign(p, x * 2) * 3


class Written(nn.Cell):
    def __init__(self, write: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.p = Parameter(Tensor([1.0]), name="p")
        self.write = write

    def construct(self, x: Any) -> Any:
        return self.write(self.p, x)


@pytest.mark.parametrize("write, by_x, by_p", [(_adds, 6, 3), (_subtracts, -6, 3), (_scatters, 15, 6), (_keeps, 0, 3)])
def test_the_result_of_an_addition_hands_gradients_on(mode: int, write: Any, by_x: float, by_p: float) -> None:
    """The result that is used, unlike the Parameter that is read again: numbers of MindSpore 2.10."""
    net = Written(write)
    of_x, of_p = msnb.grad(net, 0, net.trainable_params())(Tensor([2.0]))
    assert (float(of_x[0]), float(of_p[0][0])) == (by_x, by_p)


@pytest.mark.parametrize("as_parameter", [True, False])
def test_a_variable_that_the_gradient_is_taken_by(mode: int, as_parameter: bool) -> None:
    def fn(variable: Any, x: Any) -> Any:
        square = variable * variable
        ops.assign(variable, x)
        return variable * 3 * x + square

    value = Tensor([1.0])
    variable = Parameter(value, name="v") if as_parameter else value
    by_variable, by_x = msnb.grad(fn, (0, 1))(variable, Tensor([2.0]))
    assert (float(by_variable[0]), float(by_x[0])) == (8.0, 6.0) and float(variable[0]) == 2.0


def test_a_tensor_that_takes_a_value_hands_gradients_on(mode: int) -> None:
    def fn(x: Any, y: Any) -> Any:
        x = x * 1
        x.assign_value(y * 2)
        return x * 3 * y

    by_x, by_y = msnb.grad(fn, (0, 1))(Tensor([1.0]), Tensor([2.0]))
    assert (float(by_x[0]), float(by_y[0])) == (0.0, 24.0)


@pytest.mark.parametrize("kind", [Tensor, Parameter])
def test_what_is_assigned_brings_its_shape_and_dtype(mode: int, kind: Any) -> None:
    x = kind(Tensor([1, 2, 3], msnb.int32))
    assert x.assign_value(Tensor([[1.5, 2.5]])) is x and x.dtype == msnb.float32 and x.tolist() == [[1.5, 2.5]]
    net = nn.Dense(3, 2)
    before = net(Tensor([[1.0, 2.0, 3.0]]))
    net.weight.assign_value(Tensor([[1.0, 0.0, 2.0]]))
    net.bias.assign_value(Tensor([0.5]))
    assert before.shape == (1, 2) and net(Tensor([[1.0, 2.0, 3.0]])).tolist() == [[7.5]]
    by_weight = msnb.grad(lambda x: net(x).sum(), None, net.trainable_params())(Tensor([[1.0, 2.0, 3.0]]))[0]
    assert by_weight.tolist() == [[1.0, 2.0, 3.0]]


IMAGE = Tensor([[[[1.0, 4.0], [3.0, -2.0]], [[0.5, 2.0], [7.0, 1.0]]]])
SETTLED = [
    (lambda: nn.BatchNorm2d(2), "eps", 0.5),
    (lambda: nn.BatchNorm2d(2), "momentum", 0.5),
    (lambda: nn.LayerNorm((2,)), "epsilon", 0.5),
    (lambda: nn.Conv2d(2, 2, 2, weight_init="ones"), "stride", (2, 2)),
    (lambda: nn.Conv2d(2, 2, 2, weight_init="ones"), "pad_mode", "valid"),
    (lambda: nn.MaxPool2d(2), "kernel_size", 1),
    (lambda: nn.Softmax(), "axis", 1),
]


@pytest.mark.parametrize(("make", "name", "value"), SETTLED)
def test_settings_of_a_made_layer_stay(mode: int, make: Any, name: str, value: Any) -> None:
    made, changed = make().set_train(), make().set_train()
    told: list[str] = []
    with events.listening("notice", lambda text, **_: told.append(text)):
        setattr(changed, name, value)
    assert not told or f"{name} = {value!r} changes nothing, as in MindSpore" in told[0]  # it is told once
    assert (made(IMAGE) == changed(IMAGE)).all()
    for a, b in zip(made.get_parameters(), changed.get_parameters()):
        assert (a == b).all()
    uninstall()
    setattr(changed, name, value)
    assert getattr(changed, name) == value


class OwnNorm(nn.BatchNorm2d):
    def construct(self, x: Any) -> Any:
        return x * self.eps


def test_settings_stay_open_to_a_construct_of_ones_own(mode: int) -> None:
    net = OwnNorm(2)
    net.eps = 2.0
    assert (net(IMAGE) == IMAGE * 2).all()
    loss = nn.L1Loss()
    loss.reduction = "sum"  # which MindSpore's reads at every call
    assert loss(IMAGE, IMAGE * 0).item() == 20.5


@pytest.mark.parametrize("value", ([3.0, 4.0, 5.0], [3, 4], 3.0), ids=("shape", "dtype", "broadcast"))
@pytest.mark.parametrize("kind", [Tensor, Parameter])
def test_a_compiled_program_refuses_to_make_another_type_of_a_variable(kind: Any, value: Any) -> None:
    x = kind(Tensor([1.0, 2.0]))

    @msnb.jit
    def program() -> Any:
        x.assign_value(Tensor(value))
        return x * 2

    msnb.set_context(mode=msnb.GRAPH_MODE)
    with pytest.raises(CaptureError, match="another type of a variable of f32"):
        program()
    assert x.tolist() == [1.0, 2.0] and x.dtype == msnb.float32
