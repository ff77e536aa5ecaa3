"""Random programs for tests: every kind of node, attribute and constant that the IR has, from one seed."""

from __future__ import annotations

import numpy as np

from msnb.base.source_location import Origin, Where
from msnb.core import dtypes
from msnb.core.types import HOST, TOKEN, WEAK, WEAK_FLOAT, StackType, TensorType, tensor_type
from msnb.ir.builder import Const
from msnb.ir.control_flow import CALL, HOST_CALL, IF, SCAN, STACK_NEW, STACK_POP, STACK_PUSH, WHILE, HostFn
from msnb.ir.graph import Graph, Module, Node, Value
from msnb.ops.elementwise.arithmetic import add, mul
from msnb.ops.elementwise.constant import constant

F3 = tensor_type((3,), dtypes.float32)
BOOL = tensor_type((), dtypes.bool_)
NAMES = ["x", "conv1.weight", "x", "batch['label']", "f32", "état", "a`b", "nan", "", "loss", "return", "\\n"]
SCOPES = ["", "LeNet5/conv1", "Net"]
WEAK_VALUES = [2, -3, 0, 2.5, -0.0, float("inf"), float("nan"), 1e-300, True, False, 1 + 2j, complex("nan-infj")]


class Draw:
    """Builds random well-formed graphs."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.module = Module()

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def const(self) -> Const:
        if self.rng.random() < 0.4:
            value = self.pick(WEAK_VALUES)
            return Const(value, WEAK[type(value)])
        dtype = self.pick(dtypes.ALL)
        shape = self.pick([(), (), (3,), (2, 2), (0,), (1, 3), (4, 5)])
        with np.errstate(all="ignore"):
            data = (self.rng.standard_normal(shape) * 10.0 ** self.rng.integers(-3, 4)).astype(dtype.numpy)
        if data.size and dtype.is_float and self.rng.random() < 0.3:
            data = np.array(data)
            data.reshape(-1)[0] = self.pick([np.nan, np.inf, -np.inf, -0.0])
        if data.size and self.rng.random() < 0.2:
            data = np.full(shape, data.reshape(-1)[0], dtype.numpy)
        return Const(np.asarray(data), tensor_type(shape, dtype))

    def attr(self, depth: int = 0):
        simple = [
            lambda: int(self.rng.integers(-9, 9)),
            lambda: self.pick([0.5, -0.0, float("inf"), -float("inf"), float("nan")]),
            lambda: self.pick(['a "quoted" \\ text', "# no comment", "%1, x", "", "zwei\nZeilen", "日本"]),
            lambda: None, lambda: True, lambda: False, lambda: self.pick(dtypes.ALL), lambda: F3, lambda: WEAK_FLOAT,
            lambda: StackType(F3), lambda: TOKEN, lambda: HOST, lambda: slice(None, 3, -1), lambda: Ellipsis,
            self.const,
            lambda: HostFn(len, self.pick(["hook", "hook", "<lambda>"])), lambda: 1 - 2j,
        ]  # fmt: skip
        if depth < 2 and self.rng.random() < 0.3:
            return tuple(self.attr(depth + 1) for _ in range(self.rng.integers(0, 4)))
        return self.pick(simple)()

    def graph(self, name: str = "main", depth: int = 2, types=None, results: int | None = None, size: int = 8) -> Graph:
        g = Graph(name, self.module)
        for t in types if types is not None else [F3] * int(self.rng.integers(1, 4)) + [BOOL]:
            g.add_param(t, self.pick(NAMES))
        for _ in range(int(self.rng.integers(1, size))):
            self.node(g, depth)
        tensors = self.values(g, F3) or [self.constant(g, Const(np.zeros(3, np.float32), F3))]
        n = int(self.rng.integers(0, 4)) if results is None else results
        g.outputs = [self.pick(tensors) for _ in range(n)]
        if types is None and n and self.rng.random() < 0.5:
            g.state = {0: int(self.rng.integers(n))}
        return g

    def values(self, g: Graph, type_) -> list[Value]:
        return [v for v in [*g.params, *(o for n in g.nodes for o in n.outputs)] if v.type == type_]

    def f3(self, g: Graph) -> Value:
        return self.pick(self.values(g, F3) or [self.constant(g, Const(np.ones(3, np.float32), F3))])

    def constant(self, g: Graph, const: Const) -> Value:
        return g.add(constant, (), {"value": const}, (const.type,)).out

    def node(self, g: Graph, depth: int) -> None:
        kinds = [self.plain, self.plain, self.plain, self.host, self.stack, self.call]
        kinds += [self.if_, self.while_, self.scan] if depth else []
        node = self.pick(kinds)(g, depth)
        node.scope = self.pick(SCOPES)
        node.why = self.pick(["", "", "vjp"])
        if self.rng.random() < 0.5:
            node.where = Origin.of((Where("cell [3]", int(self.rng.integers(1, 99)), 4, 9, "f"),))
        if node.outputs and self.rng.random() < 0.2:
            node.out.name = self.pick(["loss", "logits", "1odd"])

    def plain(self, g: Graph, depth: int) -> Node:
        y = self.f3(g) if self.rng.random() < 0.6 else self.constant(g, self.const())
        if not isinstance(y.type, TensorType) or y.type.shape not in ((), (3,), (1, 3)):
            y = self.f3(g)
        x, op = self.f3(g), self.pick([add, mul])
        return g.add(op, [x, y], {}, op.result_types((x.type, y.type), {}))

    def host(self, g: Graph, depth: int) -> Node:
        inputs = [self.f3(g) for _ in range(self.rng.integers(0, 3))]
        attrs = {"fn": HostFn(len, self.pick(["hook", "print"])), "effect": bool(self.rng.random() < 0.5)}
        attrs |= {f"a{i}": self.attr() for i in range(self.rng.integers(0, 3))}
        return g.add(HOST_CALL, inputs, attrs, [F3] * int(self.rng.integers(0, 3)))

    def stack(self, g: Graph, depth: int) -> Node:
        s = g.add(STACK_NEW, (), {"type": F3}, (StackType(F3),)).out
        s = g.add(STACK_PUSH, [s, self.f3(g)], {}, (StackType(F3),)).out
        return g.add(STACK_POP, [s], {}, (StackType(F3), F3))

    def call(self, g: Graph, depth: int) -> Node:
        names = list(self.module.graphs)
        if not names or (len(names) < 3 and self.rng.random() < 0.3):
            callee = Graph("helper", self.module)
            callee.add_param(F3, "x")
            callee.outputs = [callee.params[0]]
            names = [self.module.add(callee)]
            if depth:
                self.node(callee, 0)
        return g.add(CALL, [self.f3(g)], CALL.bind_attrs({"callee": self.pick(names)}), (F3,))

    def body(self, label: str, depth: int, types, results: int) -> Graph:
        return self.graph(label, depth - 1, types, results, size=4)

    def if_(self, g: Graph, depth: int) -> Node:
        args = [self.f3(g) for _ in range(self.rng.integers(0, 3))]
        n = int(self.rng.integers(1, 3))
        bodies = [self.body(k, depth, [F3] * len(args), n) for k in ("then", "else")]
        pred = self.pick(self.values(g, BOOL) or [self.constant(g, Const(np.array(True), BOOL))])
        return g.add(IF, [pred, *args], {}, [F3] * n, bodies)

    def while_(self, g: Graph, depth: int) -> Node:
        n, inv = int(self.rng.integers(1, 3)), int(self.rng.integers(0, 2))
        types = [F3] * (n + inv)
        cond = self.body("cond", depth, types, 0)
        cond.outputs = [self.constant(cond, Const(np.array(False), BOOL))]
        args = [self.f3(g) for _ in types]
        return g.add(WHILE, args, {"n_carry": n}, [F3] * n, [cond, self.body("body", depth, types, n)])

    def scan(self, g: Graph, depth: int) -> Node:
        length = 2
        type_ = tensor_type((length, 3), dtypes.float32)
        rows = self.constant(g, Const(self.rng.standard_normal((length, 3)).astype(np.float32), type_))
        body = self.body("body", depth, [F3, F3], 2)
        attrs = {"n_carry": 1, "n_xs": 1, "length": length, "reverse": bool(self.rng.random() < 0.5)}
        return g.add(SCAN, [self.f3(g), rows], attrs, [F3, tensor_type((length, 3), dtypes.float32)], [body])
