"""Copies in a program are merged before its gradient is taken: fewer products behind them, the same gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.autodiff import vjp
from msnb.autodiff.subgraphs import inline
from msnb.devices.device import ArrayDevice
from msnb.graph.compile.passes.pre_gradient_cse import merged
from msnb.ir.analysis.verifier import verify
from msnb.ir.builder import GraphBuilder
from msnb.ir.control_flow import call
from msnb.ir.graph import Graph
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import print_graph
from tests.autodiff.programs import VECTOR, Maker
from tests.levels import LEVELS

TWICE = """graph f(x: f32[2,3], w: f32[3,4]) -> (f32[2,4])
  %1 = matmul(x, w) : f32[2,4]
  %2 = matmul(x, w) : f32[2,4]
  %3 = multiply(%1, %2) : f32[2,4]
  return %3
"""


def count(graph: Graph, name: str) -> int:
    return sum(node.op.name == name for _, node in graph.walk())


def gradient(graph: Graph, args: list[Any]) -> list[Any]:
    """The gradients of a graph by its floating-point params, for douts of one, operation by operation."""
    wrt = [i for i, p in enumerate(graph.params) if p.type.dtype.is_float]
    pair = vjp(graph, wrt)
    found = ArrayDevice("reference", np).compile(pair.forward)(args)
    n = len(graph.outputs)
    douts = [np.ones_like(np.asarray(found[i])) for i in pair.outputs]
    return ArrayDevice("reference", np).compile(pair.backward)([*found[n:], *douts])


def test_copies_are_merged() -> None:
    graph = parse(TWICE)
    found = merged(graph)
    verify(found)
    assert (count(graph, "matmul"), count(found, "matmul")) == (2, 1), "the graph that was given is not changed"
    backward = vjp(found, [0, 1]).backward
    assert count(backward, "matmul") == 2, "one product per operand"


def test_a_graph_without_copies_is_itself() -> None:
    graph = parse("graph f(x: f32[2]) -> (f32[2])\n  %1 = exp(x) : f32[2]\n  return %1")
    assert merged(graph) is graph


def test_calls_stay_in_their_module() -> None:
    """What a graph calls is looked up by name in its module, so the module is kept, with all that is in it."""
    with GraphBuilder("f") as b:
        x = b.param(VECTOR, "x")
        name = b.graph.module.add(Maker(3).program(1, depth=0), "helper")
        twice = [call(b, name, [x])[0] for _ in range(2)]
        b.output(twice[0] * twice[1])
    found = merged(b.graph)
    assert found.module is b.graph.module and count(found, "call") == 1


@pytest.mark.parametrize("seed", range(12))
def test_gradients_of_random_programs_are_the_same(seed: int, rng: np.random.Generator) -> None:
    """A program, itself again on the same values, and itself on others, added up."""
    part = Maker(seed + 1000 * int(rng.integers(1000)), kinds="sifwn").program(depth=2)
    with GraphBuilder("f", part.module) as b:
        x, y = b.param(VECTOR, "x"), b.param(VECTOR, "y")
        ways = [inline(b, part, list(pair)) for pair in ((x, y), (x, y), (y, x))]
        b.output(ways[0][0] * ways[1][1] + ways[2][0])
    args = [rng.standard_normal(3) * 0.5 for _ in range(2)]
    found = merged(b.graph)
    verify(found)
    assert len(found.nodes) < len(b.graph.nodes)
    for want, got in zip(gradient(b.graph, args), gradient(found, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10, err_msg=print_graph(b.graph))


# ---- programs --------------------------------------------------------------------------------------------------------


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Dense(1, 8), nn.Dense(8, 8), nn.Dense(8, 1)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.last(ops.tanh(self.second(ops.tanh(self.first(x)))))


def forward_mode(net: Any, x: Any) -> Any:
    u, slope = ms.jvp(net, x, ops.ones_like(x))
    return net(x), u, slope


def reverse_mode(net: Any, x: Any) -> Any:
    u, pull = ms.vjp(net, x)
    return net(x), u, pull(ops.ones_like(u))[0]


def nested_mode(net: Any, x: Any) -> Any:
    return net(x), net(x), ms.grad(lambda x: net(x).sum())(x)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("way", [forward_mode, reverse_mode, nested_mode])
def test_a_differential_equation_needs_no_product_twice(way: Any, level: str, rng: np.random.Generator) -> None:
    """u + u_x: one sweep of the square layer for each of u and u_x, and two products behind each sweep. At O0 there are
    more, for both modes give the same bits there."""
    ms.set_context(jit_level=level)
    net = Net()
    x = ms.Tensor(rng.standard_normal((5, 1)), ms.float32)

    def loss(x: Any) -> Any:
        once, again, slope = way(net, x)
        return ((once * again - slope) ** 2).mean()

    weights = list(net.trainable_params())
    step = ms.jit(ms.grad(loss, None, weights))
    wanted, found = ([g.asnumpy() for g in f(x)] for f in (ms.grad(loss, None, weights), step))
    bound = 1e-5 * max(np.abs(g).max() for g in wanted)  # rounding of the largest terms
    for want, got in zip(wanted, found, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=bound)
    (version,) = step.versions
    square = [n for n in version.compiled.graph.nodes if n.op.name == "matmul" and 8 in n.out.type.shape]
    wide = [n for n in square if all(8 in v.type.shape and 1 not in v.type.shape for v in n.inputs)]
    assert len(wide) == 6 if level == "O1" else len(wide) > 6
