"""Gradients by integer params: the proof that lets one be called zero, and the extension that has one.

    loss = take(table, ids) ...        ids only choose: the loss is constant between integers, and no number lies there
    loss = ids * w ...                 ids is a quantity: to call its gradient zero would be wrong

An operand that must be an integer (its op refuses floats in that place) chooses. A comparison gives a bool, which is a
step: constant almost everywhere. Integers made of integers are followed. Everything else counts as a quantity.

MindSpore differentiates by integers where they are quantities: by the same program on the reals (``extend``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msnb.autodiff.reverse_control_flow import is_recursive
from msnb.autodiff.reverse_mode import stamped
from msnb.base import MsnbError
from msnb.core import DType, TensorType, Type, bool_, float32, float64, int64
from msnb.ir import CUSTOM_GRADIENT, WITH_VJP, Graph, GraphBuilder, Node, Value, control_flow, copy_node
from msnb.ops.definition.record import Op, find


def quantity(graph: Graph, params: Iterable[int], outputs: Iterable[int]) -> str | None:
    """Where an integer param is computed with as with a number, so that a gradient could flow; None where the params
    only choose.

    Args:
        graph: the program, gradients written out.
        params: positions of integer params; outputs: of what is differentiated.

    Returns:
        The name of the operation, or "result" where an integer made of the params is differentiated itself.
    """
    search = _Search(graph, [graph.params[i] for i in params])
    found = search.run()
    if found is None and any(graph.outputs[i] in search.of for i in outputs):
        return "result"
    return None if found is None else found.op.name


class _Search:
    """One graph with the integers that come from the params asked about."""

    def __init__(self, graph: Graph, of: Iterable[Value]) -> None:
        self.graph, self.of = graph, {v for v in of if not _is_bool(v)}

    def run(self) -> Node | None:
        """Follow the integers."""
        for node in self.graph.nodes:
            if not any(v in self.of for v in node.inputs):
                continue
            found = self._node(node)
            if found is not None:
                return found
        return None

    def _node(self, node: Node) -> Node | None:
        discrete = all(not _is_float(v) for v in node.outputs)
        if discrete:
            self.of.update(v for v in node.outputs if not _is_bool(v))
            return None
        if node.op is control_flow.CALL:
            return self._inside(self.graph.module.graphs[node.attrs["callee"]], node, list(node.inputs))
        if node.op is control_flow.IF:
            found = [self._inside(g, node, list(node.inputs[1:])) for g in node.graphs]
            return next((n for n in found if n is not None), None)
        chooses = all(must_be_integer(node, i) for i, v in enumerate(node.inputs) if v in self.of)
        return None if chooses else node

    def _inside(self, graph: Graph, node: Node, inputs: list[Value]) -> Node | None:
        search = _Search(graph, [p for p, v in zip(graph.params, inputs) if v in self.of])
        found = search.run()
        self.of.update(v for v, out in zip(node.outputs, graph.outputs) if out in search.of)
        return found


def must_be_integer(node: Node, at: int) -> bool:
    """Does the op refuse a float in this place?"""
    if node.op.traits & {"control", "host", "custom"}:
        return False
    types = [v.type for v in node.inputs]
    t = types[at]
    assert isinstance(t, TensorType)
    types[at] = t.with_dtype(float32)
    try:
        node.op.result_types(tuple(types), node.attrs)
    except MsnbError:
        return True
    return False


def _is_float(value: Value) -> bool:
    return not isinstance(value.type, TensorType) or value.type.dtype.differentiable


def _is_bool(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype is bool_


# ---- the extension to the reals ----

Flags = tuple[bool, ...]


def extend(graph: Graph, params: Iterable[int], outputs: Iterable[int]) -> tuple[Graph, list[int]]:
    """The program with integer params as real numbers, so that it has a gradient by them, as MindSpore computes one.

    Args:
        graph: the program, gradients written out; it is not changed.
        params: positions of integer params.
        outputs: positions of the integer outputs that will be differentiated.

    Returns:
        A graph that takes float64 in place of those params, and gives the same outputs in the same dtypes, then a
        float64 twin of each output asked for that depends on them; and the positions of these outputs. What must be
        an integer (an index) is made one again, and passes no gradient on. Integers beyond 2**53 are rounded.

    Examples:
        >>> from msnb.core.types import tensor_type
        >>> from msnb.core.dtypes import int32
        >>> from msnb.ir.builder import build
        >>> square = build("square", [tensor_type((), int32)], lambda x: x * x)
        >>> real, twins = extend(square, [0], [0])
        >>> [v.type for v in real.outputs], twins
        ([i32[], f64[]], [0])
    """
    chosen = set(params)
    which = tuple(i in chosen for i in range(len(graph.params)))
    return _Extension().program(graph, which, outputs)


class _Extension:
    """One run of the transform."""

    def __init__(self) -> None:
        self.callees: dict[tuple[Graph, Flags], tuple[str, Flags]] = {}

    def program(self, graph: Graph, which: Flags, outputs: Iterable[int]) -> tuple[Graph, list[int]]:
        """The whole program, with the twins of outputs."""
        b = GraphBuilder(f"{graph.name}_real", graph.module)
        with b:
            values = _RealValues(self, b, graph)
            values.follow(which)
            twins = [i for i in outputs if graph.outputs[i] in values.real]
            b.output(*map(values.restored, graph.outputs), *(values.there(graph.outputs[i]) for i in twins))
        b.graph.state = dict(graph.state)
        return b.graph, twins

    def body(self, graph: Graph, which: Flags, wanted: Flags | None = None) -> tuple[Graph, Flags]:
        """A body; its results are real where ``wanted`` says so, or where they become so."""
        return self.into(GraphBuilder(f"{graph.name}_real", graph.module), graph, which, wanted)

    def into(self, b: GraphBuilder, graph: Graph, which: Flags, wanted: Flags | None) -> tuple[Graph, Flags]:
        """The same, appended to a builder whose graph may be known by name already."""
        with b:
            values = _RealValues(self, b, graph)
            values.follow(which)
            outs = values.which(graph.outputs) if wanted is None else wanted
            b.output(*(values.as_real(v) if r else values.restored(v) for v, r in zip(graph.outputs, outs)))
        b.graph.state = dict(graph.state)
        return b.graph, outs


class _RealValues:
    """The transform of one graph: ``env`` maps values to new ones, ``real`` holds integers that became reals,
    ``floats`` what was computed of them in floats: made an integer again, as a first gradient is, it stays real."""

    def __init__(self, extension: _Extension, b: GraphBuilder, graph: Graph) -> None:
        self.extension, self.b, self.source = extension, b, graph
        self.env: dict[Value, Value] = {}
        self.real: set[Value] = set()
        self.floats: set[Value] = set()

    def follow(self, which: Flags) -> None:
        """Append all nodes."""
        for p, is_real in zip(self.source.params, which):
            self.env[p] = self.b.graph.add_param(_real(p.type) if is_real else p.type, p.name)
            if is_real:
                self.real.add(p)
        for node in self.source.nodes:
            if not self._changes(node):
                copy_node(node, self.b.graph, self.env)
                continue
            with stamped(self.b, node):
                results, outs = _CONTROL.get(node.op, _ordinary)(self, node)
                for old, new, is_real in zip(node.outputs, results, outs):
                    self.env[old] = self.b.lift(new if is_real else _settled(new, old.type))
                    if is_real:
                        self.real.add(old)

    def _changes(self, node: Node) -> bool:
        """Has the node an operand that became real, or does it make an integer of a float computed of one?"""
        real = any(v in self.real for v in node.inputs)
        if real or any(v in self.floats for v in node.inputs):
            self.floats.update(filter(_is_float, node.outputs))
            return real or any(_names_integers(node, a) for a in node.attrs.values())
        return False

    def which(self, values: Sequence[Value]) -> Flags:
        """Which of the values are real now."""
        return tuple(v in self.real for v in values)

    def there(self, value: Value) -> Any:
        """A value in the new graph, as it is there."""
        return self.b.wrap(self.env[value])

    def restored(self, value: Value) -> Any:
        """The same in the dtype that it has in the given graph."""
        return _settled(self.there(value), value.type)

    def as_real(self, value: Value) -> Any:
        """The same as a real number, whether it was one or not."""
        return _settled(self.there(value), _real(value.type))

    def given(self, values: Sequence[Value], which: Flags) -> list[Any]:
        """Values, real where ``which`` says so."""
        return [self.as_real(v) if r else self.restored(v) for v, r in zip(values, which)]


def _real(t: Type) -> Type:
    return t.with_dtype(float64) if isinstance(t, TensorType) else t


def to_integer(x: Any, dtype: DType) -> Any:
    """A real cut off to an integer; one beyond the dtype's range wraps around, as integers do. A bool: is it any?"""
    if dtype is bool_:
        return find("cast")(x, dtype=bool_)
    return find("cast")(find("cast")(x, dtype=int64), dtype=dtype)


