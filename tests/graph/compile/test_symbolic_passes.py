"""Passes that run once over a program with symbols: what they make is bound to sizes, and means what it meant."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import events
from msnb.graph.compile import SymbolicPasses, pipeline
from msnb.ir.graph import Graph
from msnb.ir.text.parser import parse
from msnb.ops.definition.symbolic_sizes import compared, differ, symbol


@pytest.fixture(params=["O0", "O1"])
def level(request: pytest.FixtureRequest, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Without programs of earlier runs on disk, which no pass would work on."""
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    with ms.set_context(jit_level=request.param):
        yield request.param


def _rows(n: int, k: int = 8) -> ms.Tensor:
    return ms.Tensor(np.random.default_rng(n).normal(size=(n, k)).astype(np.float32))


def _learnt(f: Any) -> list[bool]:
    """Which passes over a program with symbols were kept."""
    return [passed is not None for each in f._templates._passes.values() for passed in each._passed.values()]


class Recurrent(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(8, 8, batch_first=True)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        found, _ = self.gru(x.reshape(-1, x.shape[0], 8) * ops.ones((2, 1, 1)))
        return found[:, -1].square().sum()


def _losses() -> dict[str, tuple[Callable[[ms.Tensor], ms.Tensor], Any]]:
    dense, norm, image = nn.Dense(8, 8), nn.LayerNorm((8,)), nn.Conv2d(1, 16, 3)
    recurrent = Recurrent()
    return {
        "mean": (lambda x: ops.relu(dense(x)).square().mean(), dense),
        "mean of rows": (lambda x: (dense(x).mean(1) * x[:, 0]).sum(), dense),
        "norm": (lambda x: norm(dense(x)).square().sum(), dense),
        "last row": (lambda x: (dense(x)[1:] * x[:-1]).sum() + dense(x)[-1].sum(), dense),
        "softmax": (lambda x: ops.softmax(dense(x) @ x.T, -1).square().sum(), dense),
        "image": (lambda x: image(x.reshape(-1, 1, 4, 2)).square().sum(), image),
        "loop": (recurrent, recurrent),
    }


@pytest.mark.parametrize("name", _losses())
def test_gradients_are_those_of_eager_mode(level: str, name: str) -> None:
    ms.set_seed(3)
    loss, cell = _losses()[name]
    gradient = ms.value_and_grad(loss, 0, cell.trainable_params())
    step = ms.jit(lambda x: gradient(x))
    for n in (5, 6, 7, 4, 11, 13):
        (value, (dx, dw)), x = step(_rows(n)), _rows(n)
        with ms.set_context(mode=ms.PYNATIVE_MODE):
            want, (wx, ww) = gradient(x)
        np.testing.assert_allclose(float(value), float(want), rtol=1e-4, err_msg=str(n))
        for a, b in zip((dx, *dw), (wx, *ww)):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-4, err_msg=str(n))
    assert step._bound == 4 and _learnt(step) and all(_learnt(step))


