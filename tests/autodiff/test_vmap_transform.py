"""vmap of graphs against a loop over the lanes: ops, control flow, random numbers, derivatives in both orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from msnb.autodiff import jvp, vmap
from msnb.base.errors import MsnbError
from msnb.core import dtypes
from msnb.core.types import tensor_type
from msnb.ir import control_flow
from msnb.ir.builder import GraphBuilder, build
from msnb.ir.graph import Graph
from msnb.ops.definition.record import REGISTRY, define
from msnb.ops.definition.type_inference import elementwise
from tests.autodiff.programs import COUNT, SCALAR, TRUTH, VECTOR, Maker, compiled, graph_of, names, op, total
from tests.autodiff.test_control_gradients import powers, recursive
from tests.gradient_check import check_grads, gradient_graph

LANES = 4
KEY = tensor_type((2,), dtypes.uint64)


def looped(graph: Graph, arrays: list[Any], which: list[bool], lanes: int = LANES) -> list[Any]:
    rows = [compiled(graph, [a[i] if w else a for a, w in zip(arrays, which)]) for i in range(lanes)]
    return [np.stack(column) for column in zip(*rows)]


def same_as_loop(graph: Graph, arrays: list[Any], which: list[bool], lanes: int = LANES) -> Graph:
    batched, outs = vmap(graph, lanes, which)
    for found, want, has_axis in zip(compiled(batched, arrays), looped(graph, arrays, which, lanes), outs):
        spread = found if has_axis else np.broadcast_to(found, want.shape)
        np.testing.assert_allclose(spread, want, rtol=1e-9, atol=1e-10)
    return batched


def draw(rng: np.random.Generator, graph: Graph, which: list[bool], scale: float = 0.8) -> list[Any]:
    shapes = [((LANES,) if w else ()) + p.type.shape for p, w in zip(graph.params, which)]
    return [rng.standard_normal(s) * scale for s in shapes]


# ---- ops ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [[True, True], [True, False], [False, True]])
def test_operands_of_different_rank_line_up(which: list[bool]) -> None:
    matrix = tensor_type((2, 3), dtypes.float64)
    graph = build("f", [matrix, VECTOR], lambda x, y: (op("multiply", x, y), op("subtract", y, total(x))))
    batched = same_as_loop(graph, draw(np.random.default_rng(0), graph, which), which)
    assert "scan" not in names(batched)


@pytest.mark.parametrize("which", [[True, True], [True, False], [False, True]])
def test_matmul_gets_one_more_leading_axis(which: list[bool]) -> None:
    types = [tensor_type((2, 3), dtypes.float64), tensor_type((5, 3, 4), dtypes.float64)]
    graph = build("f", types, lambda x, y: op("matmul", x, y))
    assert "scan" not in names(same_as_loop(graph, draw(np.random.default_rng(0), graph, which), which))


@pytest.mark.parametrize("axis", [0, -1, (0, 2), None])
def test_axes_move_one_up(axis: Any) -> None:
    cube = tensor_type((2, 3, 4), dtypes.float64)
    graph = build("f", [cube], lambda x: op("sum", x, axis=axis, keepdims=False))
    assert "scan" not in names(same_as_loop(graph, draw(np.random.default_rng(0), graph, [True]), [True]))


def test_an_op_that_flattens_without_an_axis() -> None:
    graph = build("f", [tensor_type((2, 3), dtypes.float64)], lambda x: op("argmax", x, axis=None, keepdims=False))
    batched = same_as_loop(graph, draw(np.random.default_rng(0), graph, [True]), [True])
    assert "scan" not in names(batched)


def test_what_is_not_batched_stays_as_it_is() -> None:
    graph = build("f", [VECTOR, VECTOR], lambda x, y: (op("sin", y), op("add", x, op("sin", y))))
    batched, outs = vmap(graph, LANES, [True, False])
    assert outs == (False, True) and batched.outputs[0].type is VECTOR


def test_vmap_of_vmap() -> None:
    graph = build("f", [VECTOR, SCALAR], lambda x, k: op("multiply", op("sin", x), k))
    inner, _ = vmap(graph, 2, [False, True])
    outer, _ = vmap(inner, LANES, [True, False])
    x, k = np.random.default_rng(0).standard_normal((LANES, 3)), np.array([1.0, 2.0])
    np.testing.assert_allclose(compiled(outer, [x, k])[0], np.sin(x)[:, None] * k[:, None])


def test_an_op_without_any_rule_runs_lane_by_lane_and_says_so_once(notices: list[str]) -> None:
    reverse = define(
        "test_no_rule", "x, y", infer=elementwise("test_no_rule"), body=lambda xp, x, y: (x + y)[::-1], doc="",
        axes="n!, n! -> n!", no_grad="test",
    )  # fmt: skip
    try:
        graph = build("f", [VECTOR, VECTOR], lambda x, y: reverse(reverse(x, y), x))
        batched = same_as_loop(graph, draw(np.random.default_rng(0), graph, [True, False]), [True, False])
    finally:
        del REGISTRY["test_no_rule"]
    assert names(batched).count("scan") == 2
    assert notices == ["vmap runs test_no_rule lane by lane: it has no batch rule."]


def test_a_result_of_unknown_size_is_refused() -> None:
    with pytest.raises(MsnbError, match="would differ from lane to lane"):
        vmap(build("f", [VECTOR], lambda x: op("nonzero", x)), LANES, [True])


def test_python_runs_once_per_lane() -> None:
    seen: list[float] = []

    def look(x: Any) -> Any:
        seen.append(float(x.asnumpy().sum()))
        return x

    with GraphBuilder("f") as b:
        b.output(*control_flow.host_call(b, control_flow.HostFn(look), [b.param(VECTOR, "x")], [VECTOR]))
    batched, _ = vmap(b.graph, 2, [True])
    compiled(batched, [np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])])
    assert seen == [6.0, 15.0]


# ---- random numbers -------------------------------------------------------------------------------------------------


def test_lanes_draw_different_numbers_in_one_draw() -> None:
    key = np.array([7, 3], np.uint64)
    draw_one = lambda k, x: op("add", op("random_uniform", k, shape=(3,), dtype=dtypes.float64), x)
    graph = build("f", [KEY, VECTOR], draw_one)
    batched, _ = vmap(graph, LANES, [False, True])
    whole = build("g", [KEY], lambda k: op("random_uniform", k, shape=(LANES, 3), dtype=dtypes.float64))
    found = compiled(batched, [key, np.zeros((LANES, 3))])[0]
    np.testing.assert_array_equal(found, compiled(whole, [key])[0])
    assert len(np.unique(found)) == LANES * 3


def test_the_draw_index_stays_one_for_all_lanes() -> None:
    def program(state: Any, x: Any) -> Any:
        key, after = op("next_key", state)
        return after, op("add", op("random_normal", key, shape=(3,), dtype=dtypes.float64), x)

    batched, outs = vmap(build("f", [KEY, VECTOR], program), LANES, [False, True])
    assert outs == (False, True)
    assert compiled(batched, [np.array([7, 3], np.uint64), np.zeros((LANES, 3))])[0].tolist() == [7, 4]


def test_a_draw_without_a_shape_is_the_same_in_all_lanes_and_says_so(notices: list[str]) -> None:
    graph = build("f", [KEY, VECTOR], lambda k, x: op("add", op("random_permutation", k, n=3), x))
    batched, _ = vmap(graph, LANES, [False, True])
    rows = compiled(batched, [np.array([7, 3], np.uint64), np.zeros((LANES, 3))])[0]
    assert notices == [
        "vmap: all lanes share one draw of random_permutation; give it a key per lane for different ones."
    ]
    assert (rows == rows[0]).all() and sorted(rows[0]) == [0, 1, 2]


def test_a_key_per_lane_draws_per_lane() -> None:
    graph = build("f", [KEY], lambda k: op("random_permutation", k, n=16))
    keys = np.array([[7, i] for i in range(LANES)], np.uint64)
    same_as_loop(graph, [keys], [True])


def test_draws_inside_a_loop_differ_between_lanes_even_without_batched_inputs() -> None:
    with GraphBuilder("f") as b:
        key, x = b.param(KEY, "key"), b.param(VECTOR, "x")
        body = graph_of(
            "turn", [VECTOR, KEY],
            lambda c, k: op("add", c, op("random_uniform", k, shape=(3,), dtype=dtypes.float64)),
        )  # fmt: skip
        (c,) = control_flow.scan(b, body, [np.zeros(3)], [], [key], 2)
        b.output(c, x)
    batched, outs = vmap(b.graph, LANES, [False, True])
    found = compiled(batched, [np.array([7, 3], np.uint64), np.zeros((LANES, 3))])[0]
    assert outs == (True, True) and len(np.unique(found)) == LANES * 3


# ---- control flow ---------------------------------------------------------------------------------------------------


def guarded() -> Graph:
    """sqrt(x) for x > 0, log(-x) otherwise: each branch is illegal for the other's lanes."""
    with GraphBuilder("f") as b:
        x = b.param(SCALAR, "x")
        then = graph_of("then", [SCALAR], lambda x: op("sqrt", x))
        other = graph_of("else", [SCALAR], lambda x: op("log", op("negative", x)))
        b.output(*control_flow.if_(b, op("greater", x, 0.0), then, other, [x]))
    return b.graph


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("x", [[4.0, -2.0, 0.25], [1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]])
def test_untaken_lanes_do_no_harm_in_values_and_gradients(x: list[float]) -> None:
    lanes = np.array(x)
    graph = same_as_loop(guarded(), [lanes], [True], 3)
    gradient = gradient_graph(graph, [0])
    slopes = np.where(lanes > 0, 0.5 / np.sqrt(np.abs(lanes)), 1 / lanes)
    np.testing.assert_allclose(compiled(gradient, [lanes, np.ones(3)])[0], slopes)
    curved = np.where(lanes > 0, -0.25 * np.abs(lanes) ** -1.5, -1 / lanes**2)
    np.testing.assert_allclose(compiled(gradient_graph(gradient, [0]), [lanes, np.ones(3), np.ones(3)])[0], curved)