def _settled(x: Any, t: Type) -> Any:
    if not isinstance(t, TensorType) or x._type.dtype is t.dtype:
        return x
    if x._type.dtype.differentiable and t.dtype.is_int:
        return to_integer(x, t.dtype)
    return find("cast")(x, dtype=t.dtype)


def _is_integer(t: Type) -> bool:
    return isinstance(t, TensorType) and not t.dtype.differentiable and t.dtype is not bool_


Real = tuple[Sequence[Any], Flags]


def _ordinary(values: _RealValues, node: Node) -> Real:
    """The op on reals; where it needs integers, on the operands as they were."""
    attrs = {k: float64 if _names_integers(node, a) else a for k, a in node.attrs.items()}
    which = _accepted(values, node, attrs)
    if which is not None:
        found = node.op(*values.given(node.inputs, which), **attrs)
        results = list(found) if isinstance(found, (tuple, list)) else [found]
        return results, tuple(
            _is_integer(v.type) and x._type.dtype.differentiable for v, x in zip(node.outputs, results)
        )
    twin = copy_node(node, values.b.graph, {v: values.b.lift(values.restored(v)) for v in node.inputs})
    return [values.b.wrap(v) for v in twin.outputs], (False,) * len(twin.outputs)


def _accepted(values: _RealValues, node: Node, attrs: dict[str, Any]) -> Flags | None:
    """Which operands the op takes as reals: all integers of one dtype, only those that are real, or as many as it can,
    of which indices are none; None where it takes no real one."""
    if node.op.traits & {"control", "host", "custom", "effect", "random"}:
        return None
    dtypes = {v.type.dtype for v in node.inputs if v in values.real and isinstance(v.type, TensorType)}
    alike = tuple(isinstance(v.type, TensorType) and v.type.dtype in dtypes for v in node.inputs)
    real = values.which(node.inputs)
    for which in itertools.islice(dict.fromkeys((alike, real, *_fewer(alike, real))), _TRIES):
        types = tuple(_real(v.type) if r else v.type for v, r in zip(node.inputs, which))
        try:
            node.op.result_types(types, attrs)
        except MsnbError:
            continue
        return which
    return None


