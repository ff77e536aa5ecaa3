"""vmap: from a program for one example to the program for many.

    graph f(x: f32[3], w: f32[3,2])          vmap(f, 8, (True, False)):
      a = x @ w          : f32[2]              a = x' @ w       : f32[8,2]     x' = x[8,1,3]: matmul's own batching
      y = sum(a, axis=0) : f32[]               y = sum(a, axis=1)              the axes have moved up

Each value is either *batched*, with the new axis in front, or the same for all lanes. A node without batched inputs
stays as it is. For the others, in this order:

    1. the record's ``batch`` rule
    2. labels that begin with "..." (elementwise ops, matmul): the new axis is one more leading axis, once the operands
       have axes of size 1 where a longer operand has axes of its own
    3. an attribute ``axis`` counts the axes of the operands: it moves one up (None: all axes, or the flattened operand)
    4. a Scan over the lanes, announced once

Random draws differ between lanes: drawing shape S for n lanes is one draw of shape (n, *S), so every number is named by
(seed, draw index, global element index) as ever. State (the draw index) stays one for all lanes.

Control flow with a batched predicate is told in ``vmap_control_flow``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msnb.autodiff.reverse_mode import stamped
from msnb.base import MsnbError, events, timed
from msnb.core import TensorType, Type
from msnb.ir import Graph, GraphBuilder, Node, Value, control_flow, copy_node
from msnb.ir.analysis.nested_nodes import draws
from msnb.ir.stack_type import spread, with_axis
from msnb.ops.definition.record import Op, find

if TYPE_CHECKING:
    from msnb.ir.analysis.nested_nodes import NestedSearch

CONTROL_RULES: dict[Op, Callable[[BatchedValues, Node], tuple[Sequence[Any], Sequence[bool]]]] = {}
"""How control nodes are batched, filled by ``vmap_control_flow``: each appends the batched form of a node and gives its
results and which of them are batched."""
_COUNT_AXES = frozenset({"axis", "axes", "shape", "perm", "dims", "n"})


@timed("autodiff")
def vmap(
    graph: Graph, axis_size: int, batched: Sequence[bool], shares_draws: bool = False
) -> tuple[Graph, tuple[bool, ...]]:
    """The program for ``axis_size`` examples at once.

    Args:
        graph: the program for one example; it is not changed.
        axis_size: how many.
        batched: per param, whether it carries the new axis (at 0) or is shared.
        shares_draws: the lanes are directions of one example, as in a Jacobian, and not examples: random numbers
            are drawn once for all of them.

    Returns:
        The graph, and per output whether it carries the new axis (at 0).

    Raises:
        MsnbError: a result would have a different size in every lane.

    Examples:
        >>> from msnb.core.types import tensor_type
        >>> from msnb.core.dtypes import float32
        >>> from msnb.ir.builder import build
        >>> double = build("double", [tensor_type((3,), float32)], lambda x: x + x)
        >>> vmap(double, 8, [True])[0].outputs[0].type
        f32[8,3]
    """
    return Batch(axis_size, shares_draws).graph(graph, tuple(batched))


class Batch:
    """One run of the transform."""

    def __init__(self, size: int, shares_draws: bool = False) -> None:
        self.size: int = size
        self.shares_draws: bool = shares_draws
        self.draws: NestedSearch = draws()
        self.callees: dict[Any, tuple[str, tuple[bool, ...]]] = {}

    def graph(
        self, graph: Graph, batched: tuple[bool, ...], force: Sequence[bool] | None = None
    ) -> tuple[Graph, tuple[bool, ...]]:
        """The batched form of a graph; results named in ``force`` get the new axis even if they are all the same."""
        return self.into(GraphBuilder(f"{graph.name}_vmap", graph.module), graph, batched, force)

    def into(
        self, b: GraphBuilder, graph: Graph, batched: tuple[bool, ...], force: Sequence[bool] | None
    ) -> tuple[Graph, tuple[bool, ...]]:
        """The same, appended to a builder whose graph may be known by name already."""
        b.why = "vmap"
        with b:
            outs = BatchedValues(self, b, graph).run(batched, force)
        b.graph.state = dict(graph.state)
        return b.graph, outs


class BatchedValues:
    """The transform of one graph: ``env`` maps its values to new ones, ``batched`` holds those with the new axis."""

    def __init__(self, batch: Batch, b: GraphBuilder, graph: Graph) -> None:
        self.batch: Batch = batch
        self.b: GraphBuilder = b
        self.source: Graph = graph
        self.size: int = batch.size
        self.env: dict[Value, Value] = {}
        self.batched: set[Value] = set()

    def run(self, batched: tuple[bool, ...], force: Sequence[bool] | None) -> tuple[bool, ...]:
        """Append everything to the builder."""
        for p, is_batched in zip(self.source.params, batched):
            t = with_axis(p.type, self.size) if is_batched else p.type
            self.env[p] = self.b.graph.add_param(t, p.name)
            if is_batched:
                self.batched.add(p)
        for node in self.source.nodes:
            self._node(node)
        outs = self.source.outputs
        wanted = tuple(v in self.batched or (force is not None and force[i]) for i, v in enumerate(outs))
        self.b.output(*(self.spread(v) if w else self.there(v) for v, w in zip(outs, wanted)))
        return wanted

    def there(self, value: Value) -> Any:
        """A value of the given graph in the new one."""
        return self.b.wrap(self.env[value])

    def spread(self, value: Value) -> Any:
        """The same with the new axis, whether it had it or not."""
        x = self.there(value)
        return x if value in self.batched else spread(x, self.size)

    def which(self, values: Sequence[Value]) -> tuple[bool, ...]:
        """Which of the values are batched."""
        return tuple(v in self.batched for v in values)

    def _node(self, node: Node) -> None:
        drawn = not self.batch.shares_draws and self.batch.draws.node(node, self.source)
        if not drawn and not any(self.which(node.inputs)):
            copy_node(node, self.b.graph, self.env)
            return
        with stamped(self.b, node):
            if "control" in node.op.traits and node.op is not control_flow.HOST_CALL:
                results, outs = CONTROL_RULES[node.op](self, node)
            else:
                results, outs = self._ordinary(node)
        for old, new, is_batched in zip(node.outputs, results, outs):
            self.env[old] = self.b.lift(new)
            self.env[old].name = self.env[old].name or old.name
            if is_batched:
                self.batched.add(old)

    def _ordinary(self, node: Node) -> tuple[Sequence[Any], Sequence[bool]]:
        inputs, which = [self.there(v) for v in node.inputs], self.which(node.inputs)
        op = node.op
        if op.batch is not None:
            return _listed(op.batch(self.size, inputs, which, **node.attrs))
        if "random" in op.traits and not any(which):
            return _drawn(node, inputs, self.size)
        found = None if op is control_flow.HOST_CALL else by_labels(node, inputs, which, self.size)
        if found is None and "axis" in node.attrs:
            found = by_axis(node, [self.spread(v) for v in node.inputs], self.size)
        return by_scan(self, node) if found is None else _listed((found, (True,) * len(node.outputs)))


def _listed(answer: tuple[Any, Any]) -> tuple[Sequence[Any], Sequence[bool]]:
    results, outs = answer
    results = results if isinstance(results, (tuple, list)) else (results,)
    outs = outs if isinstance(outs, (tuple, list)) else (outs,) * len(results)
    return results, outs


def _drawn(node: Node, inputs: list[Any], size: int) -> tuple[Sequence[Any], Sequence[bool]]:
    """One draw of all lanes, where the op can draw any shape."""
    if "shape" not in node.attrs:
        text = f"vmap: all lanes share one draw of {node.op.name}; give it a key per lane for different ones."
        events.notice(text, key=f"vmap:draw:{node.op.name}")
        return _listed((node.op(*inputs, **node.attrs), False))
    result = node.op(*inputs, **{**node.attrs, "shape": (size, *node.attrs["shape"])})
    return _listed((result, True))


# ---- rules that follow from the record ----


def label_parts(op: Op, types: Sequence[Type], attrs: dict[str, Any]) -> tuple[list[str], list[str]] | None:
    """The labels of inputs and results, or None where the record has none."""
    text = op.axes(types, attrs) if callable(op.axes) else op.axes
    if not text or "->" not in text:
        return None
    left, right = text.split("->")
    ins = [part.strip() for part in left.split(",")]
    if op.variadic and len(ins) < len(types):
        ins += [ins[-1]] * (len(types) - len(ins))
    return ins, [part.strip() for part in right.split(",")]


def by_labels(node: Node, inputs: list[Any], which: Sequence[bool], size: int) -> Any:
    """The op on one more leading axis, or None where its labels do not allow that."""
    if _COUNT_AXES & node.attrs.keys():
        return None
    parts = label_parts(node.op, [v.type for v in node.inputs], node.attrs)
    if parts is None or len(parts[0]) != len(inputs):
        return None
    ins, outs = parts
    if not all(p.startswith("...") for p in outs):
        return None
    if not all(p.startswith("...") for p, w in zip(ins, which) if w):
        return None
    leading = [_leading(v.type, p) for v, p in zip(node.inputs, ins)]
    most = max(leading)
    return node.op(*[_aligned(x, most - have) if w else x for x, have, w in zip(inputs, leading, which)], **node.attrs)


def _leading(t: Type, labels: str) -> int:
    """How many axes of an operand the dots stand for."""
    assert isinstance(t, TensorType)
    return t.ndim - (len(labels.split()) - 1) if labels.startswith("...") else 0


def _aligned(x: Any, missing: int) -> Any:
    return find("expand_dims")(x, axis=tuple(range(1, missing + 1))) if missing else x


def by_axis(node: Node, inputs: list[Any], size: int) -> Any:
    """The op with its ``axis`` one up, if the result types say that this is the batched op."""
    ranks = {v.type.ndim for v in node.inputs if isinstance(v.type, TensorType)}
    if len(ranks) != 1:
        return None
    axis = node.attrs["axis"]
    found = _if_it_fits(node, inputs, {**node.attrs, "axis": _moved(axis, ranks.pop())}, size)
    if found is None and axis is None and all(x._type.is_static for x in inputs):
        flat = [find("reshape")(x, shape=(size, x.size // size if size else 0)) for x in inputs]
        found = _if_it_fits(node, flat, {**node.attrs, "axis": 1}, size)
    return found


def _if_it_fits(node: Node, inputs: list[Any], attrs: dict[str, Any], size: int) -> Any:
    try:
        types = node.op.result_types(tuple(x._type for x in inputs), attrs)
    except MsnbError:
        return None
    fits = types == tuple(with_axis(v.type, size) for v in node.outputs)
    return node.op(*inputs, **attrs) if fits else None


def _moved(axis: Any, ndim: int) -> Any:
    if axis is None or axis == ():
        return tuple(range(1, ndim + 1))
    if isinstance(axis, tuple):
        return tuple(a % ndim + 1 for a in axis)
    return axis % ndim + 1 if ndim else axis


def by_scan(lanes: BatchedValues, node: Node) -> tuple[Sequence[Any], Sequence[bool]]:
    """The op lane by lane."""
    for v in node.outputs:
        if not isinstance(v.type, TensorType) or not v.type.is_static:
            raise MsnbError(
                f"vmap: {node.op.name} gives a {v.type}, whose size would differ from lane to lane.",
                hint="give the result a fixed size (a mask instead of a selection).",
            )
    events.notice(f"vmap runs {node.op.name} lane by lane: it has no batch rule.", key=f"vmap:{node.op.name}")
    which = lanes.which(node.inputs)
    xs, same = [[v for v, w in zip(node.inputs, which) if w is side] for side in (True, False)]
    b = GraphBuilder(f"{node.op.name}_lane", lanes.source.module)
    env = {v: b.graph.add_param(v.type, f"x{i}") for i, v in enumerate(dict.fromkeys([*xs, *same]))}
    xs, same = list(dict.fromkeys(xs)), list(dict.fromkeys(same))
    copy_node(node, b.graph, env)
    b.graph.outputs = [env[v] for v in node.outputs]
    found = control_flow.scan(lanes.b, b.graph, [], [*map(lanes.there, xs)], [*map(lanes.there, same)], lanes.size)
    return found, (True,) * len(found)
