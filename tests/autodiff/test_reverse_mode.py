"""Reverse mode of straight-line graphs: values, what is kept, what is skipped, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from msnb.autodiff import vjp
from msnb.autodiff.dead_nodes import prune
from msnb.base.errors import GradientError
from msnb.base.source_location import Origin, Where
from msnb.core import dtypes
from msnb.core.types import WEAK_FLOAT, Dim, tensor_type
from msnb.ir import control_flow
from msnb.ir.builder import GraphBuilder, build
from tests.autodiff.programs import SCALAR, VECTOR, Maker, compiled, names, op, total
from tests.gradient_check import check_grads, gradient_graph

MATRIX = tensor_type((2, 3), dtypes.float64)
SINGLE = tensor_type((3,), dtypes.float32)
INTS = tensor_type((3,), dtypes.int64)
COMPLEX = tensor_type((3,), dtypes.complex128)


def grads_of(graph: Any, wrt: list[int], arrays: list[Any], douts: list[Any]) -> list[Any]:
    pair = vjp(graph, wrt)
    results = compiled(pair.forward, arrays)
    return compiled(pair.backward, [*results[len(graph.outputs) :], *douts])


def test_product_and_broadcast_have_the_gradients_of_the_book() -> None:
    graph = build("f", [MATRIX, VECTOR], lambda x, y: op("multiply", op("add", x, y), y))
    x, y, d = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 0.5]), np.full((2, 3), 2.0)
    dx, dy = grads_of(graph, [0, 1], [x, y], [d])
    np.testing.assert_allclose(dx, d * y)
    np.testing.assert_allclose(dy, (d * (x + 2 * y)).sum(0))


def test_a_value_read_in_many_places_adds_up() -> None:
    graph = build("f", [VECTOR], lambda x: op("add", op("add", x, x), op("multiply", x, x)))
    (dx,) = grads_of(graph, [0], [np.array([1.0, 2.0, 3.0])], [np.ones(3)])
    np.testing.assert_allclose(dx, [4.0, 6.0, 8.0])


def test_several_outputs_and_one_given_twice() -> None:
    def program(x: Any) -> Any:
        y = op("sin", x)
        return y, op("multiply", x, y), y

    graph = build("f", [VECTOR], program)
    x = np.array([0.1, 0.2, 0.3])
    (dx,) = grads_of(graph, [0], [x], [np.ones(3), np.full(3, 2.0), np.ones(3)])
    np.testing.assert_allclose(dx, 2 * np.cos(x) + 2 * (np.sin(x) + x * np.cos(x)))


def test_no_path_gives_zeros() -> None:
    graph = build("f", [VECTOR, MATRIX], lambda x, y: op("sin", x))
    dx, dy = grads_of(graph, [0, 1], [np.zeros(3), np.ones((2, 3))], [np.ones(3)])
    np.testing.assert_array_equal(dy, np.zeros((2, 3)))
    np.testing.assert_allclose(dx, np.ones(3))


def test_a_param_that_is_the_output() -> None:
    (dx,) = grads_of(build("f", [VECTOR], lambda x: x), [0], [np.ones(3)], [np.array([1.0, 2.0, 3.0])])
    np.testing.assert_array_equal(dx, [1.0, 2.0, 3.0])


def test_gradients_have_the_dtype_of_their_input() -> None:
    graph = build("f", [SINGLE, VECTOR], lambda x, y: op("multiply", x, y))
    dx, dy = grads_of(graph, [0, 1], [np.ones(3, np.float32), np.ones(3)], [np.ones(3)])
    assert (dx.dtype, dy.dtype) == (np.float32, np.float64)


def test_a_python_number_has_a_gradient_of_the_default_dtype() -> None:
    graph = build("f", [VECTOR, WEAK_FLOAT], lambda x, k: op("multiply", x, k))
    (dk,) = grads_of(graph, [1], [np.array([1.0, 2.0, 4.0]), 3.0], [np.ones(3)])
    assert dk.dtype == np.float32 and dk.shape == () and dk == 7.0


def test_stop_gradient_cuts() -> None:
    graph = build("f", [VECTOR], lambda x: op("multiply", op("stop_gradient", op("sin", x)), x))
    x = np.array([0.1, 0.2, 0.3])
    (dx,) = grads_of(graph, [0], [x], [np.ones(3)])
    np.testing.assert_allclose(dx, np.sin(x))


def test_integers_pass_through_without_gradient() -> None:
    graph = build("f", [VECTOR, INTS], lambda x, k: (op("multiply", x, k), op("add", k, 1)))
    pair = vjp(graph, [0])
    assert pair.outputs == (0,)
    (dx,) = grads_of(graph, [0], [np.ones(3), np.array([1, 2, 3])], [np.ones(3)])
    np.testing.assert_array_equal(dx, [1.0, 2.0, 3.0])


def test_an_integer_has_no_gradient_and_is_named() -> None:
    graph = build("f", [INTS], lambda k: op("multiply", k, 2.0), names=["steps"])
    with pytest.raises(GradientError, match="with respect to steps of type i64"):
        vjp(graph, [0])
    with pytest.raises(GradientError, match="no gradient of output 0"):
        vjp(build("f", [VECTOR, INTS], lambda x, k: op("add", k, 1)), [0], [0])


@pytest.mark.parametrize("name", ["multiply", "divide", "add", "subtract"])
def test_complex_products(name: str) -> None:
    z = np.array([1 + 2j, -0.5 + 1j, 0.25 - 1j])
    check_grads(lambda x, y: op(name, x, y), [z, z[::-1] + 0.5], runner=compiled)


def test_complex_gradients_point_uphill() -> None:
    """dL/d(re) + i dL/d(im), as in PyTorch: the gradient of |z|^2 is 2 z."""
    graph = build("f", [COMPLEX], lambda z: op("real", op("multiply", z, op("conj", z))))
    z = np.array([1 + 2j, -0.5j, 3.0])
    (dz,) = grads_of(graph, [0], [z], [np.ones(3)])
    np.testing.assert_allclose(dz, 2 * z)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "sqrt", "abs", "square", "imag", "real", "conj"])
def test_complex_functions(name: str) -> None:
    z = np.array([1 + 2j, 0.5 + 1j, 0.25 - 1j])
    check_grads(lambda x: op(name, x), [z], runner=compiled)


def test_a_real_operand_of_a_complex_product_gets_a_real_gradient() -> None:
    check_grads(lambda x, z: op("multiply", x, z), [np.array([1.0, 2.0]), np.array([1 + 1j, 2 - 1j])], runner=compiled)


# ---- what is kept ---------------------------------------------------------------------------------------------------


def test_a_linear_program_keeps_nothing() -> None:
    graph = build("f", [VECTOR, VECTOR], lambda x, y: op("subtract", op("add", x, y), op("multiply", x, 2.0)))
    assert vjp(graph, [0, 1]).residuals == 0


def test_only_what_backward_reads_is_kept() -> None:
    graph = build("f", [VECTOR, VECTOR], lambda x, y: op("multiply", op("tanh", x), y))
    pair = vjp(graph, [1])
    assert [v.node.op.name for v in pair.residual_values if v.node] == ["tanh"]
    assert names(pair.backward) == ["multiply"]


def test_residual_values_are_values_of_the_given_graph() -> None:
    graph = build("f", [VECTOR, VECTOR], lambda x, y: op("multiply", op("tanh", x), y))
    pair = vjp(graph, [0, 1])
    own = {*graph.params, *(v for n in graph.nodes for v in n.outputs)}
    assert len(pair.residual_values) == pair.residuals == 2
    assert set(pair.residual_values) <= own


def test_constants_are_made_anew() -> None:
    graph = build("f", [VECTOR], lambda x: op("multiply", x, op("broadcast_to", np.array([2.0]), shape=(3,))))
    pair = vjp(graph, [0])
    assert pair.residuals == 0
    assert {"constant", "broadcast_to"} <= set(names(pair.backward))


def test_the_graph_itself_is_not_changed() -> None:
    graph = Maker(3).program()
    before = names(graph)
    vjp(graph, [0])
    assert names(graph) == before and len(graph.outputs) == 2


def test_nothing_is_computed_outside_the_path() -> None:
    def program(x: Any, y: Any) -> Any:
        unused = op("exp", op("exp", x))
        return op("add", op("sin", x), op("cos", y)), unused

    pair = vjp(build("f", [VECTOR, VECTOR], program), [0], [0])
    assert sorted(names(pair.backward)) == ["cos", "multiply"]


def test_gradient_nodes_know_their_primal_scope_and_place() -> None:
    with GraphBuilder("f") as b:
        x = b.param(VECTOR, "x")
        b.scope, b.origin = "Net/layer", Origin.of((Where("model.py", 7, 0, 1, "construct"),))
        b.output(op("sin", x))
    pair = vjp(b.graph, [0])
    product = pair.backward.nodes[-1]
    assert product.scope == "Net/layer" and product.where is b.origin and product.why == "gradient"
    assert product.primal is pair.forward.nodes[0]


@pytest.mark.parametrize("seed", range(10))
def test_replayed_into_one_program_gradient_nodes_point_at_the_nodes_they_belong_to(seed: int) -> None:
    graph = gradient_graph(Maker(seed, kinds="ifwnwc").program(depth=3), [0, 1])
    nodes = {node for g in (graph, *graph.module.graphs.values()) for _, node in g.walk()}
    backward = [node for node in nodes if node.primal is not None]
    assert backward and all(node.primal in nodes for node in backward)


def test_state_stays_where_it_was() -> None:
    graph = build("f", [VECTOR, VECTOR], lambda x, s: (op("multiply", x, s), op("add", s, 1.0)))
    graph.state = {1: 1}
    assert vjp(graph, [0], [0]).forward.state == {1: 1}


def test_effects_survive_pruning_wherever_they_are() -> None:
    with GraphBuilder("f") as b:
        inner = GraphBuilder("noisy", b.graph.module)
        with inner:
            y = inner.param(VECTOR, "y")
            control_flow.host_call(inner, control_flow.HostFn(lambda y: (), "log"), [y], [], effect=True)
            inner.output(op("negative", y))
        name, x = b.graph.module.add(inner.graph), b.param(VECTOR, "x")
        control_flow.call(b, name, [x])
        op("exp", x)
        b.output(op("sin", x))
    prune(b.graph)
    assert names(b.graph) == ["call", "sin"]


def test_sizes_that_only_the_data_tells() -> None:
    """Zeros of such a size are made from the value itself."""
    some = tensor_type((Dim("n", 6), 3), dtypes.float64)
    graph = build("f", [some, some], lambda x, y: (op("sin", x), op("stop_gradient", y)))
    dx, dy = grads_of(graph, [0, 1], [np.zeros((4, 3)), np.ones((4, 3))], [np.ones((4, 3))] * 2)
    np.testing.assert_array_equal(dy, np.zeros((4, 3)))
    np.testing.assert_array_equal(dx, np.ones((4, 3)))


# ---- cost -----------------------------------------------------------------------------------------------------------


def chain(layers: int) -> Any:
    def program(x: Any, w: Any) -> Any:
        for _ in range(layers):
            x = op("tanh", op("multiply", x, w))
        return x

    return build("chain", [VECTOR, VECTOR], program)


def test_twice_the_layers_twice_the_nodes() -> None:
    small, large = (len(vjp(chain(n), [0, 1]).backward.nodes) for n in (20, 40))
    step = (large - small) / 20
    assert large - 40 * step == pytest.approx(small - 20 * step) and step <= 8
    second_small, second_large = (len(gradient_graph(gradient_graph(chain(n), [0, 1]), [0, 1]).nodes) for n in (20, 40))
    assert second_large <= 2 * second_small + 10


@pytest.mark.long
def test_ten_thousand_nodes_need_no_deep_python_stack() -> None:
    def program(x: Any) -> Any:
        for _ in range(10_000):
            x = op("sin", x)
        return x

    graph = build("deep", [VECTOR], program)
    pair = vjp(graph, [0])
    assert len(pair.backward.nodes) == 20_000
    x = np.array([0.3, 0.5, 1.0])
    (dx,) = grads_of(graph, [0], [x], [np.ones(3)])
    slope = np.ones(3)
    for _ in range(10_000):
        slope, x = slope * np.cos(x), np.sin(x)
    np.testing.assert_allclose(dx, slope)


@pytest.mark.parametrize("seed", range(30))
def test_random_straight_lines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(3) * 0.5 for _ in range(2)]
    check_grads(Maker(seed, kinds="s").program(), arrays, order=2, seed=seed, runner=compiled)


# ---- the check itself -----------------------------------------------------------------------------------------------


def test_check_grads_notices_a_wrong_rule() -> None:
    """With stop_gradient the program has a derivative that the rules deny."""
    with pytest.raises(AssertionError, match="order 1, seed 5, reverse mode"):
        check_grads(lambda x: op("multiply", op("stop_gradient", x), x), [np.array([1.0, 2.0])], seed=5)


def test_check_grads_runs_eagerly_by_default() -> None:
    check_grads(lambda x: total(op("multiply", x, op("exp", x))), [np.array([0.5, -1.0])], order=3)
    assert compiled(build("f", [SCALAR], lambda x: op("exp", x)), [0.0])[0] == 1.0
