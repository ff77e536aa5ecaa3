"""What a function under construction can see, and the expressions that can be made of it.

    scalar  ()      vector  (3,)      matrix  (2, 3)      square  (3, 3)

Values grow slowly: one factor of a product is a number or a sine, quotients are by something between 1 and 3.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

Shape = tuple[int, ...]
SCALAR: Shape = ()
VECTOR: Shape = (3,)
MATRIX: Shape = (2, 3)
SQUARE: Shape = (3, 3)
SHAPES = (SCALAR, VECTOR, VECTOR, MATRIX, MATRIX, SQUARE)
AVOIDABLE = ("axis", "direct", "nested", "reversed", "texts", "twice")  # to look behind finds that come again and again
NUMBERS = ("0.25", "-0.75", "1.5", "2", "-1", "0.1")


@dataclass
class Scope:
    """Names with their shapes, and what the function may do."""

    names: dict[str, Shape] = field(default_factory=dict)
    params: dict[str, Shape] = field(default_factory=dict)
    buffers: dict[str, Shape] = field(default_factory=dict)
    cells: dict[str, tuple[Shape, Shape]] = field(default_factory=dict)
    held: dict[str, Shape] = field(default_factory=dict)
    arrays: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    draws: bool = False
    writes: bool = False
    prints: bool = False
    hooks: bool = False
    inside: int = 0  # branches and loops around
    by_tensor: int = 0  # those of them that a tensor decides
    loops: int = 0

    def inner(self, by_tensor: bool) -> Scope:
        """The scope of a block: what is new there is gone behind it."""
        return Scope(
            dict(self.names), self.params, self.buffers, self.cells, dict(self.held), list(self.arrays),
            list(self.integers), set(self.own), self.draws, self.writes, self.prints, self.hooks,
            self.inside + 1, self.by_tensor + by_tensor, self.loops,
        )  # fmt: skip


class Expressions:
    """Draws expressions as text."""

    def __init__(self, rng: random.Random, avoid: tuple[str, ...] = ()) -> None:
        self.rng, self.avoid, self.dtype = rng, avoid, "float64"
        self.count = 0

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def leaf(self, s: Scope, shape: Shape) -> str:
        """A name of this shape, or the shortest way to one."""
        options = [n for n, of in s.names.items() if of == shape]
        options += [n for n in options if self.chance(0.6)]  # what was made here before what was there
        options += [n for pool in (s.params, s.buffers, s.held) for n, of in pool.items() if of == shape]
        if shape == VECTOR and s.arrays and self.chance(0.4):
            return f"Tensor({self.rng.choice(s.arrays)})"
        if options:
            return self.rng.choice(options)
        if shape == SCALAR:
            name = self.rng.choice([*s.names, *s.params])
            return f"{name}.sum()"
        if shape == VECTOR:
            scalar = self.leaf(s, SCALAR)
            return f"ops.stack([{scalar}, {self.leaf(s, SCALAR)}, {scalar} * 0.5])"
        rows = [self.leaf(s, shape[1:]) for _ in range(shape[0])]
        return f"ops.stack([{', '.join(rows)}])"

    def of(self, s: Scope, shape: Shape, depth: int = 2) -> str:
        """An expression of this shape."""
        if depth <= 0 or self.chance(0.2):
            return self.leaf(s, shape)
        if self.chance(0.5):
            return self.elementwise(s, shape, depth)
        own = {SCALAR: self.scalar, VECTOR: self.vector, MATRIX: self.matrix, SQUARE: self.square}.get(shape)
        return own(s, depth - 1) if own else self.leaf(s, shape)

    def elementwise(self, s: Scope, shape: Shape, depth: int) -> str:
        a, d = self.of(s, shape, depth - 1), depth - 1
        kind = self.rng.choice(
            (
                "sum",
                "difference",
                "scaled",
                "product",
                "product",
                "tanh",
                "sin",
                "minus",
                "quotient",
                "where",
                "kink",
                "wide",
            )
        )
        if kind == "scaled":
            by = self.rng.choice(s.integers) if s.integers and self.chance(0.3) else self.rng.choice(NUMBERS)
            return f"({a} * {by})"
        if kind == "where":
            low, high = self.of(s, shape, 0), self.of(s, shape, 0)
            return f"ops.where({low} > {high}, {a}, {self.of(s, shape, d)})"
        if kind == "kink":
            return self.rng.choice((f"ops.relu({a})", f"ops.abs({a})", f"ops.maximum({a}, {self.leaf(s, shape)})"))
        if kind == "wide":
            return f"({a} {self.rng.choice('+-')} {self.of(s, SCALAR, d)})"
        b = self.of(s, shape, d)
        forms = {
            "sum": f"({a} + {b})", "difference": f"({a} - {b})", "product": f"({a} * ops.sin({b}))",
            "tanh": f"ops.tanh({a})", "sin": f"ops.sin({a})", "minus": f"(-{a})",
            "quotient": f"({a} / (2.0 + ops.cos({b})))",
        }  # fmt: skip
        return forms[kind]

    def view(self, s: Scope, shape: Shape) -> str:
        """Elements of something else under other axes: transposed, with gaps, backwards, repeated."""
        v, m, q, i = self.leaf(s, VECTOR), self.leaf(s, MATRIX), self.leaf(s, SQUARE), self.number(-3, 2)
        forms = {
            VECTOR: [f"{q}[:, {i}]", f"{q}.T[{i}]", f"{v}[::-1]", f"ops.broadcast_to({v}[1:2], (3,))",
                     f"{m}.reshape(6)[::2]", f"{q}.reshape(9)[::4]", f"{m}.reshape(6)[5:0:-2]"],
            MATRIX: [f"{q}[1:]", f"{q}[::2]", f"{q}.T[::-2]", f"ops.broadcast_to({v}, (2, 3))", f"{m}[::-1, ::-1]",
                     f"{m}.reshape(3, 2).T", f"{m}.T.reshape(2, 3)", f"ops.broadcast_to({m}[:, 2:], (2, 3))"],
            SQUARE: [f"{q}.T", f"{q}[::-1]", f"{q}[:, ::-1].T", f"ops.broadcast_to({v}, (3, 3))",
                     f"ops.broadcast_to({v}[:, None], (3, 3))", f"ops.cat([{q}, {m}])[::2]"],
        }  # fmt: skip
        return self.rng.choice(forms[shape])

    def of_views(self, s: Scope, shape: Shape) -> list[str]:
        """Products, reductions, selections and convolutions of views."""
        v, m, q, r = (self.view(s, of) for of in (VECTOR, MATRIX, SQUARE, SQUARE))
        if shape == SCALAR:
            return [f"({v} @ {self.view(s, VECTOR)})", f"{m}.max()", f"{q}.mean()", f"({q} * {r}).sum()"]
        if shape == VECTOR:
            return [f"({q} @ {v})", f"({v} @ {q})", f"{m}.sum(0)", f"{q}.mean(1)", f"ops.softmax({v}, -1)",
                    f"ops.cumsum({q}, 0)[{self.number(-3, 2)}]", f"({q} * {r}).sum(1)",
                    f"ops.dense({v}, {q})"]  # fmt: skip
        if shape == MATRIX:
            kernel = f"ops.stack([{q}[:2, :2], {r}[1:, 1:]], {self.rng.choice(('-1', '0'))})"
            return [f"({m} @ {q})", f"ops.dense({m}, {q})", f"ops.softmax({m}, {self.rng.choice('01')})",
                    f"ops.cumsum({m}, {self.rng.choice('01')})", f"ops.gather({q}, Tensor(np.array([2, 0])), 0)",
                    f"ops.gather({q}.T, Tensor(np.array([1, -1])), 1).T", f"ops.maximum({m}, {v})",
                    f"ops.conv1d({m}[None], {q}[:2, 1:][:, :, None])[0]",
                    f"ops.conv1d(ops.cat([{m}, {m}[:, ::-2]], 1)[None, :, :4], {kernel})[0]"]  # fmt: skip
        return [f"({q} @ {r})", f"({m}.T @ {self.view(s, MATRIX)})", f"ops.softmax({q}, 0)"]

    def called(self, s: Scope, d: int, shape: Shape) -> list[str]:
        """Cells that give this shape."""
        return [f"{c}({self.of(s, take, d)})" for c, (take, give) in s.cells.items() if give == shape]

    def drawn(self, name: str, sizes: str) -> str:
        """A draw in the program's dtype: what mixtures of dtypes give is another question."""
        return f"ops.{name}({sizes}{f', dtype=ms.{self.dtype}' if self.dtype != 'float32' else ''})"

    def number(self, low: int, high: int) -> str:
        return str(self.rng.randint(low, high))

    def slice(self, length: int) -> str:
        start, stop = (self.rng.choice(("", self.number(-length - 2, length + 1))) for _ in range(2))
        step = self.rng.choice(("", ":2", ":-1", ":-1", ":-2") if "reversed" not in self.avoid else ("", ":2"))
        return f"{start}:{stop}{step}"

    def scalar(self, s: Scope, d: int) -> str:
        shape = self.rng.choice((VECTOR, VECTOR, MATRIX))
        a = self.of(s, shape, d)
        options = [f"{a}.sum()", f"{a}.mean()", f"({a} * {self.leaf(s, shape)}).sum()", f"{a}.max()"]
        options += [] if "axis" in self.avoid else [f"{a}.sum(axis=())"]
        v = self.of(s, VECTOR, d)
        options += [f"{v}[{self.number(-3, 2)}]", f"{v}[{self.slice(3)}].sum()", f"{v}[{self.slice(3)}].sum()"]
        options += [f"{self.of(s, MATRIX, d)}[{self.number(0, 1)}, {self.number(-3, 2)}]"]
        if self.chance(0.35):
            return self.rng.choice(self.of_views(s, SCALAR))
        return self.rng.choice(options + self.called(s, d, SCALAR))

    def vector(self, s: Scope, d: int) -> str:
        v, m, q = self.of(s, VECTOR, d), self.of(s, MATRIX, d), self.leaf(s, SQUARE)
        options = [
            f"{m}.sum(0)",
            f"{m}.mean(0)",
            f"{m}[{self.number(-2, 1)}]",
            f"{v}[::-1]",
            f"({q} @ {v})",
            f"({v} @ {q})",
        ]
        options += [
            f"({v} @ {q}.T)",
            f"ops.cumsum({v}, 0)",
            f"ops.softmax({v} * {self.rng.choice(('2.0', '2.0', '1e9'))}, -1)",
        ]
        options += [f"ops.cat([{v}[1:], {self.leaf(s, VECTOR)}[:1]])", f"ops.dense({v}, {q})"]
        if s.draws:
            options += [self.drawn("rand", "3"), self.drawn("randn", "3"), f"ops.dropout({v}, 0.5)"] * 2
        if self.chance(0.35):
            return self.rng.choice(self.of_views(s, VECTOR))
        return self.rng.choice(options + self.called(s, d, VECTOR))

    def matrix(self, s: Scope, d: int) -> str:
        m, v, q = self.of(s, MATRIX, d), self.of(s, VECTOR, d), self.leaf(s, SQUARE)
        options = [
            f"({m} @ {q})",
            f"({m} @ {q}.T)",
            f"ops.dense({m}, {q})",
            f"({m} * {v})",
            f"{m}[::-1]",
            f"{m}[:, ::-1]",
        ]
        options += [f"{m}.reshape(3, 2).T", f"ops.softmax({m}, -1)", f"ops.stack([{v}, {self.leaf(s, VECTOR)}])"]
        if s.draws:
            options += [self.drawn("rand", "2, 3"), f"ops.dropout({m}, 0.5)"] * 2
        if self.chance(0.35):
            return self.rng.choice(self.of_views(s, MATRIX))
        return self.rng.choice(options + self.called(s, d, MATRIX) * 2)

    def square(self, s: Scope, d: int) -> str:
        if self.chance(0.35):
            return self.rng.choice(self.of_views(s, SQUARE))
        m, q, v = self.of(s, MATRIX, d), self.leaf(s, SQUARE), self.of(s, VECTOR, d)
        return self.rng.choice((f"({m}.T @ {m})", f"{q}.T", f"({q} * {v})", f"({q} @ {q})"))

    def test(self, s: Scope) -> str:
        """A test that a tensor decides."""
        a, b = self.of(s, SCALAR, 1), self.rng.choice((self.of(s, SCALAR, 1), "0.3", "-0.2"))
        sign = self.rng.choice("<>")
        if self.chance(0.15):
            return f"{a} {sign} {b} {self.rng.choice(('and', 'or'))} {self.of(s, SCALAR, 0)} > 0.1"
        return f"{a} {sign} {b}"
