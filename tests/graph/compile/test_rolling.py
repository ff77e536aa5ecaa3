"""Loops that Python wrote out become Scans: the same values, gradients, draws and effects as turn by turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.graph.capture import trace
from msnb.graph.compile import compile_graph
from msnb.graph.compile.passes import rolling
from msnb.ir.analysis.verifier import verify
from msnb.ir.control_flow import replay

T, N, D = 12, 2, 3


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short loops are worth it here."""
    monkeypatch.setattr(rolling, "WORTH", 2 * rolling.TURNS)


@pytest.fixture
def data(rng: np.random.Generator) -> dict[str, ms.Tensor]:
    draw = lambda *shape: ms.Tensor(rng.standard_normal(shape) / 2)
    return {"x": draw(T, N, D), "w": draw(D, D), "u": draw(D, D), "b": draw(D), "h": draw(N, D)}


def cell(x: Any, h: Any, w: Any, u: Any, b: Any) -> Any:
    return ops.tanh(x @ w + h @ u + b)


def rows_up(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    out = []
    for t in range(T):
        h = cell(x[t], h, w, u, b)
        out.append(h)
    return ops.stack(out), h


def rows_down(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    out = []
    for t in reversed(range(T)):
        h = cell(x[t], h, w, u, b)
        out.append(h)
    return ops.stack(out), ops.stack(out[::-1], axis=1), ops.concat(out, axis=-1), h


def second_axis(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    x = ops.transpose(x, (1, 0, 2))
    out = [h]
    for t in range(T - 2):
        h = cell(x[:, t + 1], h, w, u, b)
        out.append(h)
    return ops.concat(out, axis=1), ops.stack([*out, h + 1.0], axis=-1)


def part_of_a_row(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    for t in range(T):
        h = h * x[t, 0] + x[t, 1, 1] * 0.5 + x[t][..., :1]
    return h


def rows_read_one_by_one(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    kept = []
    for t in range(T):
        h = cell(x[t], h, w, u, b)
        kept.append(h)
    return kept[3] * kept[7], kept[0], kept[-1], ops.stack(kept[2:9])


def nothing_is_a_row(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    c = h * 0.0
    for _ in range(T):
        k = ops.sin(h @ w)
        h, c = h + 0.1 * ops.cos((h + 0.05 * k) @ w), c + k
    return h, c


def layers_of_one_weight(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    for _ in range(T):
        h = h + ops.relu(h @ w + b) @ u
    return h


def weights_that_differ(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    for t in range(T):
        h = cell(x[t], h, w * (1.0 + t), u, b)
    return h


def state_of_two_turns_ago(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    older, old = h, h
    for t in range(T):
        older, old = old, cell(x[t], older, w, u, b)
    return old, older


def every_second_row(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    for t in range(0, T, 2):
        h = cell(x[t], h, w, u, b)
        h = h - 0.5 * h
        h = ops.sin(h) + ops.cos(h)
    return h


def a_different_first_turn(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    state, total = None, 0.0
    for t in range(T):
        state = ops.tanh(x[t] @ w) if state is None else cell(x[t], state, w, u, b)
        total = total + (state * state).sum()
    return state, total


def loops_in_a_loop(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    for t in range(T):
        for _ in range(9):
            h = h + 0.1 * ops.sin(h @ u)
        h = cell(x[t], h, w, u, b)
    return h


def two_loops(x: Any, w: Any, u: Any, b: Any, h: Any) -> Any:
    y, h = rows_up(x, w, u, b, h)
    z, h = rows_up(y, u, w, b, h)
    return z, h


ROLLED = (rows_up, rows_down, second_axis, part_of_a_row, rows_read_one_by_one, nothing_is_a_row, layers_of_one_weight,
          a_different_first_turn, loops_in_a_loop, two_loops)  # fmt: skip
WHATEVER = (weights_that_differ, state_of_two_turns_ago, every_second_row)


def loops(graph: Any) -> int:
    return sum(node.op.name == "scan" for _, node in graph.walk())


def close(got: Any, want: Any) -> None:
    for a, b in zip(flat(got), flat(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def flat(tree: Any) -> list[Any]:
    return [a for part in tree for a in flat(part)] if isinstance(tree, (tuple, list)) else [tree.asnumpy()]


@pytest.mark.parametrize("fn", [*ROLLED, *WHATEVER], ids=lambda fn: fn.__name__)
def test_the_rolled_graph_is_the_same_function(data: dict[str, ms.Tensor], fn: Any) -> None:
    args = [data[name] for name in ("x", "w", "u", "b", "h")]
    graph = trace(fn, tuple(args), {}).graph
    rolled = rolling.rolled(graph)
    assert (loops(rolled) > 0) == (fn in ROLLED) or fn in WHATEVER
    assert fn not in ROLLED or sum(1 for _ in rolled.walk()) < sum(1 for _ in graph.walk()) // 2
    verify(rolled, "captured", deep=True)
    assert [v.type for v in rolled.outputs] == [v.type for v in graph.outputs]
    given = [data[p.name] for p in graph.params]
    close(replay(rolled, given), replay(graph, given))


@pytest.mark.parametrize("fn", [*ROLLED, *WHATEVER], ids=lambda fn: fn.__name__)
def test_compiled_with_gradients(data: dict[str, ms.Tensor], fn: Any) -> None:
    args = [data[name] for name in ("x", "w", "u", "b", "h")]

    def loss(*args: Any) -> Any:
        found = fn(*args)
        return sum((part * part).sum() for part in (found if isinstance(found, tuple) else (found,)))

    train = ms.value_and_grad(loss, tuple(range(5)))
    ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O0")
    want = train(*args)
    ms.set_context(jit_level="O1")
    close(ms.jit(train)(*args), want)


@pytest.mark.long
def test_cells_in_a_loop_are_one_loop_with_products_outside(data: dict[str, ms.Tensor]) -> None:
    net = nn.LSTMCell(D, 4, dtype=ms.float64)

    def loss(x: Any) -> Any:
        h = c = ops.zeros((N, 4), ms.float64)
        for row in range(T):
            h, c = net(x[row], (h, c))
        return (h * c).sum()

    train = ms.value_and_grad(loss, 0, net.trainable_params())
    ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O0")
    want = train(data["x"])
    ms.set_context(jit_level="O1")
    close(ms.jit(train)(data["x"]), want)
    graph = compile_graph(trace(train, (data["x"],), {}).noted).graph
    scans = [node for node in graph.nodes if node.op.name == "scan"]
    assert [[n.op.name for _, n in s.graphs[0].walk()].count("matmul") for s in scans] == [1, 1]


def test_draws_are_those_of_the_turns() -> None:
    def walk(x: Any) -> Any:
        for _ in range(T):
            x = ops.dropout(ops.tanh(x + ops.rand(4)), p=0.5, training=True)
        return x, ops.rand(2)

    found = []
    for level in ("O0", "O1"):
        ms.set_context(jit_level=level)
        ms.set_seed(11)
        step = ms.jit(walk)
        found.append([step(ops.ones(4)) for _ in range(2)])
    for a, b in zip(flat(found[0]), flat(found[1]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_effects_come_in_their_order(capfd: pytest.CaptureFixture[str], data: dict[str, ms.Tensor]) -> None:
    ms.set_context(jit_level="O1")

    @ms.jit
    def talk(x: Any) -> Any:
        total = x[0, 0, 0] * 0.0
        for t in range(T):
            total = ops.floor(total) + 1.0 + 0.0 * x[t, 0, 0]
            ops.print_("turn", total)
        return total

    assert float(talk(data["x"])) == T
    text = capfd.readouterr().out
    assert [text.index(f"{k}") for k in (1, 2, 9, 12)] == sorted(text.index(f"{k}") for k in (1, 2, 9, 12))


def test_short_loops_and_marked_ones_stay_written_out(
    data: dict[str, ms.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    args = tuple(data[name] for name in ("x", "w", "u", "b", "h"))
    graph = trace(rows_up, args, {}).graph
    assert loops(rolling.rolled(graph)) == 1
    monkeypatch.setattr(rolling, "WORTH", 500)
    assert rolling.rolled(graph) is graph


@pytest.mark.long
def test_random_loops(rng: np.random.Generator) -> None:
    """Turns of random operations over carried values, rows and weights; the seed of the run repeats them."""
    unary = (ops.tanh, ops.sin, ops.relu, lambda a: a * 0.5, lambda a: ops.transpose(ops.transpose(a, (1, 0)), (1, 0)))
    count = 0
    binary = (ops.add, ops.mul, ops.maximum, lambda a, b: ops.tanh(a) @ ops.sin(b), lambda a, b: a - 0.3 * b)
    for _ in range(25):
        n_carry, words = int(rng.integers(1, 4)), rng.integers(0, 10**6, (6, 4)).tolist()
        down, axis, keep = bool(rng.integers(2)), int(rng.integers(3)), rng.integers(0, 10**6, 3).tolist()
        x, w = ms.Tensor(rng.standard_normal((T, D, D)) / 3), ms.Tensor(rng.standard_normal((D, D)) / 3)

        def run(x: Any, w: Any) -> Any:
            state, kept = [w * (i + 1.0) for i in range(n_carry)], []
            for t in reversed(range(T)) if down else range(T):
                here = [*state, x[t], w]
                for a, b, c, d in words:
                    left, right = here[a % len(here)], here[b % len(here)]
                    here.append(unary[c % 5](left) if d % 2 else binary[c % 5](left, right))
                state = [ops.tanh(here[-1 - i]) for i in range(n_carry)]
                kept.append(here[-2])
            return ops.stack(kept, axis=axis), kept[keep[0] % T], state[0], ops.concat(kept[keep[1] % 4 :], axis=1)

        graph = trace(run, (x, w), {}).graph
        rolled = rolling.rolled(graph)
        count += loops(rolled) > 0
        verify(rolled, "captured", deep=True)
        given = [{"x": x, "w": w}[p.name] for p in graph.params]
        close(replay(rolled, given), replay(graph, given))
    assert count >= 20


@pytest.mark.long
@pytest.mark.parametrize("kind", ["RNNCell", "GRUCell", "LSTMCell"])
def test_an_eager_sweep_back_through_a_loop_is_a_loop(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, kind: str
) -> None:
    from msnb.eager import backward_program

    monkeypatch.setattr(backward_program, "LONG", 50)
    net = getattr(nn, kind)(D, 4, dtype=ms.float64)
    x = ms.Tensor(rng.standard_normal((T, N, D)))

    def loss(x: Any) -> Any:
        state: Any = None
        for t in range(T):
            state = net(x[t], state)
        return sum((part * part).sum() for part in (state if isinstance(state, tuple) else (state,)))

    found = []
    for level in ("O0", "O1"):
        ms.set_context(mode=ms.PYNATIVE_MODE, jit_level=level)
        found.append([ms.value_and_grad(loss, None, net.trainable_params())(x) for _ in range(4)])
    close(found[1], found[0])
    ran = [p._run.graph for p, _ in backward_program._programs.values() if hasattr(p._run, "graph")]
    assert any(loops(graph) == 1 and [n.op.name for n in graph.nodes].count("matmul") >= 2 for graph in ran)


def test_values_that_differ_are_copied_only_where_that_is_allowed(rng: np.random.Generator) -> None:
    weights = [ms.Tensor(rng.standard_normal((D, D)) / 2) for _ in range(2 * T)]
    h = ms.Tensor(rng.standard_normal((N, D)))

    def run(h: Any, weights: Any) -> Any:
        total = h * 0.0
        for w, u in zip(weights[::2], weights[1::2]):
            h = ops.tanh(h @ w) @ u
            total = total + h
        return h, total

    graph = trace(run, (h, weights), {}).graph
    assert rolling.rolled(graph) is graph
    rolled = rolling.rolled(graph, copies=True)
    assert loops(rolled) == 1
    verify(rolled, "captured", deep=True)
    by_type = iter(weights)
    given = [h if p.type.shape == (N, D) else next(by_type) for p in graph.params]
    close(replay(rolled, given), replay(graph, given))
