"""Forward mode: tangents from transposed rules, alone and mixed with reverse mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from msnb.autodiff import forward_mode, jvp, vjp
from msnb.base.errors import GradientError
from msnb.core import dtypes
from msnb.core.types import tensor_type
from msnb.ir import control_flow
from msnb.ir.builder import GraphBuilder, build
from msnb.ir.control_flow import HostFn
from msnb.ir.custom_gradient import CUSTOM_GRADIENT
from msnb.ops.definition.record import REGISTRY, define
from msnb.ops.definition.type_inference import elementwise
from tests.autodiff.programs import COUNT, VECTOR, Maker, compiled, graph_of, names, op
from tests.gradient_check import check_grads, gradient_graph, inner

X = np.array([0.3, -0.6, 0.9])
V = np.array([1.0, -2.0, 0.5])


def test_the_tangent_of_a_product() -> None:
    graph = jvp(build("f", [VECTOR, VECTOR], lambda x, y: op("multiply", x, y)), [0, 1])
    value, tangent = compiled(graph, [X, X + 1, V, 2 * V])
    np.testing.assert_allclose(value, X * (X + 1))
    np.testing.assert_allclose(tangent, V * (X + 1) + X * 2 * V)


def test_tangents_only_for_the_params_asked_for() -> None:
    graph = jvp(build("f", [VECTOR, VECTOR], lambda x, y: op("multiply", x, op("exp", y))), [0])
    assert names(graph).count("exp") == 1 and names(graph).count("multiply") == 2
    np.testing.assert_allclose(compiled(graph, [X, X, V])[1], V * np.exp(X))


def test_the_tangent_program_reads_as_if_written_by_hand() -> None:
    graph = jvp(build("f", [VECTOR], lambda x: op("sin", x)), [0])
    assert sorted(names(graph)) == ["cos", "multiply", "sin"], "no trace of the reverse rule it came from"


def test_outputs_without_a_path_have_zero_tangents_and_integers_none() -> None:
    ints = tensor_type((3,), dtypes.int64)
    graph = jvp(build("f", [VECTOR, VECTOR, ints], lambda x, y, k: (op("sin", y), op("add", k, 1))), [0])
    assert [v.type for v in graph.outputs] == [VECTOR, ints, VECTOR]
    np.testing.assert_array_equal(compiled(graph, [X, X, np.arange(3), V])[2], np.zeros(3))


def test_integers_have_no_tangent() -> None:
    with pytest.raises(GradientError, match="with respect to x0 of type i64"):
        jvp(build("f", [COUNT], lambda k: op("multiply", k, 2.0)), [0])


def test_broadcast_and_conversion_work_forward_too() -> None:
    row = tensor_type((1, 3), dtypes.float32)
    wide = tensor_type((2, 3), dtypes.float64)
    graph = jvp(build("f", [row, wide], lambda x, y: op("multiply", x, y)), [0, 1])
    x, y = np.ones((1, 3), np.float32) * 2, np.full((2, 3), 3.0)
    _, tangent = compiled(graph, [x, y, np.ones((1, 3), np.float32), np.ones((2, 3))])
    assert tangent.dtype == np.float64
    np.testing.assert_allclose(tangent, np.full((2, 3), 5.0))


def test_complex_tangents() -> None:
    z = np.array([1 + 2j, -0.5j])
    t = tensor_type((2,), dtypes.complex128)
    graph = jvp(build("f", [t], lambda z: op("multiply", z, op("exp", z))), [0])
    np.testing.assert_allclose(compiled(graph, [z, z * 1j])[1], (1 + z) * np.exp(z) * z * 1j)


def test_a_rule_is_transposed_once_per_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    transpose = forward_mode._transpose
    monkeypatch.setattr(forward_mode, "_rules", {})
    monkeypatch.setattr(forward_mode, "_transpose", lambda node, ins: made.append(node.op.name) or transpose(node, ins))

    def program(x: Any) -> Any:
        for _ in range(10):
            x = op("tanh", op("sin", x))
        return x

    graph = build("f", [VECTOR], program)
    jvp(graph, [0])
    jvp(graph, [0])
    assert sorted(made) == ["sin", "tanh"]


def test_a_rule_that_is_not_linear_is_refused() -> None:
    squared = define(
        "test_not_linear", "x", infer=elementwise("test_not_linear"), body=lambda xp, x: x, doc="",
        grad=lambda dout: dout * dout,
    )  # fmt: skip
    try:
        with pytest.raises(GradientError, match="test_not_linear is not linear in dout"):
            jvp(build("f", [VECTOR], lambda x: squared(x)), [0])
    finally:
        del REGISTRY["test_not_linear"]


def test_a_gradient_written_in_python_has_no_forward_mode() -> None:
    fn = HostFn(lambda x, y, d: [d], "my_bprop")
    graph = build("f", [VECTOR], lambda x: CUSTOM_GRADIENT(x, op("sin", x), n_in=1, n_out=1, fn=fn))
    with pytest.raises(GradientError, match="my_bprop"):
        jvp(graph, [0])
    assert vjp(graph, [0]).backward.nodes[-1].op is control_flow.HOST_CALL


def test_a_loop_carries_values_and_tangents() -> None:
    types = [VECTOR, COUNT, COUNT, VECTOR]
    with GraphBuilder("f") as b:
        x, n, w = b.param(VECTOR, "x"), b.param(COUNT, "n"), b.param(VECTOR, "w")
        cond = graph_of("cond", types, lambda x, i, n, w: op("less", i, n))
        body = graph_of("body", types, lambda x, i, n, w: (op("multiply", x, w), op("add", i, 1)))
        b.output(control_flow.while_(b, cond, body, [x, np.array(0, np.int64)], [n, w])[0])
    graph = jvp(b.graph, [0, 2])
    w = X + 1.5
    value, tangent = compiled(graph, [X, np.array(3), w, V, 2 * V])
    np.testing.assert_allclose(value, X * w**3)
    np.testing.assert_allclose(tangent, V * w**3 + X * 3 * w**2 * 2 * V)
    assert "stack_push" not in names(graph)


def test_a_repeated_layer_has_one_twin() -> None:
    with GraphBuilder("f") as b:
        layer = graph_of("layer", [VECTOR], lambda x: op("tanh", x), b.graph.module)
        name, x = b.graph.module.add(layer), b.param(VECTOR, "x")
        for _ in range(4):
            (x,) = control_flow.call(b, name, [x])
        b.output(x)
    graph = jvp(b.graph, [0])
    assert sorted(b.graph.module.graphs) == ["layer", "layer_jvp"]
    assert names(graph) == ["call"] * 4
    check_grads(b.graph, [X], order=2, runner=compiled)


def test_linear_cost_and_deep_graphs() -> None:
    def chain(n: int) -> Any:
        def program(x: Any) -> Any:
            for _ in range(n):
                x = op("sin", x)
            return x

        return jvp(build("deep", [VECTOR], program), [0])

    assert len(chain(10_000).nodes) == 30_000 == 1000 * len(chain(10).nodes)


# ---- mixed with reverse mode ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_reverse_over_forward(seed: int) -> None:
    """The tangent program is a program: its gradient, and the gradient of that, against differences."""
    rng = np.random.default_rng(seed)
    pushed = jvp(Maker(seed).program(depth=2), [0, 1])
    check_grads(pushed, list(rng.standard_normal((4, 3)) * 0.5), order=1, seed=seed, runner=compiled)


@pytest.mark.parametrize("seed", range(25, 50))
def test_forward_over_reverse_is_reverse_over_forward(seed: int) -> None:
    """A Hessian times a vector, both ways."""
    rng = np.random.default_rng(seed)
    x, v = rng.standard_normal((2, 3)) * 0.5, rng.standard_normal((2, 3))
    u = rng.standard_normal((2, 3))
    graph = Maker(seed).program(depth=2)
    gradient = gradient_graph(graph, [0, 1])
    over = compiled(jvp(gradient, [0, 1]), [*x, *u, *v])[2:]
    pushed = jvp(graph, [0, 1])
    under = compiled(gradient_graph(pushed, [0, 1]), [*x, *v, np.zeros(3), np.zeros(3), *u])
    for one, other in zip(over, under):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(50, 60))
def test_forward_and_reverse_are_adjoint(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, v, u = (list(rng.standard_normal((2, 3)) * 0.5) for _ in range(3))
    graph = Maker(seed).program(depth=3)
    tangents = compiled(jvp(graph, [0, 1]), [*x, *v])[2:]
    grads = compiled(gradient_graph(graph, [0, 1]), [*x, *u])
    assert inner(u, tangents) == pytest.approx(inner(grads, v), rel=1e-9, abs=1e-12)