_TRIES = 64


def _fewer(alike: Flags, real: Flags) -> Iterator[Flags]:
    """The choices of fewer operands than ``alike``, the largest first; each has a real one."""
    places = [i for i, a in enumerate(alike) if a]
    for n in range(len(places) - 1, 0, -1):
        for kept in itertools.combinations(places, n):
            if any(real[i] for i in kept):
                yield tuple(i in kept for i in range(len(alike)))


def _names_integers(node: Node, attribute: Any) -> bool:
    """Whether an attribute asks for a result in integers of an op that passes gradients on (``cast``, ``sum``)."""
    return isinstance(attribute, DType) and attribute.is_int and node.op.grad is not None


def _if(values: _RealValues, node: Node) -> Real:
    which = values.which(node.inputs[1:])
    found = [values.extension.body(g, which)[1] for g in node.graphs]
    outs = tuple(x or y for x, y in zip(*found))
    then, other = (values.extension.body(g, which, outs)[0] for g in node.graphs)
    args = values.given(node.inputs[1:], which)
    return control_flow.if_(values.b, values.restored(node.inputs[0]), then, other, args), outs


def _while(values: _RealValues, node: Node) -> Real:
    n, which = node.attrs["n_carry"], values.which(node.inputs)
    carried = which[:n]
    while True:
        turn, outs = values.extension.body(node.graphs[1], carried + which[n:], None)
        outs = tuple(x or y for x, y in zip(outs, carried))
        if outs == carried:
            break
        carried = outs
    which = carried + which[n:]
    turn, _ = values.extension.body(node.graphs[1], which, carried)
    test, _ = values.extension.body(node.graphs[0], which, (False,))
    given = values.given(node.inputs, which)
    return control_flow.while_(values.b, test, turn, given[:n], given[n:]), carried


