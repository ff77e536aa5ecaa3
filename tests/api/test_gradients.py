"""grad and value_and_grad in both modes: the body of every test is the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import ArgumentError, AttributeValueError, DTypeError, GradientError, IndexOutOfRange

pytestmark = pytest.mark.usefixtures("mode")


def tensor(*values: float) -> ms.Tensor:
    return ms.Tensor(np.array(values, np.float64))


def test_gradient_of_a_sum_of_squares() -> None:
    def loss(x: Any) -> Any:
        return (x * x).sum()

    np.testing.assert_array_equal(ms.grad(loss)(tensor(1, 2, 3)).asnumpy(), [2, 4, 6])


def test_higher_orders() -> None:
    def cube(x: Any) -> Any:
        return x**3

    x = tensor(2.0)
    first, second, third = ms.grad(cube), ms.grad(ms.grad(cube)), ms.grad(ms.grad(ms.grad(cube)))
    assert [float(f(x)[0]) for f in (first, second, third)] == [12.0, 12.0, 6.0]


def test_a_result_that_is_not_scalar_is_summed() -> None:
    assert ms.grad(lambda x: x * 3)(tensor(1, 1)).tolist() == [3, 3]


def test_positions_weights_and_both() -> None:
    w, b = ms.Parameter(np.array([1.0, 2.0]), name="w"), ms.Parameter(np.array(0.5), name="b")

    def model(x: Any, y: Any) -> Any:
        return (x * w + y * b).sum()

    x, y = tensor(3, 4), tensor(5, 6)
    assert ms.grad(model, 1)(x, y).tolist() == [0.5, 0.5]
    assert [g.tolist() for g in ms.grad(model, (0, 1))(x, y)] == [[1, 2], [0.5, 0.5]]
    assert [g.tolist() for g in ms.grad(model, None, [w, b])(x, y)] == [[3, 4], 11.0]
    assert ms.grad(model, None, w)(x, y).tolist() == [3, 4]
    by_input, by_weights = ms.grad(model, 0, [w, b])(x, y)
    assert by_input.tolist() == [1, 2]
    assert [g.tolist() for g in by_weights] == [[3, 4], 11.0]


def test_a_weight_that_plays_no_part_has_zeros() -> None:
    w, unused = ms.Parameter(np.array([1.0]), name="w"), ms.Parameter(np.array([1.0, 1.0]), name="unused")
    found = ms.grad(lambda x: (x * w).sum(), None, [w, unused])(tensor(2.0))
    assert [g.tolist() for g in found] == [[2.0], [0.0, 0.0]]


def test_value_and_aux() -> None:
    def model(x: Any) -> Any:
        y = x * x
        return y.sum(), y

    (value, y), dx = ms.value_and_grad(model, has_aux=True)(tensor(1, 2))
    assert float(value) == 5.0
    assert y.tolist() == [1, 4]
    assert dx.tolist() == [2, 4]
    dx, (y,) = ms.grad(model, has_aux=True)(tensor(1, 2))
    assert (dx.tolist(), y.tolist()) == ([2, 4], [1, 4])


def test_trees_of_tensors() -> None:
    def model(p: Any) -> Any:
        return (p["w"] * p["b"][0]).sum()

    found = ms.grad(model)({"w": tensor(1, 2), "b": (tensor(3, 4),)})
    assert found["w"].tolist() == [3, 4]
    assert found["b"][0].tolist() == [1, 2]


def test_python_floats_are_tensors_to_a_gradient() -> None:
    assert float(ms.grad(lambda x: x * x)(3.0)) == 6.0


def test_return_ids() -> None:
    w = ms.Parameter(np.array([2.0]), name="w")
    (position, dx), weights = ms.grad(lambda x: (x * w).sum(), 0, [w], return_ids=True)(tensor(5.0))
    assert (position, dx.tolist()) == (0, [2.0])
    assert [(name, g.tolist()) for name, g in weights] == [("w", [5.0])]


def test_grad_operation() -> None:
    w = ms.Parameter(np.array([2.0]), name="w")

    def model(x: Any, y: Any) -> Any:
        return x * w + y

    x, y = tensor(3.0), tensor(4.0)
    assert ms.ops.GradOperation()(model)(x, y).tolist() == [2.0]
    assert [g.tolist() for g in ms.ops.GradOperation(get_all=True)(model)(x, y)] == [[2.0], [1.0]]
    assert [g.tolist() for g in ms.ops.GradOperation(get_by_list=True)(model, [w])(x, y)] == [[3.0]]
    with pytest.raises(TypeError, match="is no Cell, it has no weights"):
        ms.ops.GradOperation(get_by_list=True)(lambda x: x * w)
    assert ms.ops.GradOperation(sens_param=True)(model)(x, y, tensor(10.0)).tolist() == [20.0]


def test_stop_gradient_cuts() -> None:
    assert ms.grad(lambda x: x * ops.stop_gradient(x))(tensor(3.0)).tolist() == [3.0]


def test_state_written_inside_is_written_once() -> None:
    count = ms.Parameter(np.array(0.0), name="count", requires_grad=False)

    def model(x: Any) -> Any:
        count.set_data(count + 1)
        return (x * x).sum()

    step = ms.grad(model)
    for expected in (1.0, 2.0, 3.0):
        assert step(tensor(2.0)).tolist() == [4.0]
        assert float(count) == expected


def test_gradient_through_an_inner_gradient() -> None:
    def penalty(x: Any) -> Any:
        dx = ms.grad(lambda v: (v**3).sum())(x)
        return (dx * dx).sum()

    assert ms.grad(penalty)(tensor(2.0)).tolist() == [2 * 12 * 12.0]


def test_custom_gradient_of_a_function() -> None:
    clipped = ms.custom_vjp(lambda x: x * x, lambda x, out, dout: 7 * x * dout)
    assert ms.grad(clipped)(tensor(3.0)).tolist() == [21.0]
    assert ms.grad(ms.grad(clipped))(tensor(3.0)).tolist() == [7.0]

    @ms.custom_vjp
    def later(x: Any) -> Any:
        return x * x

    later.defbwd(lambda x, out, dout: out * dout)  # type: ignore[attr-defined]
    assert ms.grad(later)(tensor(3.0)).tolist() == ms.jit(ms.grad(later))(tensor(3.0)).tolist() == [9.0]


def test_hook_on_a_tensor_sees_and_replaces_the_gradient() -> None:
    seen: list[float] = []

    def double(g: Any) -> Any:
        seen.append(float(g))
        return 2 * g

    def model(x: Any) -> Any:
        y = (x * x).sum()
        y.register_hook(double)
        return y * 3

    step = ms.grad(model)
    for n in (1, 2, 3):
        assert step(tensor(5.0)).tolist() == [60.0]
        assert seen == [3.0] * n


def test_hook_on_a_parameter() -> None:
    w = ms.Parameter(np.array([2.0]), name="w")
    handle = w.register_hook(lambda g: g * 10)
    assert ms.grad(lambda x: (x * w).sum(), None, w)(tensor(3.0)).tolist() == [30.0]
    handle.remove()
    assert ms.grad(lambda x: (x * w).sum(), None, w)(tensor(3.0)).tolist() == [3.0]


def test_wrong_inputs() -> None:
    with pytest.raises(DTypeError, match="floating-point tensors only"):
        ms.grad(lambda x: x * 1.0)(ms.Tensor([1, 2]))
    with pytest.raises(IndexOutOfRange, match="outside the 1 arguments"):
        ms.grad(lambda x: x, 2)(tensor(1.0))
    with pytest.raises(GradientError, match="no tensor to differentiate"):
        ms.grad(lambda x: 5)(tensor(1.0))
    with pytest.raises(GradientError, match="has_aux=True needs"):
        ms.grad(lambda x: x, has_aux=True)(tensor(1.0))
    with pytest.raises(ArgumentError, match="weights are Parameters"):
        ms.grad(lambda x: x, weights=[tensor(1.0)])(tensor(1.0))
    with pytest.raises(AttributeValueError, match="needs grad_position, weights, or both"):
        ms.grad(lambda x: x, None)(tensor(1.0))


def test_sums_of_gradients_beside_the_parameters(mode: int) -> None:
    """Gradient accumulation as MindSpore users write it: a clone of all Parameters holds the sums."""
    net = nn.Dense(3, 1, weight_init="ones")
    optimizer = nn.SGD(net.trainable_params(), 0.5)
    sums = optimizer.parameters.clone(prefix="sum", init="zeros")
    assert [p.name for p in sums] == ["sum.weight", "sum.bias"]
    step = ms.value_and_grad(lambda x: net(x).sum(), None, optimizer.parameters)
    for k in (1, 2):
        for total, part in zip(sums, step(ms.ops.ones((k, 3)))[1]):
            ms.ops.assign_add(total, part)
    assert sums[0].tolist() == [[3.0, 3.0, 3.0]] and net.weight.tolist() == [[1.0, 1.0, 1.0]]
    optimizer(sums)
    assert net.weight.tolist() == [[-0.5, -0.5, -0.5]]
    with pytest.raises(TypeError, match="a word to put in front"):
        optimizer.parameters.clone("")


def test_arguments_of_parameters() -> None:
    assert ms.Parameter(3).dtype is ms.int32 and ms.Parameter(3.0).dtype is ms.float32
    for name in (True, 3, ["w"], ms.Tensor([1])):
        with pytest.raises(ValueError, match="a Parameter's name is a str"):
            ms.Parameter(1.0, name)  # type: ignore[arg-type]
    for flag in ("requires_grad", "layerwise_parallel", "parallel_optimizer"):
        for wrong in (None, 1, "yes"):
            with pytest.raises(TypeError, match=f"Parameter: {flag} is True or False, not"):
                ms.Parameter(1.0, "w", **{flag: wrong})  # type: ignore[arg-type]


def test_a_parameter_with_other_first_values() -> None:
    p = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w", requires_grad=False)
    assert [p.clone(how).tolist() for how in ("same", "ones", 3)] == [[1.0, 2.0], [1.0, 1.0], [3.0, 3.0]]
    assert not p.clone("normal").requires_grad
    assert ms.Tensor(shape=(2,), dtype=ms.float16, init="zeros").tolist() == [0.0, 0.0]