def test_later_sizes_run_no_pass(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    simplified = pipeline._simplified
    monkeypatch.setattr(pipeline, "_simplified", lambda *args: (ran.append("x"), simplified(*args))[1])
    f = ms.jit(lambda x: (x * 2 + x).sum(0))
    for n in (8, 9, 10):
        f(_rows(n))
    ran.clear()
    for n in (11, 12, 13, 14, 15):
        np.testing.assert_allclose(f(_rows(n)).asnumpy(), 3 * _rows(n).asnumpy().sum(0), rtol=1e-4)
    assert not ran
    assert f.versions[0].compiled.graph.nodes and f.versions[0].compiled.stages  # worked out when asked for


def test_who_watches_sees_every_pass(level: str) -> None:
    f = ms.jit(lambda x: (x * 1 + x).sum(0))
    for n in (8, 9, 10, 11):
        f(_rows(n))
    seen: list[str] = []
    with events.listening("stage", lambda name, **_: seen.append(name)):
        f(_rows(12))
    assert "algebra" in seen and "dce" in seen


def test_a_size_that_was_taken_for_another_one_is_passed_alone(level: str) -> None:
    """Eight rows: the axes that a pass compared are equal, and the program is right all the same."""
    dense = nn.Dense(8, 8)
    gradient = ms.value_and_grad(lambda x: ops.softmax(dense(x) + x.sum(1, keepdims=True), -1)[:, 0].sum(), 0)
    step = ms.jit(lambda x: gradient(x))
    for n in (5, 6, 7, 8, 1, 2, 8, 9):
        value, dx = step(_rows(n))
        with ms.set_context(mode=ms.PYNATIVE_MODE):
            want, wx = gradient(_rows(n))
        np.testing.assert_allclose(float(value), float(want), rtol=1e-4)
        np.testing.assert_allclose(dx.asnumpy(), wx.asnumpy(), rtol=1e-3, atol=1e-5)


def test_random_chains(level: str) -> None:
    """Chains of operations on two axes that change, each size against eager mode."""
    steps: list[Callable[[ms.Tensor], ms.Tensor]] = [
        lambda x: x * x.sum(0), lambda x: x - x.mean(1, keepdims=True), lambda x: x.T, lambda x: ops.tanh(x),
        lambda x: x @ (x.T @ x) / 9, lambda x: ops.concat([x, x * 2], 0), lambda x: x[1:], lambda x: x[:, :-1],
        lambda x: x.reshape(x.shape[1], -1), lambda x: ops.softmax(x, 0), lambda x: x + x[-1],
    ]  # fmt: skip
    for seed in (11, 12, 13):
        picked = random.Random(seed).choices(steps, k=4)

        def chain(x: ms.Tensor, picked: Any = picked) -> ms.Tensor:
            for step in picked:
                x = step(x)
            return x.square().mean()

        gradient = ms.value_and_grad(chain, 0)
        program = ms.jit(lambda x: gradient(x))
        for n, k in ((5, 6), (6, 7), (7, 9), (9, 9), (4, 6), (10, 5)):
            value, dx = program(_rows(n, k))
            with ms.set_context(mode=ms.PYNATIVE_MODE):
                want, wx = gradient(_rows(n, k))
            said = f"seed {seed}, sizes {n}, {k}"
            np.testing.assert_allclose(float(value), float(want), rtol=1e-3, err_msg=said)
            scale = max(1.0, float(np.abs(wx.asnumpy()).max()))
            np.testing.assert_allclose(dx.asnumpy(), wx.asnumpy(), rtol=1e-3, atol=1e-5 * scale, err_msg=said)


# ---- alone ----------------------------------------------------------------------------------------------------------


def _symbolic(text: str, n: Any) -> Graph:
    """The graph of a text, its size 5 a symbol."""
    graph = parse(text)
    for value in (*graph.params, *(v for node in graph.nodes for v in node.outputs)):
        value.type = value.type.with_shape(tuple(n if d == 5 else d for d in value.type.shape))
    return graph


TEXT = "graph f(x: f32[5,3]) -> (f32[5,3])\n %1 = multiply(x, x) : f32[5,3]\n return %1"


def test_a_pass_that_needs_numbers_is_not_used() -> None:
    n = symbol()
    passes = SymbolicPasses(_symbolic(TEXT, n))

    def measures(graph: Graph) -> Graph:
        _ = graph.nodes[0].out.type.size  # type: ignore[union-attr]
        return graph

    passes.learn("key", {n.symbol: 5}, parse(TEXT), measures)
    assert passes.bound("key", {n.symbol: 6}) is None


def test_a_result_with_more_to_do_is_not_used() -> None:
    n = symbol()
    passes = SymbolicPasses(_symbolic(TEXT.replace("3]", "4096]"), n))
    less = parse("graph f(x: f32[5,4096]) -> (f32[5,4096])\n return x")
    passes.learn("key", {n.symbol: 5}, less, lambda graph: graph)
    assert passes.bound("key", {n.symbol: 6}) is None


def test_sizes_that_were_compared_are_not_bound() -> None:
    n = symbol()
    passes = SymbolicPasses(_symbolic(TEXT, n))

    def compares(graph: Graph) -> Graph:
        assert graph.params[0].type.shape[0] != 7  # type: ignore[union-attr]
        return graph

    passes.learn("key", {n.symbol: 5}, parse(TEXT), compares)
    found = passes.bound("key", {n.symbol: 6})
    assert found is not None and found.params[0].type.shape == (6, 3)  # type: ignore[union-attr]
    assert passes.bound("key", {n.symbol: 7}) is None
    assert passes.bound("other key", {n.symbol: 6}) is None


def test_truth_of_a_symbol_is_a_comparison_with_zero() -> None:
    n = symbol()
    with compared() as told:
        assert n
    assert told == [(n, 0)] and differ(told, {n.symbol: 3}) and not differ(told, {n.symbol: 0})
