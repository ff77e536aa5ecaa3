"""Recomputation: the same values and gradients in both modes, and fewer values kept for the backward pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import ArgumentError
from msnb.ir.control_flow import CALL
from msnb.ir.graph import Graph


class Block(nn.Cell):
    """Everything that could go wrong the second time: draws, running statistics, weights, a branch."""

    def __init__(self, size: int = 6) -> None:
        super().__init__()
        self.dense, self.norm, self.drop = nn.Dense(size, size), nn.BatchNorm1d(size), nn.Dropout(p=0.4)

    def construct(self, x: Any, factor: Any = 1.0) -> Any:
        y = self.drop(ops.tanh(self.norm(self.dense(x))))
        if y.sum() > 1e6:
            y = y * 2
        return x + ops.exp(y * 0.1) * factor


class Net(nn.Cell):
    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.blocks = nn.CellList([Block() for _ in range(depth)])
        self.head = nn.Dense(6, 3)

    def construct(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x, factor=0.5)
        return self.head(x)


X = np.random.default_rng(1).normal(size=(8, 6)).astype(np.float32)
LABELS = np.arange(8, dtype=np.int32) % 3


def trained(where: str, steps: int = 3) -> tuple[list[float], dict[str, Any], float]:
    ms.set_seed(6)
    net = Net()
    if where in ("blocks", "nested"):
        for block in net.blocks:
            block.recompute()
    if where == "nested":
        net.recompute()
        net.blocks[0].dense.recompute()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9)
    ).set_train()
    losses = [float(step(ms.Tensor(X), ms.Tensor(LABELS))) for _ in range(steps)]
    return losses, {p.name: p.asnumpy() for p in net.get_parameters()}, float(ops.rand((1,)).item())


@pytest.mark.long
@pytest.mark.parametrize("where", ["blocks", "nested"])
def test_training_is_the_same_with_it(mode: int, where: str) -> None:
    plain, again = trained("nowhere"), trained(where)
    np.testing.assert_allclose(plain[0], again[0], rtol=1e-3)
    assert plain[2] == again[2]  # the stream of draws stands where it would
    for name, value in plain[1].items():
        np.testing.assert_allclose(value, again[1][name], rtol=1e-3, atol=2e-3, err_msg=name)


def test_both_modes_train_alike() -> None:
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        found.append(trained("nested")[0])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3)


def program(net: nn.Cell) -> Graph:
    """The gradient step as one compiled program."""
    run = ms.jit(ms.grad(lambda x: net(x).sum(), None, net.trainable_params()))
    run(ms.Tensor(X))
    graph: Graph = run.versions[0].compiled.graph
    return graph


def kept(graph: Graph) -> int:
    """Values that wait while the gradient begins: made before its first node, read at or after it."""
    first = next(i for i, n in enumerate(graph.nodes) if n.primal is not None)
    made = {v for n in graph.nodes[:first] for v in n.outputs}
    return len({v for n in graph.nodes[first:] for v in n.inputs if v in made})


def test_fewer_values_are_kept() -> None:
    class Deep(nn.Cell):
        def construct(self, x: Any) -> Any:
            for _ in range(5):
                x = ops.tanh(ops.exp(x) * ops.sin(x))
            return x

    def made(again: bool) -> Graph:
        net = nn.SequentialCell(nn.Dense(6, 6), Deep(), nn.Dense(6, 2))
        if again:
            net[1].recompute()
        return program(net)

    plain, again = made(False), made(True)
    assert kept(again) <= 4 < 10 < kept(plain)
    sines = [n for _, n in again.walk() if n.op.name == "sin"]
    calls = [n for _, n in again.walk() if n.op is CALL]
    assert len(calls) == 1 and calls[0].attrs["recompute"]
    assert len(sines) == 5  # the second run; those of the first are in the called graph


def test_residuals_of_a_recomputed_call_are_its_arguments() -> None:
    from msnb.autodiff import vjp

    def residuals(again: bool) -> int:
        def f(x: Any) -> Any:
            block = lambda y: ops.exp(ops.sin(ops.tanh(ops.exp(y))))
            return ms.recompute(block, x) if again else block(x)

        run = ms.jit(f)
        run(ms.Tensor([1.0, 2.0]))
        return vjp(run.versions[0].captured.graph, [0]).residuals

    assert residuals(True) == 1 < residuals(False)


def test_the_function(mode: int) -> None:
    w, outside = ms.Parameter(ms.Tensor([2.0, 3.0]), name="w"), ms.Tensor([0.5, 0.25])

    def block(x: Any, pair: Any, power: int = 2) -> Any:
        return {"a": ops.exp(x) * w + outside, "b": [pair[0] * x**power, 7]}

    def loss(again: bool) -> Any:
        def run(x: Any, p: Any) -> Any:
            found = ms.recompute(block, x, (p, 1), power=3) if again else block(x, (p, 1), power=3)
            assert found["b"][1] == 7
            return (found["a"] * found["b"][0]).sum()

        return ms.value_and_grad(run, (0, 1), [w])

    x, p = ms.Tensor([0.1, 0.2]), ms.Tensor([1.5, -1.0])
    (value, ((dx, dp), (dw,))), (other, ((dx2, dp2), (dw2,))) = loss(True)(x, p), loss(False)(x, p)
    np.testing.assert_allclose(float(value), float(other), rtol=1e-6)
    for a, b in ((dx, dx2), (dp, dp2), (dw, dw2)):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5)
    wrapped = ms.recompute(ops.tanh)
    np.testing.assert_allclose(ms.grad(wrapped)(x).asnumpy(), ms.grad(ops.tanh)(x).asnumpy(), rtol=1e-6)
    assert wrapped(x).tolist() == ops.tanh(x).tolist()


def test_closed_over_tensors_have_gradients(mode: int) -> None:
    def f(x: Any) -> Any:
        y = x * x
        return ms.recompute(lambda z: ops.sin(z) * y, x).sum()

    x = ms.Tensor([0.3, 0.7])
    want = np.cos([0.3, 0.7]) * np.float32([0.09, 0.49]) + np.sin([0.3, 0.7]) * 2 * np.float32([0.3, 0.7])
    np.testing.assert_allclose(ms.grad(f)(x).asnumpy(), want, rtol=1e-5)


def test_higher_derivatives(mode: int) -> None:
    def f(x: Any) -> Any:
        return ms.recompute(lambda y: y**4, x)

    x = ms.Tensor(2.0)
    found = [float(g(x)) for g in (ms.grad(f), ms.grad(ms.grad(f)), ms.grad(ms.grad(ms.grad(f))))]
    np.testing.assert_allclose(found, [32.0, 48.0, 48.0], rtol=1e-5)


def test_a_weight_changed_in_between_does_not_change_the_gradient(mode: int) -> None:
    """The second run sees the values that the first one saw."""
    w = ms.Parameter(ms.Tensor([2.0]), name="w")

    def f(x: Any) -> Any:
        y = ms.recompute(lambda z: ops.exp(z * w), x)
        ops.assign(w, w + 1)
        return y.sum()

    dx = ms.grad(f)(ms.Tensor([0.5]))
    np.testing.assert_allclose(dx.asnumpy(), [2 * np.exp(1.0)], rtol=1e-5)
    assert w.tolist() == [3.0]


def test_it_can_be_taken_back_and_is_a_guard() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net, x = nn.Dense(2, 2), ops.ones((1, 2))
    net.recompute()
    run = ms.jit(net)
    run(x)
    assert any(n.op is CALL for _, n in run.versions[0].captured.graph.walk())
    net.recompute(mode=False)
    run(x)
    assert not any(n.op is CALL for _, n in run.versions[0].captured.graph.walk())


def test_mixed_precision_inside(mode: int) -> None:
    net = ms.amp.auto_mixed_precision(nn.SequentialCell(nn.Dense(6, 6), nn.LayerNorm((6,)), nn.Dense(6, 2)), "O2")
    loss = lambda: ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())(ms.Tensor(X))
    plain = loss()
    net.recompute()
    again = loss()
    for a, b in zip((plain[0], *plain[1]), (again[0], *again[1])):
        assert a.dtype is b.dtype is ms.float32
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-3, atol=1e-3)


def test_jvp_and_vmap_go_through(mode: int) -> None:
    f = lambda x: ms.recompute(lambda y: ops.sin(y) * y, x)
    x = ms.Tensor([0.3, 0.7])
    y, dy = ms.jvp(f, x, ops.ones((2,)))
    np.testing.assert_allclose(dy.asnumpy(), np.cos([0.3, 0.7]) * [0.3, 0.7] + np.sin([0.3, 0.7]), rtol=1e-5)
    np.testing.assert_allclose(ms.vmap(f)(x).asnumpy(), y.asnumpy(), rtol=1e-6)


def test_wrong_uses() -> None:
    with pytest.raises(ArgumentError, match="recompute takes a Cell or a function, not a int"):
        ms.recompute(3)
    with pytest.raises(TypeError, match="mode=True or False"):
        nn.Dense(1, 1).recompute(mode=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="recomputed by mistake"):

        def failing(x: Any) -> Any:
            raise ValueError("recomputed by mistake")

        ms.grad(lambda x: ms.recompute(failing, x))(ms.Tensor(1.0))
