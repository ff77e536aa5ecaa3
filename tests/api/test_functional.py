"""vjp, jvp, vmap, Jacobians in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import ConcretizationError, GradientError, ShapeError

pytestmark = pytest.mark.usefixtures("mode")


def tensor(*values: Any) -> ms.Tensor:
    return ms.Tensor(np.array(values, np.float64))


def f(x: Any, y: Any) -> Any:
    return ops.sin(x) * y + x


def test_vjp_pulls_back_any_number_of_times() -> None:
    x, y = tensor(0.3, 0.5), tensor(2.0, 3.0)
    value, pull = ms.vjp(f, x, y)
    np.testing.assert_allclose(value.asnumpy(), np.sin([0.3, 0.5]) * [2, 3] + [0.3, 0.5], rtol=1e-15)
    for scale in (1.0, 2.0):
        dx, dy = pull(tensor(scale, scale))
        np.testing.assert_allclose(dx.asnumpy(), scale * (np.cos([0.3, 0.5]) * [2, 3] + 1), rtol=1e-14)
        np.testing.assert_allclose(dy.asnumpy(), scale * np.sin([0.3, 0.5]), rtol=1e-14)


def test_vjp_with_weights_and_aux() -> None:
    w = ms.Parameter(np.array([2.0]), name="w")
    value, pull, aux = ms.vjp(lambda x: (x * w, x + 1), tensor(3.0), weights=[w], has_aux=True)
    (dx,), (dw,) = pull(tensor(1.0))
    assert (value.tolist(), aux.tolist(), dx.tolist(), dw.tolist()) == ([6.0], [4.0], [2.0], [3.0])


def test_jvp_is_the_directional_derivative() -> None:
    x, y, vx, vy = (np.array([v]) for v in (0.3, 2.0, 1.5, -0.5))
    value, slope = ms.jvp(f, tuple(map(ms.Tensor, (x, y))), tuple(map(ms.Tensor, (vx, vy))))
    np.testing.assert_allclose(slope.asnumpy(), (np.cos(x) * y + 1) * vx + np.sin(x) * vy, rtol=1e-14)


def test_jvp_of_a_function_with_python_control_flow() -> None:
    def branch(x: Any) -> Any:
        return x * x if x.sum() > 0 else -x

    assert [float(ms.jvp(branch, tensor(v), tensor(1.0))[1][0]) for v in (3.0, -3.0)] == [6.0, -1.0]


def test_vmap_maps_over_any_axis() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0, 12.0).reshape(3, 2)
    found = ms.vmap(lambda x, y: (x * y).sum(), in_axes=(0, 1))(ms.Tensor(a), ms.Tensor(b))
    np.testing.assert_array_equal(found.asnumpy(), (a * b.T).sum(1))


def test_vmap_shares_what_is_not_batched_and_places_the_axis() -> None:
    a, w = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    found = ms.vmap(lambda x, v: x * v, in_axes=(0, None), out_axes=1)(ms.Tensor(a), ms.Tensor(w))
    np.testing.assert_array_equal(found.asnumpy(), (a * w).T)


def test_vmap_of_a_gradient_gives_gradients_per_example() -> None:
    w = np.array([1.0, 2.0])
    rows = np.array([[1.0, 0.0], [0.5, 2.0], [3.0, 1.0]])

    def loss(v: Any, x: Any) -> Any:
        return (v * x).sum() ** 2

    found = ms.vmap(ms.grad(loss), in_axes=(None, 0))(ms.Tensor(w), ms.Tensor(rows))
    np.testing.assert_allclose(found.asnumpy(), 2 * (rows @ w)[:, None] * rows, rtol=1e-14)


def of_pair(x: Any) -> Any:
    return ops.stack([(x * x[0]).sum(), (x**3).sum()])


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: ms.jacrev(of_pair)(x),
        lambda x: ms.jacfwd(of_pair)(x),
        lambda x: ms.hessian(lambda v: of_pair(v).sum())(x),
        lambda x: ms.jvp(of_pair, x, x * 2)[1],
        lambda x: ms.jvp(lambda y: of_pair(y * x), ops.ones_like(x), ops.ones_like(x))[1],
        lambda x: ms.vjp(of_pair, x)[1](ops.ones(2))[0],
        lambda x: ms.jvp(ms.grad(lambda v: of_pair(v).sum()), x, x)[1],
    ],
    ids=["jacrev", "jacfwd", "hessian", "jvp", "jvp of a closure", "vjp", "jvp of grad"],
)
def test_a_mapped_function_may_differentiate(inner: Any, mode: int) -> None:
    rows = tensor([1.0, 2.0, -1.0], [0.5, -2.0, 3.0])
    want = np.stack([inner(row).asnumpy() for row in rows])
    np.testing.assert_allclose(ms.vmap(inner)(rows).asnumpy(), want, rtol=1e-5)


def test_a_mapped_function_that_differentiates_decides_per_lane() -> None:
    found = ms.vmap(lambda x: ms.jvp(lambda y: y * 2 if y > 0 else y, x, x)[1])(tensor(1.0, -1.0))
    assert found.tolist() == [2.0, -1.0]


def test_jacobians_agree_with_the_formula() -> None:
    a, x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([0.5, -1.0])

    def g(v: Any) -> Any:
        return ops.matmul(ms.Tensor(a), v * v)

    want = a * (2 * x)
    np.testing.assert_allclose(ms.jacrev(g)(ms.Tensor(x)).asnumpy(), want, rtol=1e-14)
    np.testing.assert_allclose(ms.jacfwd(g)(ms.Tensor(x)).asnumpy(), want, rtol=1e-14)


def test_jacobian_by_several_positions() -> None:
    by_x, by_y = ms.jacrev(lambda x, y: x * y, (0, 1))(tensor(1.0, 2.0), tensor(3.0, 4.0))
    assert by_x.tolist() == [[3, 0], [0, 4]]
    assert by_y.tolist() == [[1, 0], [0, 2]]


def test_hessian() -> None:
    found = ms.hessian(lambda x: (x**3).sum() + x[0] * x[1])(tensor(1.0, 2.0))
    np.testing.assert_allclose(found.asnumpy(), [[6, 1], [1, 12]], rtol=1e-14)


def test_wrong_inputs() -> None:
    with pytest.raises(ValueError, match="no argument is batched"):
        ms.vmap(lambda x: x, in_axes=None)(tensor(1.0))
    with pytest.raises(ShapeError, match="batch sizes differ"):
        ms.vmap(lambda x, y: x + y)(tensor(1.0), tensor(1.0, 2.0))
    with pytest.raises(ValueError, match="does not exist"):
        ms.vmap(lambda x: x, in_axes=3)(tensor(1.0))
    with pytest.raises(ShapeError, match="dout 0 has shape"):
        ms.vjp(lambda x: x, tensor(1.0, 2.0))[1](tensor(1.0))


def test_vmap_refuses_to_write_state_per_lane() -> None:
    total = ms.Parameter(np.array(0.0), name="total")

    def add_up(x: Any) -> Any:
        total.set_data(x)
        return x

    with pytest.raises(GradientError, match="a value of its own in every lane"):
        ms.vmap(add_up)(tensor(1.0, 2.0))
    assert float(total) == 0.0


def test_a_mapped_function_decides_per_lane() -> None:
    assert ms.vmap(lambda x: x if x > 0 else -x)(tensor(1.0, -2.0)).tolist() == [1.0, 2.0]


def test_a_mapped_tensor_has_no_value_for_python() -> None:
    with pytest.raises(ConcretizationError, match="not known while the function is captured"):
        ms.vmap(lambda x: x * float(x.asnumpy()))(tensor(1.0, -2.0))