@pytest.mark.filterwarnings("error")
def test_a_gradient_of_lanes_equals_lanes_of_gradients() -> None:
    lanes = np.array([4.0, -2.0, 0.25])
    batched, _ = vmap(gradient_graph(guarded(), [0]), 3, [True, True])
    np.testing.assert_allclose(compiled(batched, [lanes, np.ones(3)])[0], [0.25, -0.5, 1.0])


@pytest.mark.filterwarnings("error")
def test_finished_lanes_keep_their_values_and_cannot_spoil_gradients() -> None:
    """x = sqrt(x - 1) while x > 1: one turn more than wanted would be the root of a negative number."""
    with GraphBuilder("f") as b:
        cond = graph_of("cond", [SCALAR], lambda x: op("greater", x, 1.0))
        body = graph_of("body", [SCALAR], lambda x: op("sqrt", op("subtract", x, 1.0)))
        b.output(*control_flow.while_(b, cond, body, [b.param(SCALAR, "x")], []))
    lanes = np.array([0.5, 2.5, 30.0, 1.5])
    same_as_loop(b.graph, [lanes], [True])
    gradient = gradient_graph(b.graph, [0])
    same_as_loop(gradient, [lanes, np.ones(4)], [True, True])
    outside = gradient_graph(vmap(b.graph, 4, [True])[0], [0])
    want = looped(gradient, [lanes, np.ones(4)], [True, True])
    np.testing.assert_allclose(compiled(outside, [lanes, np.ones(4)]), want)