def _scan(values: _RealValues, node: Node) -> Real:
    n, m = node.attrs["n_carry"], node.attrs["n_xs"]
    which = values.which(node.inputs)
    carried = which[:n]
    while True:
        _, outs = values.extension.body(node.graphs[0], carried + which[n:])
        found = tuple(x or y for x, y in zip(outs[:n], carried))
        if found == carried:
            break
        carried = found
    which, outs = carried + which[n:], carried + outs[n:]
    turn, _ = values.extension.body(node.graphs[0], which, outs)
    given = values.given(node.inputs, which)
    length, reverse = node.attrs["length"], node.attrs["reverse"]
    return control_flow.scan(values.b, turn, given[:n], given[n : n + m], given[n + m :], length, reverse), outs


def _call(values: _RealValues, node: Node) -> Real:
    graph = values.source.module.graphs[node.attrs["callee"]]
    which, known = values.which(node.inputs), values.extension.callees
    if (graph, which) not in known:
        b = GraphBuilder(f"{graph.name}_real", graph.module)
        name = graph.module.add(b.graph)
        wanted = tuple(_is_integer(v.type) for v in graph.outputs) if is_recursive(graph) else None
        if wanted is not None:
            known[graph, which] = (name, wanted)
        known[graph, which] = (name, values.extension.into(b, graph, which, wanted)[1])
    name, outs = known[graph, which]
    types = [_real(v.type) if r else v.type for v, r in zip(node.outputs, outs)]
    inputs = [values.b.lift(x) for x in values.given(node.inputs, which)]
    return values.b.add(control_flow.CALL, inputs, {**node.attrs, "callee": name, "block": None}, types), outs


def _custom(values: _RealValues, node: Node) -> Real:
    """A rule of the program's own sees its inputs, results and their gradients as reals."""
    n_in, n_out = node.attrs["n_in"], node.attrs["n_out"]
    which = values.which(node.inputs[:n_in])
    if not any(which):
        return _ordinary(values, node)
    outs = tuple(_is_integer(v.type) for v in node.outputs)
    flags = (*which, *outs, *(False,) * (len(node.inputs) - n_in - n_out))
    found = node.op(*values.given(node.inputs, flags), **node.attrs)
    return list(found) if isinstance(found, (tuple, list)) else [found], outs


_CONTROL: dict[Op, Callable[[_RealValues, Node], Real]] = {
    CUSTOM_GRADIENT: _custom, WITH_VJP: _custom,
    control_flow.IF: _if, control_flow.WHILE: _while, control_flow.SCAN: _scan, control_flow.CALL: _call,
}  # fmt: skip
