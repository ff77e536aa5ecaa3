"""Random programs as graphs: straight lines, branches, loops, scans and calls, nested in each other.

Every program maps float64[3] tensors (and a fixed int64 counter) smoothly to float64[3] tensors; values stay small
(everything passes tanh or sin now and then), so that differences are trustworthy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import msnb
from msnb.autodiff.subgraphs import inline
from msnb.base import device_registry
from msnb.core import dtypes
from msnb.core.engine import slot
from msnb.core.types import tensor_type
from msnb.ir import control_flow
from msnb.ir.builder import GraphBuilder
from msnb.ir.graph import Graph
from msnb.ops.definition.record import find

VECTOR = tensor_type((3,), dtypes.float64)
COUNT = tensor_type((), dtypes.int64)
TRUTH = tensor_type((), dtypes.bool_)


assert msnb.Tensor, "importing msnb registers all records and devices"
SCALAR = tensor_type((), dtypes.float64)


def compiled(graph: Graph, arrays: Any) -> list[np.ndarray[Any, Any]]:
    """Run a graph through the device's executor."""
    device = device_registry.current()
    program = device.compile(graph)
    found = program([a if isinstance(a, float) else device.from_host(np.asarray(a)) for a in arrays])
    return [device.to_host(r) for r in found]


def names(graph: Graph) -> list[str]:
    """The ops of a graph, bodies included."""
    return [node.op.name for _, node in graph.walk()]


def op(name: str, *args: Any, **attrs: Any) -> Any:
    return find(name)(*args, **attrs)


def total(x: Any) -> Any:
    return op("sum_to", x, shape=())


def graph_of(name: str, types: list[Any], fn: Any, module: Any = None) -> Graph:
    with GraphBuilder(name, module) as b:
        out = fn(*[b.param(t, f"x{i}") for i, t in enumerate(types)])
        b.output(*(out if isinstance(out, (tuple, list)) else (out,)))
    return b.graph


class Maker:
    """Makes programs from a seed."""

    def __init__(self, seed: int, kinds: str = "sifwnc") -> None:
        self.rng = np.random.default_rng(seed)
        self.kinds = kinds
        self.module: Any = None
        self.names = 0

    def program(self, n_params: int = 2, depth: int = 2) -> Graph:
        with GraphBuilder("program") as b:
            self.module = b.graph.module
            values = [b.param(VECTOR, f"x{i}") for i in range(n_params)]
            self.block(b, values, depth)
            b.output(*values[-2:])
        return b.graph

    def body(self, types: list[Any], depth: int, results: int) -> Graph:
        """A closed graph of vectors (first) with ``results`` results."""
        with GraphBuilder(self.name("body"), self.module) as b:
            given = [b.param(t, f"p{i}") for i, t in enumerate(types)]
            values = [x for x, t in zip(given, types) if t is VECTOR]
            self.block(b, values, depth)
            b.output(*values[-results:])
        return b.graph

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def pick(self, values: list[Any]) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def block(self, b: GraphBuilder, values: list[Any], depth: int) -> None:
        for _ in range(int(self.rng.integers(2, 4))):
            values.append(self.simple(values))
        if depth > 0:
            kind = self.kinds[int(self.rng.integers(len(self.kinds)))]
            kinds = {"i": self.if_, "f": self.if_, "w": self.while_, "n": self.scan, "c": self.call, "s": self.straight}
            kinds[kind](b, values, depth - 1)
        values.append(op("tanh", op("add", self.pick(values), values[-1])))

    def straight(self, b: GraphBuilder, values: list[Any], depth: int) -> None:
        self.block(b, values, depth)

    def simple(self, values: list[Any]) -> Any:
        x, y = self.pick(values), self.pick(values)
        which = int(self.rng.integers(6))
        if which == 0:
            return op("multiply", x, y)
        if which == 1:
            return op("sin", op("add", x, y))
        if which == 2:
            return op("multiply", total(x), op("tanh", y))
        if which == 3:
            return op("divide", x, op("add", op("exp", y), 1.5))
        if which == 4:
            return op("where", op("greater", total(y), 0.1), op("multiply", x, 0.5), y)
        return op("subtract", op("tanh", x), 0.25)

    def if_(self, b: GraphBuilder, values: list[Any], depth: int) -> None:
        args = [self.pick(values) for _ in range(2)]
        pred = op("greater", total(self.pick(values)), float(self.rng.normal()) * 0.5)
        bodies = [self.body([VECTOR, VECTOR], depth, 2) for _ in range(2)]
        values.extend(control_flow.if_(b, pred, *bodies, args))

    def while_(self, b: GraphBuilder, values: list[Any], depth: int) -> None:
        turns = int(self.rng.integers(0, 4))
        inner = self.body([VECTOR, VECTOR], depth, 1)
        types = [VECTOR, COUNT, VECTOR]

        def step(x: Any, i: Any, v: Any) -> Any:
            return (*inline(slot.engine, inner, [x, v]), op("add", i, 1))

        limit = float(self.rng.normal()) + 2.0
        cond = graph_of(
            self.name("cond"), types,
            lambda x, i, v: op("logical_and", op("less", i, turns), op("less", total(x), limit)), self.module,
        )  # fmt: skip
        body = graph_of(self.name("while"), types, step, self.module)
        carry = [self.pick(values), np.array(0, np.int64)]
        values.append(control_flow.while_(b, cond, body, carry, [self.pick(values)])[0])

    def scan(self, b: GraphBuilder, values: list[Any], depth: int) -> None:
        length = int(self.rng.integers(1, 4))
        xs = op("broadcast_to", self.pick(values), shape=(length, 3))
        body = self.body([VECTOR, VECTOR, VECTOR], depth, 2)
        reverse = bool(self.rng.integers(2))
        last, rows = control_flow.scan(b, body, [self.pick(values)], [xs], [self.pick(values)], length, reverse)
        values.extend([last, op("tanh", op("sum_to", rows, shape=(3,)))])

    def call(self, b: GraphBuilder, values: list[Any], depth: int) -> None:
        name = self.module.add(self.body([VECTOR, VECTOR], depth, 2), self.name("callee"))
        for _ in range(2):
            values.extend(control_flow.call(b, name, [self.pick(values), self.pick(values)]))
