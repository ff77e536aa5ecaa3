"""Reverse mode through If, While, Scan, Call and Python, to any order and nested in each other."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from msnb.autodiff import jvp, vjp, vmap
from msnb.autodiff.subgraphs import inline
from msnb.base.errors import GradientError
from msnb.core import dtypes
from msnb.core.tensor import Tensor
from msnb.core.types import tensor_type
from msnb.ir import control_flow
from msnb.ir.analysis.structural_hash import isomorphic
from msnb.ir.analysis.verifier import verify
from msnb.ir.builder import GraphBuilder
from msnb.ir.control_flow import replay
from msnb.ir.graph import Graph
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import constants_of, print_graph
from tests.autodiff.programs import COUNT, SCALAR, VECTOR, Maker, compiled, graph_of, names, op, total
from tests.gradient_check import check_grads, gradient_graph, run

X = np.array([0.3, -0.6, 0.9])


def branching() -> Graph:
    with GraphBuilder("f") as b:
        x, y = b.param(VECTOR, "x"), b.param(VECTOR, "y")
        then = graph_of("then", [VECTOR, VECTOR], lambda x, y: op("multiply", op("sin", x), y))
        other = graph_of("else", [VECTOR, VECTOR], lambda x, y: op("exp", op("multiply", x, 0.5)))
        b.output(*control_flow.if_(b, op("greater", total(x), 0.0), then, other, [x, y]))
    return b.graph


def powers() -> Graph:
    """x * w^n with n known only at run time."""
    types = [VECTOR, COUNT, COUNT, VECTOR]
    with GraphBuilder("f") as b:
        x, n, w = b.param(VECTOR, "x"), b.param(COUNT, "n"), b.param(VECTOR, "w")
        cond = graph_of("cond", types, lambda x, i, n, w: op("less", i, n))
        body = graph_of("body", types, lambda x, i, n, w: (op("multiply", x, w), op("add", i, 1)))
        b.output(control_flow.while_(b, cond, body, [x, np.array(0, np.int64)], [n, w])[0])
    return b.graph


# ---- If -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_if_takes_the_gradient_of_its_branch(sign: float) -> None:
    check_grads(branching(), [X * sign, np.array([1.0, 2.0, 3.0])], order=3, runner=compiled)


def test_the_backward_of_an_if_is_an_if_on_the_same_predicate() -> None:
    pair = vjp(branching(), [0, 1])
    assert [n.op.name for n in pair.backward.nodes] == ["if"]
    assert pair.backward.nodes[0].primal is next(n for n in pair.forward.nodes if n.op is control_flow.IF)


def test_branches_share_places_for_residuals() -> None:
    pair = vjp(branching(), [0, 1])
    node = next(n for n in pair.forward.nodes if n.op is control_flow.IF)
    assert len(node.outputs) == 2, "sin(x) or exp(x/2): one place serves both"


def test_if_with_a_branch_that_gives_no_gradient() -> None:
    with GraphBuilder("f") as b:
        x = b.param(VECTOR, "x")
        then = graph_of("then", [VECTOR], lambda x: op("stop_gradient", x))
        other = graph_of("else", [VECTOR], lambda x: op("multiply", x, x))
        b.output(*control_flow.if_(b, op("greater", total(x), 0.0), then, other, [x]))
    gradient = gradient_graph(b.graph, [0])
    np.testing.assert_array_equal(compiled(gradient, [np.abs(X), np.ones(3)])[0], np.zeros(3))
    np.testing.assert_allclose(compiled(gradient, [-np.abs(X), np.ones(3)])[0], -2 * np.abs(X))


# ---- While ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_while_with_a_trip_count_from_the_data(turns: int) -> None:
    w, x, d = np.array([1.1, -0.7, 0.9]), X, np.array([1.0, 2.0, -1.0])
    gradient = gradient_graph(powers(), [0, 2])
    dx, dw = compiled(gradient, [x, np.array(turns), w, d])
    np.testing.assert_allclose(dx, d * w**turns)
    np.testing.assert_allclose(dw, d * x * turns * w ** max(turns - 1, 0) if turns else np.zeros(3))


def test_while_to_third_order() -> None:
    check_grads(powers(), [X, np.array(4), np.array([1.1, -0.7, 0.9])], order=3, runner=compiled)


def test_what_a_loop_does_not_change_is_not_stacked() -> None:
    pair = vjp(powers(), [0])
    assert "stack_push" not in names(pair.forward), "dx needs w alone, the same in every turn"
    assert names(vjp(powers(), [0, 2]).forward).count("stack_push") == 1


def test_a_carried_value_becomes_active_in_a_later_turn() -> None:
    """a, b = b, sin(a): only b depends on x at first."""
    types = [VECTOR, VECTOR, COUNT]
    with GraphBuilder("f") as b:
        x, y = b.param(VECTOR, "x"), b.param(VECTOR, "y")
        cond = graph_of("cond", types, lambda a, b, i: op("less", i, 3))
        body = graph_of("body", types, lambda a, b, i: (b, op("sin", a), op("add", i, 1)))
        b.output(*control_flow.while_(b, cond, body, [y, x, np.array(0, np.int64)], [])[:2])
    check_grads(b.graph, [X, X + 1], order=2, runner=compiled)
    check_grads(b.graph, [X, X + 1], order=1)


def test_loops_within_loops_keep_stacks_of_stacks() -> None:
    types = [VECTOR, COUNT, VECTOR]

    def loop(b: GraphBuilder, turns: int, body: Any, x: Any, w: Any) -> Any:
        cond = graph_of("cond", types, lambda x, i, w: op("less", i, turns))
        step = graph_of("step", types, lambda x, i, w: (body(x, w), op("add", i, 1)))
        return control_flow.while_(b, cond, step, [x, np.array(0, np.int64)], [w])[0]

    with GraphBuilder("f") as b:
        x, w = b.param(VECTOR, "x"), b.param(VECTOR, "w")
        from msnb.core.engine import slot

        inner = lambda x, w: loop(slot.engine, 2, lambda x, w: op("sin", op("multiply", x, w)), x, w)  # type: ignore
        b.output(loop(b, 3, lambda x, w: op("multiply", inner(x, w), x), x, w))
    pair = vjp(b.graph, [0, 1])
    assert any("stack<stack<" in str(v.type) for v in pair.forward.outputs)
    check_grads(b.graph, [X, X + 1], order=2, runner=compiled)


# ---- Scan -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_scan_both_ways(reverse: bool, length: int) -> None:
    rows = tensor_type((length, 3), dtypes.float64)
    with GraphBuilder("f") as b:
        c, xs, w = b.param(VECTOR, "c"), b.param(rows, "xs"), b.param(VECTOR, "w")

        def turn(c: Any, x: Any, w: Any) -> Any:
            c = op("tanh", op("add", op("multiply", c, w), x))
            return c, op("multiply", c, x)

        body = graph_of("turn", [VECTOR, VECTOR, VECTOR], turn)
        b.output(*control_flow.scan(b, body, [c], [xs], [w], length, reverse))
    xs = np.random.default_rng(1).standard_normal((length, 3))
    check_grads(b.graph, [X, xs, X + 1], order=3, runner=compiled)
    if length:
        check_grads(b.graph, [X, xs, X + 1], order=1, runner=run)


def test_scan_hands_slices_over_and_stacks_the_rest() -> None:
    rows = tensor_type((4, 3), dtypes.float64)
    with GraphBuilder("f") as b:
        c, xs = b.param(VECTOR, "c"), b.param(rows, "xs")
        body = graph_of("turn", [VECTOR, VECTOR], lambda c, x: op("multiply", c, x))
        b.output(*control_flow.scan(b, body, [c], [xs], [], 4))
    pair = vjp(b.graph, [0])
    assert pair.residual_values == [b.graph.params[1]], "dc needs the slices of xs alone"


def test_a_while_inside_a_scan_travels_on_a_carried_stack() -> None:
    rows = tensor_type((3, 3), dtypes.float64)
    types = [VECTOR, COUNT]
    with GraphBuilder("f") as b:
        c, xs = b.param(VECTOR, "c"), b.param(rows, "xs")
        with GraphBuilder("turn") as t:
            c1, x1 = t.param(VECTOR, "c"), t.param(VECTOR, "x")
            cond = graph_of("cond", types, lambda y, i: op("less", i, 2))
            body = graph_of("body", types, lambda y, i: (op("sin", op("multiply", y, 1.5)), op("add", i, 1)))
            y = control_flow.while_(t, cond, body, [op("add", c1, x1), np.array(0, np.int64)], [])[0]
            t.output(y, op("multiply", y, x1))
        b.output(*control_flow.scan(b, t.graph, [c], [xs], [], 3))
    xs = np.random.default_rng(2).standard_normal((3, 3))
    check_grads(b.graph, [X, xs], order=2, runner=compiled)


# ---- Call -----------------------------------------------------------------------------------------------------------


def stacked_calls(count: int, recompute: bool = False) -> Graph:
    with GraphBuilder("f") as b:
        layer = graph_of("layer", [VECTOR, VECTOR], lambda x, w: op("tanh", op("multiply", x, w)), b.graph.module)
        name = b.graph.module.add(layer)
        x, w = b.param(VECTOR, "x"), b.param(VECTOR, "w")
        for _ in range(count):
            (x,) = control_flow.call(b, name, [x, w], recompute=recompute)
        b.output(x)
    return b.graph


def test_a_repeated_layer_has_one_pair() -> None:
    graph = stacked_calls(5)
    pair = vjp(graph, [0, 1])
    assert sorted(graph.module.graphs) == ["layer", "layer_backward", "layer_forward"]
    assert names(pair.backward).count("call") == 5
    check_grads(graph, [X, X + 1], order=2, runner=compiled)
    check_grads(graph, [X, X + 1], order=1)


@pytest.mark.long
def test_a_program_and_its_gradients_can_be_forgotten() -> None:
    graph = stacked_calls(2)
    module = weakref.ref(graph.module)
    compiled(jvp(gradient_graph(graph, [0]), [0]), [X] * 4)
    vmap(graph, 2, [True, False])
    del graph
    gc.collect()
    assert module() is None


def test_recompute_keeps_the_arguments_only() -> None:
    graph = stacked_calls(3, recompute=True)
    pair = vjp(graph, [0, 1])
    kept = {v.node.op.name if v.node else "param" for v in pair.residual_values}
    assert kept == {"param", "call"} and "layer_forward" not in graph.module.graphs
    check_grads(graph, [X, X + 1], order=2, runner=compiled)


def recursive() -> Graph:
    """f(x, n) = x if n <= 0 else sin(x) * f(0.9 x, n - 1)."""
    with GraphBuilder("main") as b:
        module = b.graph.module
        twin = GraphBuilder("f", module)
        module.add(twin.graph)
        with GraphBuilder("go", module) as go:
            x, n = go.param(SCALAR, "x"), go.param(COUNT, "n")
            inner = [go.lift(op("multiply", x, 0.9)), go.lift(op("subtract", n, 1))]
            rest = go.add(control_flow.CALL, inner, {"callee": "f", "layer": "", "recompute": False}, [SCALAR])[0]
            go.output(op("multiply", op("sin", x), rest))
        stop = graph_of("stop", [SCALAR, COUNT], lambda x, n: op("multiply", x, 1.0), module)
        with twin:
            x, n = twin.param(SCALAR, "x"), twin.param(COUNT, "n")
            twin.output(*control_flow.if_(twin, op("less_equal", n, 0), stop, go.graph, [x, n]))
        b.output(*control_flow.call(b, "f", [b.param(SCALAR, "x"), b.param(COUNT, "n")]))
    return b.graph


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_recursion_to_third_order(depth: int) -> None:
    check_grads(recursive(), [np.array(0.7), np.array(depth)], order=3, runner=compiled)
    check_grads(recursive(), [np.array(0.7), np.array(depth)], order=1)


def test_a_gradient_replayed_into_another_program_brings_its_callees() -> None:
    graph = gradient_graph(stacked_calls(2), [0])
    with GraphBuilder("elsewhere") as b:
        b.graph.module.add(graph_of("layer", [VECTOR], lambda x: op("negative", x)))
        b.output(*replay(graph, [b.param(p.type, p.name) for p in graph.params]))
    assert b.graph.module is not graph.module and b.graph.module.graphs["layer"].nodes[0].op.name == "negative"
    np.testing.assert_array_equal(compiled(b.graph, [X, X, X]), compiled(graph, [X, X, X]))


# ---- Python in the program ------------------------------------------------------------------------------------------


def host_program(grad: Any) -> Graph:
    def cube(x: Any) -> Any:
        return Tensor(x.asnumpy() ** 3)

    with GraphBuilder("f") as b:
        x = b.param(VECTOR, "x")
        b.output(*control_flow.host_call(b, control_flow.HostFn(cube, "cube", grad), [op("sin", x)], [VECTOR]))
    return b.graph


def test_python_without_a_gradient_is_refused_by_name() -> None:
    with pytest.raises(GradientError, match="Python function cube"):
        vjp(host_program(None), [0])
    with pytest.raises(GradientError, match="Python function cube"):
        jvp(host_program(None), [0])


def test_python_with_a_gradient_of_its_own() -> None:
    graph = host_program(lambda x, d: Tensor(3 * x.asnumpy() ** 2 * d.asnumpy()))
    check_grads(graph, [X], order=1, forward=False, runner=compiled)


# ---- everything in everything ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_to_second_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(3) * 0.5 for _ in range(2)]
    check_grads(Maker(seed).program(depth=3), arrays, order=2, seed=seed, runner=compiled)


@pytest.mark.parametrize("seed", range(10))
def test_transforms_give_graphs_that_obey_the_laws_and_print(seed: int) -> None:
    graph = Maker(seed, kinds="ifwnwc").program(depth=3)
    gradient = gradient_graph(graph, [0, 1])
    for found in (gradient, jvp(gradient, [0, 2]), vmap(gradient, 3, [True, False, True, False])[0]):
        verify(found)
        assert isomorphic(parse(print_graph(found), constants_of(found)), found)


@pytest.mark.parametrize("seed", range(100, 110))
def test_random_programs_to_third_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(3) * 0.5 for _ in range(2)]
    check_grads(Maker(seed).program(depth=2), arrays, order=3, seed=seed, runner=compiled)


@pytest.mark.parametrize("seed", range(200, 212))
def test_random_programs_give_the_same_eagerly(seed: int) -> None:
    graph = gradient_graph(Maker(seed).program(depth=2), [0, 1])
    arrays = list(np.random.default_rng(seed).standard_normal((4, 3)) * 0.5)
    for one, other in zip(compiled(graph, arrays), run(graph, arrays)):
        np.testing.assert_array_equal(one, other)


def test_the_cost_of_nesting_is_linear_in_the_program() -> None:
    """Twice the loops in a row, twice the nodes; the same loop one level deeper does not multiply them."""

    def in_a_row(count: int) -> int:
        with GraphBuilder("f") as b:
            x = b.param(VECTOR, "x")
            loop = powers()
            for _ in range(count):
                (x,) = inline(b, loop, [x, np.array(2, np.int64), x])
            b.output(x)
        pair = vjp(b.graph, [0])
        return len(names(pair.forward)) + len(names(pair.backward))

    assert in_a_row(8) - in_a_row(4) == pytest.approx(in_a_row(4) - in_a_row(0), abs=8)