def test_a_predicate_that_is_the_same_for_all_lanes_stays_one() -> None:
    with GraphBuilder("f") as b:
        p, x = b.param(TRUTH, "p"), b.param(VECTOR, "x")
        then, other = (graph_of(n, [VECTOR], lambda x, n=n: op(n, x)) for n in ("sin", "cos"))
        b.output(*control_flow.if_(b, p, then, other, [x]))
    batched, _ = vmap(b.graph, LANES, [False, True])
    assert sorted(names(batched)) == ["cos", "if", "sin"]
    x = np.random.default_rng(0).standard_normal((LANES, 3))
    np.testing.assert_array_equal(compiled(batched, [np.array(False), x])[0], np.cos(x))


@pytest.mark.parametrize("which", [[True, False, True], [True, True, False], [False, True, False]])
def test_while_with_and_without_a_batched_count(which: list[bool]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((LANES, 3) if w else (3,)) for w in which]
    arrays[1] = np.array([3, 0, 1, 5]) if which[1] else np.array(3)
    same_as_loop(powers(), arrays, which)
    gradient = gradient_graph(powers(), [0, 2])
    same_as_loop(gradient, [*arrays, rng.standard_normal(3)], [*which, False])
    second = gradient_graph(gradient, [0, 2, 3])
    rest = [rng.standard_normal(3) for _ in second.params[len(gradient.params) :]]
    same_as_loop(second, [*arrays, rng.standard_normal(3), *rest], [*which, False, *[False] * len(rest)])


