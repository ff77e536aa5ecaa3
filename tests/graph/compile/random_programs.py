"""Random programs that run: every law and pass finds something to do in them."""

from __future__ import annotations

import numpy as np

from msnb.core import dtypes
from msnb.core.types import WEAK, TensorType, tensor_type
from msnb.ir.builder import Const
from msnb.ir.control_flow import CALL, IF, SCAN, WHILE
from msnb.ir.graph import Graph, Module, Value
from msnb.ops.definition.record import find
from msnb.ops.elementwise.constant import constant

F, I, B = (tensor_type((2, 3), t) for t in (dtypes.float32, dtypes.int32, dtypes.bool_))
F0, B0, N0 = tensor_type((), dtypes.float32), tensor_type((), dtypes.bool_), tensor_type((), dtypes.int64)
ODD = np.array([[0.0, -0.0, np.nan], [np.inf, -np.inf, 1e-42]], np.float32)
UNARY = {F: ["negative", "abs", "positive", "square", "stop_gradient", "zeros_like", "ones_like"],
         I: ["negative", "abs", "bitwise_invert", "positive", "ones_like"], B: ["logical_not"]}  # fmt: skip
BINARY = {F: ["add", "subtract", "multiply", "divide", "maximum", "minimum"],
          I: ["add", "subtract", "multiply", "maximum", "bitwise_and", "bitwise_or", "power"],
          B: ["logical_and", "logical_or", "logical_xor"]}  # fmt: skip
COMPARE = ["less", "greater_equal", "equal", "not_equal"]
WEAK_VALUES = [0, 1, 2, 0.0, -0.0, 1.0, 2.0, -1.5]


