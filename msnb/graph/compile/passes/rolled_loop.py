"""The Scan that turns of a loop become (``rolling`` finds them): its body, what it is handed, what is read of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from msnb.autodiff.dead_nodes import prune
from msnb.autodiff.loop_sums import LoopSums, Term, sum_outside
from msnb.autodiff.subgraphs import reindex
from msnb.core import EngineRestore, TensorType, tensor_type
from msnb.ir import Graph, GraphBuilder, Node, Value, control_flow, copy_node
from msnb.ops.definition.record import find

GROUP = 25
Source = tuple[str, Any, int]
"""Where an operand comes from: ("inner", node of the turn, result), ("carry", number), ("same", value), ("row", i): the
node reads a row of a tensor; ("copied", number): it is a row of values that are copied into one tensor."""


@dataclass(frozen=True)
class Row:
    """x[..., at, ...] with a number at one axis: the number, the axis, and all that must be the same in every turn."""

    at: int
    axis: int
    pattern: Any


def row_of(node: Node) -> Row | None:
    """How a node reads one row; None for nodes that do something else."""
    if node.op.name != "index" or len(node.inputs) != 1:
        return None
    spec = node.attrs["spec"]
    axis = next((i for i, e in enumerate(spec) if isinstance(e, int) and not isinstance(e, bool)), None)
    if axis is None or not all(isinstance(e, tuple) for e in spec[:axis]):
        return None
    return Row(spec[axis], axis, ("row", axis, *spec[:axis], *spec[axis + 1 :]))


@dataclass
class RolledLoop:
    """A loop of ``turns`` turns of ``period`` nodes, the first of which is node ``begin`` of ``graph``.

    Attributes:
        step: 1 or -1, the direction in which rows are gone through; 0 where none are.
        sources: per node of a turn, where its operands come from.
        rows: what is handed row by row: (tensor, axis, number of the first row), or (values of the turns, -1, 0).
        carries: what is carried: (node of the turn, result, first value).
    """

    graph: Graph
    begin: int
    period: int
    turns: int
    step: int = 0
    sources: list[list[Source]] = field(default_factory=list)
    rows: list[tuple[Value | tuple[Value, ...], int, int]] = field(default_factory=list)
    carries: list[tuple[int, int, Value]] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The node behind the last turn."""
        return self.begin + self.turns * self.period

    def row(self, x: Value | tuple[Value, ...], axis: int, first: int) -> int:
        """The number of these rows among all."""
        return _number(self.rows, (x, axis, first))

    def carry(self, node: int, result: int, first: Value) -> int:
        """The number of this carried value among all."""
        return _number(self.carries, (node, result, first))

    def made(self) -> dict[Value, tuple[int, int, int]]:
        """What the turns make: (turn, node of the turn, result)."""
        return {
            v: (i // self.period, i % self.period, k)
            for i, node in enumerate(self.graph.nodes[self.begin : self.end])
            for k, v in enumerate(node.outputs)
        }

    def written(self) -> Graph:
        """The graph with a Scan in the place of the turns."""
        return _LoopWriter(self).graph()


def _number(found: list[Any], item: Any) -> int:
    if item not in found:
        found.append(item)
    return found.index(item)


class _LoopWriter:
    """Writes the graph around and with the Scan.

    Attributes:
        b: the builder of the new graph.
        seen: values of the old graph -> values of the new one.
        made: what the turns make; given: what of that is read behind the loop, as (node of the turn, result).
        stacks: the rows of what is given.
    """

    def __init__(self, loop: RolledLoop) -> None:
        self.loop, self.made = loop, loop.made()
        self.b = GraphBuilder(loop.graph.name, loop.graph.module)
        self.seen: dict[Value, Value] = {}
        rest = loop.graph.nodes[loop.end :]
        read = [v for values in (*(n.inputs for n in rest), loop.graph.outputs) for v in values if v in self.made]
        self.carried = {(j, k): i for i, (j, k, _) in enumerate(loop.carries)}
        self.given = list(dict.fromkeys(self.made[v][1:] for v in read if self._end(v) is None))
        self.stacks: dict[tuple[int, int], Any] = {}
        self.ends: list[Any] = []

    def graph(self) -> Graph:
        """The new graph."""
        loop, out = self.loop, self.b.graph
        for p in loop.graph.params:
            self.seen[p] = out.add_param(p.type, p.name)
        for node in loop.graph.nodes[: loop.begin]:
            copy_node(node, out, self.seen)
        with self.b:
            self._scan()
            for node in loop.graph.nodes[loop.end :]:
                self._behind(node)
            out.outputs = [self._value(v) for v in loop.graph.outputs]
        out.state = dict(loop.graph.state)
        return out

    def _at(self, node: Node) -> None:
        self.b.scope, self.b.origin = node.scope, node.where

    # ---- the Scan ----

    def _scan(self) -> None:
        loop, first = self.loop, self.loop.graph.nodes[self.loop.begin]
        self._at(first)
        rows = [self._rows(*row) for row in loop.rows]
        body = _Body(self, rows)
        first_values = [self.b.wrap(self.seen[v]) for _, _, v in loop.carries]
        start = [x for i, x in enumerate(first_values) if i not in body.sums]
        found = control_flow.scan(self.b, body.graph, start, body.xs, body.same, loop.turns, loop.step < 0)
        ends, rows = iter(found[: len(start)]), list(found[len(start) :])
        self.stacks = dict(zip(self.given, rows))
        stacked = {**body.handed_rows(), **dict(zip(body.extra, rows[len(self.given) :]))}
        for i, x in enumerate(first_values):
            terms = body.sums.get(i)
            self.ends.append(next(ends) if terms is None else sum_outside(terms, stacked, loop.turns, x))

    def _rows(self, value: Value | tuple[Value, ...], axis: int, first: int) -> Any:
        """The rows of a tensor that the turns go through, along axis 0, or what they read from outside as rows."""
        if isinstance(value, tuple):
            copied = [self.b.wrap(self.seen[v]) for v in value]
            return _stacked(copied[::-1] if self.loop.step < 0 else copied)
        x, turns = self.b.wrap(self.seen[value]), self.loop.turns
        if axis:
            x = find("transpose")(x, perm=(axis, *(i for i in range(x.ndim) if i != axis)))  # type: ignore[assignment]
        return x if x.shape[0] == turns else find("index")(x, spec=((first, first + turns, 1),))

    # ---- what stands behind it ----

    def _end(self, value: Value) -> int | None:
        """Which of the carried values it is at the end; None for others."""
        turn, j, k = self.made[value]
        return self.carried.get((j, k)) if turn == self.loop.turns - 1 else None

    def _value(self, value: Value) -> Value:
        """A value for a node behind the loop: if a turn made it, what is carried at the end, or a row."""
        if value not in self.seen:
            end = self._end(value)
            if end is not None:
                self.seen[value] = self.b.lift(self.ends[end])
                return self.seen[value]
            turn, *place = self.made[value]
            rows = self.stacks[place[0], place[1]]
            row = self.loop.turns - 1 - turn if self.loop.step < 0 else turn
            self.seen[value] = self.b.lift(find("index")(rows, spec=(row,)))
        return self.seen[value]

    def _behind(self, node: Node) -> None:
        self._at(node)
        joined = self._joined(node) if node.op.name in ("stack", "concat") else None
        if joined is not None:
            self.seen[node.out] = self.b.lift(joined)
            return
        for v in node.inputs:
            self._value(v)
        copy_node(node, self.b.graph, self.seen)

    def _joined(self, node: Node) -> Any:
        """A stack or concat with one value of every turn, in order: what the Scan gives, and what stands around it."""
        turns, axis = self.loop.turns, node.attrs["axis"]
        first = next((i for i, v in enumerate(node.inputs) if v in self.made), len(node.inputs))
        rows = self._in_order([self.made.get(v, (-1, 0, 0)) for v in node.inputs[first : first + turns]])
        if rows is None:
            return None
        parts = [node.inputs[:first], node.inputs[first + turns :]]
        before, behind = ([node.op(*(self.b.wrap(self._value(v)) for v in p), axis=axis)] if p else [] for p in parts)
        middle = _along(rows, axis % node.out.type.ndim, node.op.name == "stack")  # type: ignore[union-attr]
        return find("concat")(*before, middle, *behind, axis=axis) if before or behind else middle

    def _in_order(self, places: Sequence[tuple[int, int, int]]) -> Any:
        """The rows of all turns in the order of these places; None unless they are one value of every turn in order."""
        order, turns = [turn for turn, _, _ in places], list(range(self.loop.turns))
        if order not in (turns, turns[::-1]) or len({place[1:] for place in places}) > 1:
            return None
        rows = self.stacks[places[0][1:]]
        return rows if (order == turns) == (self.loop.step >= 0) else rows[::-1]


def _stacked(values: Sequence[Any]) -> Any:
    """Values as rows of one tensor: by groups of one size, whose code is the same."""
    groups = [find("stack")(*values[i : i + GROUP], axis=0) for i in range(0, len(values), GROUP)]
    return groups[0] if len(groups) == 1 else find("concat")(*groups, axis=0)


def _along(rows: Any, axis: int, apart: bool) -> Any:
    """Rows [turns, ...] as their stack along ``axis`` (``apart``) or their concatenation."""
    if axis:
        rows = find("transpose")(rows, perm=(*range(1, axis + 1), 0, *range(axis + 1, rows.ndim)))
    if apart:
        return rows
    shape = rows.shape
    return find("reshape")(rows, shape=(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


class _Body:
    """The body of the Scan.

    Nodes that read only what no turn changes, and products of rows with that, move before the loop: the second as one
    product of all rows.

    Attributes:
        graph: the body; xs, same: what it is handed, as tensors of the outer graph.
        sums: carried values that are summed outside, by number; extra: what must be rows for that.
    """

    def __init__(self, writer: _LoopWriter, rows: Sequence[Any]) -> None:
        self.writer, self.loop = writer, writer.loop
        nodes = self.loop.graph.nodes
        self.turn = nodes[self.loop.begin + self.loop.period : self.loop.begin + 2 * self.loop.period]
        self.xs, self.same = list(rows), list[Any]()
        self.outside: dict[int, tuple[str, Any]] = {}
        self.sums: dict[int, list[Term]] = {}
        self.extra: list[Value] = []
        for j in range(len(self.turn)):
            self._move(j)
        self.builder = GraphBuilder("turn", self.loop.graph.module)
        self.graph = self.builder.graph
        self._write()

    # ---- before the loop ----

    def _outer(self, source: Source) -> tuple[str, Any] | None:
        """An operand before the loop: ("same", tensor) or ("row", tensor of all rows); None for what the turns make."""
        kind, what, k = source
        if kind == "same":
            return "same", self.writer.b.wrap(self.writer.seen[what])
        if kind in ("row", "copied"):
            return "row", self.xs[what]
        return self.outside.get(what) if kind == "inner" and k == 0 else None

    def _move(self, j: int) -> None:
        node, sources = self.turn[j], self.loop.sources[j]
        found = [f for f in map(self._outer, sources) if f is not None]
        if not found or len(found) < len(sources) or len(node.outputs) != 1 or not _computes(node):
            return
        kinds, tensors = zip(*found)
        if sources[0][0] == "row":
            if row_rest(node) == ():
                self.outside[j] = found[0]
        elif "row" not in kinds:
            if node.op.view != "broadcast":
                self.outside[j] = ("same", node.op(*tensors, **node.attrs))
        elif _is_product(node, kinds, tensors) or _is_bias(node, kinds, sources, self.outside, self.turn):
            self.outside[j] = ("row", node.op(*tensors, **node.attrs))

    # ---- the turn ----

    def _write(self) -> None:
        loop, b = self.loop, self.builder
        self.carried = [b.graph.add_param(first.type, first.name) for _, _, first in loop.carries]
        self.values: dict[tuple[int, int], Value] = {}
        self.row_params: list[tuple[Any, Value]] = []
        self.same_params: list[tuple[Any, Value]] = []
        for j, node in enumerate(self.turn):
            if j not in self.outside:
                self._node(j, node)
        carried = [self._made(j, k) for j, k, _ in loop.carries]
        given = [self._made(j, k) for j, k in self.writer.given]
        self._sum_outside(carried, given)
        kept = [i for i in range(len(carried)) if i not in self.sums]
        b.graph.outputs = [*(carried[i] for i in kept), *given, *self.extra]
        self.xs, self.same = [t for t, _ in self.row_params], [t for t, _ in self.same_params]
        rows, same = ([p for _, p in params] for params in (self.row_params, self.same_params))
        b.graph.params[:] = [*(self.carried[i] for i in kept), *rows, *same]
        reindex(b.graph)
        prune(b.graph)

    def handed_rows(self) -> dict[Value, Any]:
        """The params that are rows -> the rows of all turns."""
        return {p: t for t, p in self.row_params}

    def _sum_outside(self, carried: Sequence[Value], given: Sequence[Value]) -> None:
        """What is only added to in every turn is a sum over all turns: of products first, whose factors become rows."""
        uses, sums = self.graph.uses(), dict[int, Value]()
        for i, (own, new) in enumerate(zip(self.carried, carried)):
            node = new.node
            added = node is not None and node.op.name == "add" and own in node.inputs and own.type is new.type
            if added and uses[own] == 1 and not uses.get(new, 0) and new not in given:
                sums[i] = next(v for v in node.inputs if v is not own)  # type: ignore[union-attr]
        for product in (True, False):
            for i in [i for i in sums if i not in self.sums]:
                self._move_sum(i, sums[i], product)

    def _move_sum(self, i: int, value: Value, product: bool) -> None:
        """Sum what is added to carried value ``i`` outside, if it can be, and is a product or not, as asked for."""
        terms = self._moving(value)
        if terms and any(len(t.factors) == 2 for t in terms) == product:
            self.sums[i] = terms
            values = dict.fromkeys(v for t in terms for v, _ in t.factors)
            self.extra += [v for v in values if v not in self.extra and v not in self.handed_rows()]

    def _moving(self, value: Value) -> list[Term]:
        """The terms of a value where all of them can be summed outside."""
        sums = LoopSums(list(self.handed_rows()), [p for _, p in self.same_params], list(self.extra))
        with EngineRestore(), self.builder:
            sums.split(self.builder, [self.builder.wrap(value)])
        return sums.terms[0] if sums.inside[0] is None else []

    def _handed(self, found: tuple[str, Any]) -> Value:
        """The param for a tensor that the loop is handed."""
        kind, tensor = found
        params = self.row_params if kind == "row" else self.same_params
        known = next((p for t, p in params if self.writer.b.lift(t) is self.writer.b.lift(tensor)), None)
        if known is None:
            t = tensor._value.type
            own = tensor_type(t.shape[1:], t.dtype) if kind == "row" else t
            known = self.builder.graph.add_param(own, "")
            params.append((tensor, known))
        return known

    def _made(self, j: int, k: int) -> Value:
        if (j, k) not in self.values:
            self.values[j, k] = self._handed(self.outside[j])
        return self.values[j, k]

    def _operand(self, source: Source) -> Value:
        kind, what, k = source
        if kind == "carry":
            return self.carried[what]
        if kind == "inner":
            return self._made(what, k)
        outer = self._outer(source)
        assert outer is not None
        return self._handed(outer)

    def _node(self, j: int, node: Node) -> None:
        inputs, attrs = [self._operand(s) for s in self.loop.sources[j]], node.attrs
        if self.loop.sources[j] and self.loop.sources[j][0][0] == "row":
            rest = row_rest(node)
            if rest == ():
                self.values[j, 0] = inputs[0]
                return
            attrs = {**attrs, "spec": rest}
        new = self.builder.graph.add(node.op, inputs, attrs, [v.type for v in node.outputs])
        new.where, new.scope, new.why = node.where, node.scope, node.why
        self.values.update({(j, k): v for k, v in enumerate(new.outputs)})


def row_rest(node: Node) -> tuple[Any, ...]:
    """What is still to be read of the row that a node reads; () for all of it."""
    row, t = row_of(node), node.inputs[0].type
    assert row is not None and isinstance(t, TensorType)
    spec, shape = node.attrs["spec"], [d for i, d in enumerate(t.shape) if i != row.axis]
    rest = (*spec[: row.axis], *spec[row.axis + 1 :])
    return () if rest == tuple((0, d, 1) for d in shape[: len(rest)]) else rest


def _computes(node: Node) -> bool:
    return "pure" in node.op.traits and "random" not in node.op.traits


def _is_product(node: Node, kinds: Sequence[str], tensors: Sequence[Any]) -> bool:
    """A row, or a matrix of rows, times a matrix that no turn changes."""
    return node.op.name == "matmul" and tuple(kinds) == ("row", "same") and tensors[1].ndim == 2 and tensors[0].ndim > 1


def _is_bias(node: Node, kinds: Sequence[str], sources: Sequence[Source], outside: Any, turn: Sequence[Node]) -> bool:
    """What no turn changes, added to such a product."""
    if node.op.name != "add" or tuple(kinds) != ("row", "same"):
        return False
    where, what, _ = sources[0]
    product, t, out = where == "inner" and what in outside and turn[what], node.inputs[1].type, node.out.type
    return bool(product and product.op.name == "matmul" and product.out.type is out and t.ndim <= out.ndim)  # type: ignore[union-attr]