def test_recursion_stops_lane_by_lane() -> None:
    x, n = np.array([0.7, 0.2, -0.4, 1.0]), np.array([1, 4, 0, 2])
    same_as_loop(recursive(), [x, n], [True, True])
    gradient = gradient_graph(recursive(), [0])
    same_as_loop(gradient, [x, n, np.ones(())], [True, True, False])
    outside = gradient_graph(vmap(recursive(), 4, [True, True])[0], [0])
    np.testing.assert_allclose(
        compiled(outside, [x, n, np.ones(4)])[0], looped(gradient, [x, n, np.ones(())], [True, True, False])[0]
    )


def test_a_repeated_layer_has_one_batched_twin() -> None:
    with GraphBuilder("f") as b:
        layer = graph_of("layer", [VECTOR], lambda x: op("tanh", x), b.graph.module)
        name, x = b.graph.module.add(layer), b.param(VECTOR, "x")
        for _ in range(4):
            (x,) = control_flow.call(b, name, [x])
        b.output(x)
    assert names(vmap(b.graph, LANES, [True])[0]) == ["call"] * 4
    assert sorted(b.graph.module.graphs) == ["layer", "layer_vmap"]


def test_carried_integers_become_one_per_lane() -> None:
    """How often x halves until it is below 1: the count differs, the type of the result says so."""
    types = [SCALAR, COUNT]
    with GraphBuilder("f") as b:
        cond = graph_of("cond", types, lambda x, i: op("greater_equal", x, 1.0))
        body = graph_of("body", types, lambda x, i: (op("multiply", x, 0.5), op("add", i, 1)))
        b.output(control_flow.while_(b, cond, body, [b.param(SCALAR, "x"), np.array(0, np.int64)], [])[1])
    batched, _ = vmap(b.graph, 3, [True])
    assert compiled(batched, [np.array([0.5, 5.0, 64.0])])[0].tolist() == [0, 3, 7]


# ---- everything in everything ---------------------------------------------------------------------------------------


FORMS = {
    "program": lambda g: g,
    "gradient": lambda g: gradient_graph(g, [0, 1]),
    "tangent": lambda g: jvp(g, [0, 1]),
    "second": lambda g: gradient_graph(gradient_graph(g, [0, 1]), [0, 1]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(25))
def test_random_programs_match_a_loop(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    graph = FORMS[form](Maker(seed).program(depth=2))
    which = [bool(rng.integers(2)) for _ in graph.params]
    same_as_loop(graph, draw(rng, graph, which), which)


@pytest.mark.parametrize("seed", range(25, 45))
def test_gradients_of_batched_random_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = Maker(seed).program(depth=2)
    batched, _ = vmap(graph, LANES, [True, False])
    check_grads(batched, draw(rng, graph, [True, False], 0.5), order=2, seed=seed, runner=compiled)


def test_ten_thousand_nodes() -> None:
    def program(x: Any) -> Any:
        for _ in range(10_000):
            x = op("sin", x)
        return x

    assert len(vmap(build("deep", [VECTOR], program), LANES, [True])[0].nodes) == 10_000
