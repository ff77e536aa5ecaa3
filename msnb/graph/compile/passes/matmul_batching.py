"""Many small matrix products as one: what a network that is unrolled in time asks for again and again.

    d1.T @ x1 + d2.T @ x2 + d3.T @ x3                     x1 @ w, x2 @ w, x3 @ w       rows of one x

    | d1.T | d2.T | d3.T |  @  | x1 |                     | x1 |           parts of it
                               | x2 |                     | x2 |  @  w
                               | x3 |                     | x3 |

Left, the gradient of a weight that every step used: the sum over steps becomes part of the product's own sum. Nothing
is added up in memory, but operands are copied side by side, so this pays where they are smaller than the products.
Operands that are parts of one tensor already lie side by side, and two sums with the same operands share the copy.
Right, what steps do with their inputs alone: all the rows are there at the start.

Both are about small products, which libraries start more slowly than they run. A plan is made first, reading the graph
once; one sweep then writes it. A sum is written where its last term was added, rows where the first of them were
wanted: all they read is there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msnb.core import TensorType, dtypes, size_hint, sliced_axis
from msnb.graph.compile.rewriting import Answer, GraphRewriter, Log, map_module, op_of
from msnb.ir.graph import Graph, Module, Node, Value
from msnb.ir.text.printer import called

FEWEST = 4
"""So many products are worth one; fewer are left alone."""
LARGEST = 2**21
"""Products of more multiply-adds than this use a machine well by themselves."""


class RowSlice(NamedTuple):
    """Rows ``first`` to ``last`` of a tensor, looked at as a matrix."""

    whole: Value
    first: int
    last: int


@dataclass
class Side:
    """One operand of every product of a sum: transposed or not, in the order in which they are put side by side."""

    parts: list[Value]
    turned: bool
    axis: int
    rows: RowSlice | None = None


@dataclass
class Products:
    """The products of a sum that become one."""

    nodes: list[Node]
    left: Side
    right: Side


@dataclass
class SumOfProducts:
    """A sum and what it becomes: products, and terms that stay."""

    products: list[Products] = field(default_factory=list)
    rest: list[Value] = field(default_factory=list)


@dataclass(frozen=True)
class FullProduct:
    """All rows of a tensor times one matrix."""

    rows: Value
    matrix: Value


def _matrix(value: Value) -> tuple[int, int] | None:
    """The shape of a matrix of float32 or float64 that is not empty."""
    t = value.type
    if not isinstance(t, TensorType) or not t.is_static or t.weak or t.dtype not in (dtypes.float32, dtypes.float64):
        return None
    shape = t.ints()
    return (shape[0], shape[1]) if len(shape) == 2 and 0 not in shape else None


def _is_product(node: Node) -> bool:
    """A small product of two matrices of one dtype."""
    if node.op.name != "matmul" or any(_matrix(v) is None for v in (*node.inputs, node.out)):
        return False
    m, k, n = *_shape(node.inputs[0]), _shape(node.inputs[1])[1]
    same = {v.type.dtype for v in (*node.inputs, node.out) if isinstance(v.type, TensorType)}
    return len(same) == 1 and size_hint(m * k * n) <= LARGEST


def _shape(value: Value) -> tuple[int, int]:
    shape = _matrix(value)
    assert shape is not None
    return shape


def _base(value: Value) -> tuple[Value, bool]:
    """What a value is the transpose of, and whether it is one."""
    node = op_of(value, "transpose")
    return (value, False) if node is None or tuple(node.attrs["perm"]) != (1, 0) else (node.inputs[0], True)


def rows_of(value: Value) -> RowSlice | None:
    """A matrix as rows of a tensor whose last axis it has: a slice of the first axis, reshaped or not."""
    reshape = op_of(value, "reshape")
    cut = op_of(value if reshape is None else reshape.inputs[0], "slice")
    if cut is None or not isinstance(cut.inputs[0].type, TensorType) or not cut.inputs[0].type.is_static:
        return None
    sizes, begin, end = cut.inputs[0].type.ints(), cut.attrs["begin"], cut.attrs["end"]
    part = cut.out.type
    if len(sizes) < 2 or not isinstance(part, TensorType) or part.ints()[1:] != sizes[1:]:
        return None
    if sizes[-1] != _shape(value)[1] or any(s != 1 for s in cut.attrs["step"]):
        return None
    high = math.prod(sizes[1:-1])
    first, count, _ = sliced_axis(sizes[0], (begin[0], end[0], None))
    return RowSlice(cut.inputs[0], first * high, (first + count) * high)


def _height(whole: Value) -> int:
    assert isinstance(whole.type, TensorType)
    return math.prod(whole.type.ints()[:-1])


def _places(side: Side) -> list[int]:
    """The order in which parts of one tensor lie."""
    first = [rows.first for rows in map(rows_of, side.parts) if rows is not None]
    place = {row: i for i, row in enumerate(sorted(first))}
    return [place[row] for row in first]


# ---- the plan ----


class BatchingPlan:
    """What becomes one in one graph.

    Attributes:
        sums: by the node that adds the last term.
        rows: by product: all rows, and which of them it wants.
    """

    def __init__(self, graph: Graph) -> None:
        self.sums: dict[Node, SumOfProducts] = {}
        self.rows: dict[Node, tuple[FullProduct, RowSlice]] = {}
        products = [n for n in graph.nodes if _is_product(n)]
        if len(products) < FEWEST:
            return
        self._uses = graph.uses()
        self._taken: set[Node] = set()
        self._orders: dict[frozenset[Value], list[Value]] = {}
        for chain in self._chains(graph):
            self._plan_sum(*chain)
        self._agree_on_orders()
        self._plan_rows([p for p in products if p not in self._taken])

    # ---- sums

    def _chains(self, graph: Graph) -> list[tuple[Node, list[Value]]]:
        """Every sum: where it is complete, and its terms. Each addition is in one sum, for nobody else reads it."""
        found: list[tuple[Node, list[Value]]] = []
        inside: set[Node] = set()
        for root in reversed(graph.nodes):
            if root.op.name != "add" or root in inside or _matrix(root.out) is None:
                continue
            terms: list[Value] = []
            queue = list(root.inputs)
            while queue:
                v = queue.pop()
                node = op_of(v, "add")
                if node is None or self._uses[v] > 1 or v.type != root.out.type:
                    terms.append(v)
                else:
                    inside.add(node)
                    queue += node.inputs
            found.append((root, terms))
        return found

    def _plan_sum(self, root: Node, terms: list[Value]) -> None:
        if len(terms) < FEWEST or any(v.type != root.out.type for v in terms):
            return
        alike: dict[tuple[bool, bool], list[Node]] = defaultdict(list)
        plan = SumOfProducts()
        for v in terms:
            node = v.node
            if node is None or self._uses[v] > 1 or not _is_product(node):
                plan.rest.append(v)
            else:
                alike[_base(node.inputs[0])[1], _base(node.inputs[1])[1]].append(node)
        for turned, nodes in alike.items():
            products = self._products(nodes, turned) if len(nodes) >= FEWEST else None
            if products is None:
                plan.rest += [n.out for n in nodes]
            else:
                plan.products.append(products)
                self._taken.update(nodes)
        if plan.products:
            self.sums[root] = plan

    def _products(self, nodes: list[Node], turned: tuple[bool, bool]) -> Products | None:
        """The products as one, where copies are no more than what is added up otherwise."""
        left, right = (self._side(nodes, which, turned[which]) for which in (0, 1))
        if left.rows is not None and right.rows is not None and _places(left) != _places(right):
            right.rows = None
        m, n = _shape(nodes[0].out)
        copied = sum(_shape(p.inputs[0])[1] * (m * (left.rows is None) + n * (right.rows is None)) for p in nodes)
        return Products(nodes, left, right) if copied <= m * n * len(nodes) else None

    def _side(self, nodes: list[Node], which: int, turned: bool) -> Side:
        side = Side([_base(n.inputs[which])[0] for n in nodes], turned, (1 - which) ^ turned)
        places = [rows_of(v) for v in side.parts] if side.axis == 0 else []
        found = [p for p in places if p is not None]
        if len(found) == len(nodes):
            order = sorted(range(len(nodes)), key=lambda i: found[i].first)
            ends = [found[i] for i in order]
            joined = all(a.whole is b.whole and a.last == b.first for a, b in zip(ends, ends[1:]))
            side.rows = RowSlice(ends[0].whole, ends[0].first, ends[-1].last) if joined else None
        return side

    def _agree_on_orders(self) -> None:
        """Parts of one tensor say the order; then sums with the same operands have the same order."""
        everything = [p for s in self.sums.values() for p in s.products]
        for p in sorted(everything, key=lambda p: p.left.rows is None and p.right.rows is None):
            self._order(p)

    def _order(self, p: Products) -> None:
        rank = self._rank(p.left) or self._rank(p.right)
        if rank is not None:
            order = sorted(range(len(p.nodes)), key=rank.__getitem__)
            for side in (p.left, p.right):
                side.parts = [side.parts[i] for i in order]
        for side in (p.left, p.right):
            self._orders.setdefault(frozenset(side.parts), side.parts)

    def _rank(self, side: Side) -> list[int] | None:
        """The place of each part, where something says it."""
        if side.rows is not None:
            return _places(side)
        known = self._orders.get(frozenset(side.parts))
        if known is None or len(set(side.parts)) < len(side.parts) or len(known) != len(side.parts):
            return None
        at = {v: i for i, v in enumerate(known)}
        return [at[v] for v in side.parts]

    # ---- rows

    def _plan_rows(self, products: list[Node]) -> None:
        alike: dict[tuple[Value, Value, bool], list[tuple[Node, RowSlice]]] = defaultdict(list)
        for node in products:
            rows = rows_of(node.inputs[0])
            if rows is not None:
                alike[(rows.whole, *_base(node.inputs[1]))].append((node, rows))
        for (whole, _, _), found in alike.items():
            wanted = sum(r.last - r.first for r in {r for _, r in found})
            if len(found) >= FEWEST and 2 * wanted >= _height(whole):
                one = FullProduct(whole, found[0][0].inputs[1])
                self.rows.update((node, (one, rows)) for node, rows in found)


# ---- writing it ----

SUM_LAW = "a sum of products is one product", "operands side by side: the sum over products is part of the product"
ROWS_LAW = "rows times one matrix", "products of parts of one tensor and one matrix are parts of one product"


class _Gatherer(GraphRewriter):
    """Writes one graph as planned. ``node`` is the old node whose turn it is, until a rule has taken it."""

    env: dict[Value, Value]
    node: Node | None = None

    def _renewed(self, node: Node, env: dict[Value, Value]) -> Node:
        self.node, self.env = node, env
        return super()._renewed(node, env)

    def take(self) -> Node | None:
        node, self.node = self.node, None
        return node

    def now(self, value: Value) -> Value:
        """A value of the old graph in the new one."""
        return self.env.get(value, value)

    def sum(self, plan: SumOfProducts) -> Value:
        terms = [self.emit("matmul", self.side(p.left), self.side(p.right)) for p in plan.products]
        terms += [self.now(v) for v in plan.rest]
        total = terms[0]
        for v in terms[1:]:
            total = self.emit("add", total, v)
        return total

    def side(self, side: Side) -> Value:
        key = side.axis, side.turned, tuple(side.parts)
        joined: dict[Any, Value] = self.memory.setdefault("joined", {})
        if key not in joined:
            if side.rows is not None:
                found = self.cut(self.matrix(self.now(side.rows.whole)), side.rows)
            else:
                found = self.emit("concat", *map(self.now, side.parts), axis=side.axis)
            joined[key] = self.emit("transpose", found, perm=(1, 0)) if side.turned else found
        return joined[key]

    def matrix(self, whole: Value) -> Value:
        assert isinstance(whole.type, TensorType)
        shape = whole.type.ints()
        return whole if len(shape) == 2 else self.emit("reshape", whole, shape=(math.prod(shape[:-1]), shape[-1]))

    def cut(self, whole: Value, rows: RowSlice) -> Value:
        if (rows.first, rows.last) == (0, _height(whole)):
            return whole
        return self.emit("slice", whole, begin=(rows.first,), end=(rows.last,), step=(1,))

    def part(self, one: FullProduct, rows: RowSlice) -> Value:
        if one not in self.memory:
            self.memory[one] = self.emit("matmul", self.matrix(self.now(one.rows)), self.now(one.matrix))
        return self.cut(self.memory[one], rows)


def gather(graph: Graph, log: Log) -> Graph:
    """A graph, the bodies in it and the graphs it calls with small products gathered; itself where there are none."""
    plans = {g: BatchingPlan(g) for g in _graphs(graph)}
    if not any(plan.sums or plan.rows for plan in plans.values()):
        return graph

    def rule(sweep: GraphRewriter, node: Node) -> Answer:
        assert isinstance(sweep, _Gatherer)
        old, plan = sweep.take(), plans[sweep.source]
        if old in plan.sums:
            return sweep.accept(node, [sweep.sum(plan.sums[old])], *SUM_LAW)
        return sweep.accept(node, [sweep.part(*plan.rows[old])], *ROWS_LAW) if old in plan.rows else None

    def rewrite(g: Graph, module: Module) -> Graph:
        return _Gatherer(g, module, "regroup", lambda: rule, log).run()

    return map_module(graph, rewrite)


def _graphs(graph: Graph) -> Iterator[Graph]:
    for g in (graph, *(other for other in called(graph) if other is not graph)):
        yield g
        yield from (body for _, node in g.walk() for body in node.graphs)