class Program:
    """Builds one program from a generator; ``graph`` takes f32, f32, i32, bool matrices."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.module = Module()
        self.helper = self.build("helper", [F, F], 0, 3)
        self.module.add(self.helper)

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def main(self) -> Graph:
        return self.build("main", [F, F, I, B, N0], 2, int(self.rng.integers(5, 25)), every=True)

    def build(self, name: str, types, depth: int, size: int, results=None, every: bool = False) -> Graph:
        g = Graph(name, self.module)
        for i, t in enumerate(types):
            g.add_param(t, f"p{i}")
        for _ in range(size):
            self.grow(g, depth)
        default = [F, F, I, B] if every else [F]
        wanted = default if results is None else results
        g.outputs = [self.value(g, t) for t in wanted]
        return g

    # ---- values -----------------------------------------------------------------------------------------------------

    def values(self, g: Graph, t) -> list[Value]:
        return [v for v in [*g.params, *(o for n in g.nodes for o in n.outputs)] if v.type is t]

    def value(self, g: Graph, t: TensorType) -> Value:
        found = self.values(g, t)
        return self.pick(found[-8:]) if found else self.constant(g, t)

    def constant(self, g: Graph, t: TensorType) -> Value:
        if self.rng.random() < 0.5:
            data = np.full(t.shape, self.pick([0, 1, -0.0]), t.dtype.numpy)
        else:
            data = self.rng.integers(-3, 4, t.shape).astype(t.dtype.numpy)
        return g.add(constant, (), {"value": Const(np.asarray(data), t)}, (t,)).out

    def weak(self, g: Graph) -> Value:
        x = self.pick(WEAK_VALUES)
        return g.add(constant, (), {"value": Const(x, WEAK[type(x)])}, (WEAK[type(x)],)).out

    def emit(self, g: Graph, name: str, *inputs: Value, **attrs) -> Value:
        op = find(name)
        full = op.bind_attrs(attrs)
        return g.add(op, inputs, full, op.result_types(tuple(v.type for v in inputs), full)).outputs[0]

    def back(self, g: Graph, v: Value, t: TensorType) -> Value:
        """``v`` with the type t again, through casts and reshapes: more work for the laws."""
        if v.type.dtype is not t.dtype:
            v = self.emit(g, "cast", v, dtype=self.pick([t.dtype, dtypes.float64]))
        if v.type.dtype is not t.dtype:
            v = self.emit(g, "cast", v, dtype=t.dtype)
        return v

    # ---- nodes ------------------------------------------------------------------------------------------------------

    def grow(self, g: Graph, depth: int) -> None:
        kinds = [self.unary, self.binary, self.binary, self.moves, self.choice, self.constants]
        kinds += [self.if_, self.while_, self.scan, self.call] if depth else []
        self.pick(kinds)(g, depth)

    def unary(self, g: Graph, depth: int) -> None:
        t = self.pick([F, F, I, B])
        v = self.emit(g, self.pick(UNARY[t]), self.value(g, t))
        if self.rng.random() < 0.5:
            self.emit(g, v.node.op.name, v)

    def binary(self, g: Graph, depth: int) -> None:
        t = self.pick([F, F, I, B])
        x, y = self.value(g, t), self.value(g, t)
        if t is not B and self.rng.random() < 0.5:
            y = self.weak(g) if self.rng.random() < 0.7 else self.constant(g, t)
        if t is I and self.rng.random() < 0.2:
            self.emit(g, self.pick(COMPARE), x, y)
            return
        name = self.pick(BINARY[t])
        if name.startswith("bitwise") and y.type is not I:
            y = self.value(g, I)
        if name == "power":
            y = g.add(constant, (), {"value": Const(self.pick([1, 2]), WEAK[int])}, (WEAK[int],)).out
        pair = (x, y) if self.rng.random() < 0.6 or name == "power" else (y, x)
        self.back(g, self.emit(g, name, *pair), t)

    def moves(self, g: Graph, depth: int) -> None:
        x = self.value(g, self.pick([F, I]))
        kind = int(self.rng.integers(6))
        if kind == 0:
            y = self.emit(g, "reshape", x, shape=self.pick([(6,), (3, 2), (2, 3), (1, 6)]))
            self.emit(g, "reshape", y, shape=(2, 3))
        elif kind == 1:
            self.emit(g, "transpose", self.emit(g, "transpose", x, perm=(1, 0)), perm=(1, 0))
        elif kind == 2:
            wide = self.emit(g, "broadcast_to", x, shape=(2, 2, 3))
            self.emit(g, "sum_to", self.emit(g, "broadcast_to", wide, shape=(2, 2, 3)), shape=(2, 3))
        elif kind == 3:
            self.emit(g, "squeeze", self.emit(g, "expand_dims", x, axis=1), axis=(1,))
        elif kind == 4:
            self.emit(g, "sum_to", self.emit(g, "reshape", x, shape=(1, 2, 3)), shape=(2, 3))
        else:
            self.emit(g, "concat", x)

    def choice(self, g: Graph, depth: int) -> None:
        t = self.pick([F, I])
        test = self.value(g, B)
        if self.rng.random() < 0.3:
            test = self.constant(g, B0)
        self.emit(g, "where", test, self.value(g, t), self.value(g, t))

    def constants(self, g: Graph, depth: int) -> None:
        x = self.emit(g, "add", self.constant(g, F), self.weak(g))
        self.emit(g, self.pick(["multiply", "divide"]), x, self.constant(g, F))

    def if_(self, g: Graph, depth: int) -> None:
        args = [self.value(g, self.pick([F, I])) for _ in range(self.rng.integers(0, 3))]
        types = [self.pick([F, I]) for _ in range(self.rng.integers(1, 3))]
        bodies = [self.build(k, [a.type for a in args], depth - 1, 3, types) for k in ("then", "else")]
        test = self.constant(g, B0) if self.rng.random() < 0.4 else self.emit(g, "any", self.value(g, B))
        g.add(IF, [test, *args], {}, types, bodies)

    def while_(self, g: Graph, depth: int) -> None:
        types = [N0, *(self.pick([F, I]) for _ in range(self.rng.integers(1, 4)))]
        inv = [self.value(g, F) for _ in range(self.rng.integers(0, 3))]
        all_types = types + [v.type for v in inv]
        cond = self.build("cond", all_types, 0, 1, [B])
        cond.outputs = [self.emit(cond, "greater", cond.params[0], self.zero(cond))]
        body = self.build("body", all_types, depth - 1, 4, types[1:])
        one = body.add(constant, (), {"value": Const(1, WEAK[int])}, (WEAK[int],)).out
        body.outputs = [self.emit(body, "subtract", body.params[0], one), *body.outputs]
        start = self.value(g, N0) if self.values(g, N0) else self.constant(g, N0)
        carry = [start, *(self.value(g, t) for t in types[1:])]
        g.add(WHILE, [*carry, *inv], {"n_carry": len(types)}, types, [cond, body])

    def zero(self, g: Graph) -> Value:
        return g.add(constant, (), {"value": Const(0, WEAK[int])}, (WEAK[int],)).out

    def scan(self, g: Graph, depth: int) -> None:
        row = tensor_type((3,), dtypes.float32)
        carry = [self.pick([F, I]) for _ in range(self.rng.integers(0, 3))]
        xs = [self.value(g, F) for _ in range(self.rng.integers(0, 3))]
        inv = [self.value(g, F) for _ in range(self.rng.integers(0, 2))]
        types = [*carry, *(row for _ in xs), *(v.type for v in inv)]
        n_ys = int(self.rng.integers(0, 3)) if xs else 0
        body = self.build("body", types, depth - 1, 4, [*carry, *[row] * n_ys])
        attrs = {"n_carry": len(carry), "n_xs": len(xs), "length": 2, "reverse": bool(self.rng.random() < 0.5)}
        g.add(SCAN, [*(self.value(g, t) for t in carry), *xs, *inv], attrs, [*carry, *[F] * n_ys], [body])

    def call(self, g: Graph, depth: int) -> None:
        g.add(CALL, [self.value(g, F), self.value(g, F)], CALL.bind_attrs({"callee": self.helper.name}), [F])


def arguments(rng: np.random.Generator) -> list[np.ndarray]:
    """Values for the params of ``Program.main``: NaN, infinities, signed zeros and subnormals among them."""
    x = rng.standard_normal((2, 3)).astype(np.float32)
    ints, flags = rng.integers(-5, 5, (2, 3)).astype(np.int32), rng.random((2, 3)) < 0.5
    return [ODD.copy(), x, ints, flags, np.array(rng.integers(0, 4))]
