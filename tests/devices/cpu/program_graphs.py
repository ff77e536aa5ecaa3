"""Random programs that run: loops, branches, stacks, views, state, all over small matrices; from one seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.core import dtypes
from msnb.core.types import StackType, tensor_type
from msnb.ir.builder import Const
from msnb.ir.control_flow import CALL, IF, SCAN, STACK_NEW, STACK_POP, STACK_PUSH, WHILE
from msnb.ir.graph import Graph, Module, Node, Value
from msnb.ops.definition.record import find
from msnb.ops.elementwise.constant import constant

N = 4
SQUARE = tensor_type((N, N), dtypes.float32)
COUNT = tensor_type((), dtypes.int64)
BOOL = tensor_type((), dtypes.bool_)
STACK = StackType(SQUARE)
TURNS = 3


def running_sum(x: Any) -> Any:
    """A running sum along the first axis by ``linear_recurrence``, which runs in Python where dtypes differ."""
    ones = find("cast")(find("ones_like")(x), dtype=dtypes.float16)
    return find("linear_recurrence")(ones, x, axis=0, reverse=False)


class Draw:
    """Builds graphs whose values stay within [-1, 1] or so, and whose loops end."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.module = Module()
        self.callees: list[str] = []

    def pick(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def program(self) -> Graph:
        """A graph of squares with state."""
        g = Graph("main", self.module)
        for i in range(int(self.rng.integers(2, 5))):
            g.add_param(SQUARE, f"x{i}")
        for _ in range(int(self.rng.integers(3, 9))):
            self.step(g, 2)
        g.outputs = [self.square(g) for _ in range(int(self.rng.integers(1, 5)))]
        for p in range(len(g.params)):
            if self.rng.random() < 0.5:
                g.outputs.append(self.apply(g, "subtract", [g.params[p], self.small(g)]))
                g.state[p] = len(g.outputs) - 1
        return g

    # ---- values -----------------------------------------------------------------------------------------------------

    def apply(self, g: Graph, name: str, inputs: list[Value], **attrs: Any) -> Value:
        op = find(name)
        full = op.bind_attrs(attrs)
        return g.add(op, inputs, full, op.result_types(tuple(v.type for v in inputs), full)).out

    def values(self, g: Graph, t: Any) -> list[Value]:
        return [v for v in [*g.params, *(o for n in g.nodes for o in n.outputs)] if v.type == t]

    def constant(self, g: Graph, data: Any, t: Any) -> Value:
        return g.add(constant, (), {"value": Const(np.asarray(data, t.dtype.numpy), t)}, (t,)).out

    def square(self, g: Graph) -> Value:
        found = self.values(g, SQUARE)
        if not found or self.rng.random() < 0.05:
            return self.constant(g, self.rng.standard_normal((N, N)), SQUARE)
        return found[-1 - min(int(self.rng.geometric(0.3)) - 1, len(found) - 1)]

    def small(self, g: Graph) -> Value:
        return self.apply(g, "multiply", [self.square(g), self.constant(g, 0.125, tensor_type((), dtypes.float32))])

    def pred(self, g: Graph) -> Value:
        largest = self.apply(g, "max", [self.square(g)])
        return self.apply(g, "greater", [largest, self.constant(g, 0.51, tensor_type((), dtypes.float32))])

    # ---- nodes ------------------------------------------------------------------------------------------------------

    def step(self, g: Graph, depth: int) -> None:
        kinds = [self.unary, self.binary, self.binary, self.product, self.views, self.rows]
        kinds += [self.if_, self.while_, self.scan, self.call, self.stacks] if depth else []
        self.pick(kinds)(g, depth)

    def unary(self, g: Graph, depth: int) -> None:
        self.apply(g, self.pick(["tanh", "negative", "sin", "identity"]), [self.square(g)])

    def binary(self, g: Graph, depth: int) -> None:
        made = self.apply(g, self.pick(["add", "subtract", "multiply", "maximum"]), [self.square(g), self.square(g)])
        self.apply(g, "tanh", [made])

    def product(self, g: Graph, depth: int) -> None:
        a, b = self.square(g), self.square(g)
        if self.rng.random() < 0.5:
            a = self.apply(g, "transpose", [a], perm=(1, 0))
        self.apply(g, "tanh", [self.apply(g, "matmul", [a, b])])

    def views(self, g: Graph, depth: int) -> None:
        flat = self.apply(g, "reshape", [self.square(g)], shape=(2, N // 2, N))
        part = self.apply(g, "slice", [flat], begin=(1, 0, 0), end=(2, N // 2, N), step=(1, 1, 1))
        twice = self.apply(g, "concat", [part, part], axis=1)
        self.apply(g, self.pick(["squeeze"]), [twice], axis=0)
        self.apply(g, "transpose", [self.square(g)], perm=(1, 0))

    def rows(self, g: Graph, depth: int) -> None:
        total = self.apply(g, "mean", [self.square(g)], axis=self.pick([0, 1]), keepdims=True)
        self.apply(g, "subtract", [self.square(g), total])

    def body(self, name: str, types: list[Any], results: int, depth: int) -> Graph:
        g = Graph(name, self.module)
        for i, t in enumerate(types):
            g.add_param(t, f"{name}{i}")
        for _ in range(int(self.rng.integers(0, 4))):
            self.step(g, depth - 1)
        g.outputs = [self.square(g) for _ in range(results)]
        return g

    def if_(self, g: Graph, depth: int) -> None:
        args = [self.square(g) for _ in range(int(self.rng.integers(1, 4)))]
        n = int(self.rng.integers(1, 4))
        bodies = [self.body(k, [SQUARE] * len(args), n, depth) for k in ("then", "else")]
        pred = self.pred(g)
        g.add(IF, [pred, *args], {}, [SQUARE] * n, bodies)

    def while_(self, g: Graph, depth: int) -> None:
        n, inv = int(self.rng.integers(1, 4)), int(self.rng.integers(0, 3))
        args = [self.constant(g, 0, COUNT), *(self.square(g) for _ in range(n + inv))]
        types = [COUNT] + [SQUARE] * (n + inv)
        cond = Graph("cond", self.module)
        for i, t in enumerate(types):
            cond.add_param(t, f"c{i}")
        limit = int(self.rng.integers(0, TURNS + 1))
        cond.outputs = [self.apply(cond, "less", [cond.params[0], self.constant(cond, limit, COUNT)])]
        body = self.body("body", types, n, depth)
        body.outputs.insert(0, self.apply(body, "add", [body.params[0], self.constant(body, 1, COUNT)]))
        g.add(WHILE, args, {"n_carry": n + 1}, [COUNT] + [SQUARE] * n, [cond, body])

    def scan(self, g: Graph, depth: int) -> None:
        n, m, inv = (int(self.rng.integers(0, 3)) for _ in range(3))
        many = tensor_type((TURNS, N, N), dtypes.float32)
        xs = [self.constant(g, self.rng.standard_normal((TURNS, N, N)), many) for _ in range(m)]
        found = self.values(g, many)
        if m and found:
            xs[0] = self.pick(found)
        args = [*(self.square(g) for _ in range(n)), *xs, *(self.square(g) for _ in range(inv + 1))]
        ys = int(self.rng.integers(0, 3)) if n else 1
        body = self.body("body", [SQUARE] * len(args), n + ys, depth)
        attrs = {"n_carry": n, "n_xs": m, "length": TURNS, "reverse": bool(self.rng.random() < 0.5)}
        made = g.add(SCAN, args, attrs, [SQUARE] * n + [many] * ys, [body])
        if ys:
            self.apply(g, "sum", [made.outputs[-1]], axis=0)

    def call(self, g: Graph, depth: int) -> None:
        if not self.callees or self.rng.random() < 0.5:
            self.callees.append(self.module.add(self.body("helper", [SQUARE, SQUARE], 2, 1)))
        attrs = CALL.bind_attrs({"callee": self.pick(self.callees)})
        g.add(CALL, [self.square(g), self.square(g)], attrs, [SQUARE, SQUARE])

    def stacks(self, g: Graph, depth: int) -> None:
        """A loop that pushes, and one that pops, one time more than was pushed."""
        stack = g.add(STACK_NEW, (), {"type": SQUARE}, (STACK,)).out
        up = self._turns(g, depth, stack, lambda b, s, x: (self._push(b, s, x), self.square(b)), TURNS)
        self._turns(g, depth, up.outputs[1], self._pop, TURNS + int(self.rng.integers(0, 2)))

    def _push(self, g: Graph, stack: Value, x: Value) -> Value:
        return g.add(STACK_PUSH, [stack, x], {}, (STACK,)).out

    def _pop(self, g: Graph, stack: Value, x: Value) -> tuple[Value, Value]:
        below, top = g.add(STACK_POP, [stack], {}, (STACK, SQUARE)).outputs
        return below, self.apply(g, "tanh", [self.apply(g, "add", [top, x])])

    def _turns(self, g: Graph, depth: int, stack: Value, act: Any, turns: int) -> Node:
        types = [COUNT, STACK, SQUARE]
        cond, body = Graph("cond", self.module), self.body("body", types, 0, depth)
        for i, t in enumerate(types):
            cond.add_param(t, f"c{i}")
        cond.outputs = [self.apply(cond, "less", [cond.params[0], self.constant(cond, turns, COUNT)])]
        s, x = act(body, body.params[1], self.square(body))
        body.outputs = [self.apply(body, "add", [body.params[0], self.constant(body, 1, COUNT)]), s, x]
        args = [self.constant(g, 0, COUNT), stack, self.square(g)]
        return g.add(WHILE, args, {"n_carry": 3}, types, [cond, body])
