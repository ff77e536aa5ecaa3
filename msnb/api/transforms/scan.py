"""Loops over the rows of tensors that stay loops.

    scan(step, carry, xs, same)     step(carry..., row of each x, same...) -> (carry..., row of each y)
                                    a pure step that is given all it reads
    over_rows(step, (xs, ys))       xs [n, ...], ys [n, ...]      results stacked along axis 0
                                    a step that may read and assign Parameters: these are carried from turn to turn

While a graph is built, both are one Scan whose body is the step: its code does not grow with the turns. Eagerly they
are loops in Python; ``core.engine.whole_loop`` makes a program of a function with a ``scan`` in it there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.base import CaptureError, ShapeError
from msnb.core import EngineRestore, Tensor, TensorType, pytree, slot, tensor_type
from msnb.eager.autocast import wear, worn_by
from msnb.ir import ClosedFunction, Graph, GraphBuilder, Value, control_flow
from msnb.ops.definition.record import find
from msnb.ops.shape.concat_split import stack

Fn = Callable[..., Any]


class NotAScan(CaptureError):
    """What the function does per row cannot be said once for all rows."""


def scan(
    step: Fn, carry: Sequence[Any], xs: Sequence[Any], same: Sequence[Any] = (), reverse: bool = False
) -> tuple[Any, ...]:
    """Run ``step`` once per row, carrying values along.

    Args:
        step: a pure function ``step(carry..., row..., same...) -> (carry..., y...)``: tensors in, a tuple of tensors
            out. A carried value keeps its shape; it takes the dtype that the step gives it.
        carry: the first values of what is carried.
        xs: tensors [T, ...] of one length, handed to the step row by row; at least one.
        same: tensors that every turn is handed as they are.
        reverse: begin at the last row. Rows of the results stay in the places of the rows they were made of.

    Returns:
        The last carried values, then every y stacked along axis 0: [T, ...].

    Raises:
        ShapeError: the step gives a carried value another shape.
    """
    engine = slot.engine
    if isinstance(engine, GraphBuilder):
        return _scan_node(engine, step, carry, xs, same, reverse)
    n, length = len(carry), xs[0].shape[0]
    if length == 0:  # what a step would give must be known all the same
        with EngineRestore(), GraphBuilder("rows") as b:
            first = [b.param(x._type, "x") for x in (*carry, *xs, *same)]
            types = [
                x._type for x in _scan_node(b, step, first[:n], first[n : n + len(xs)], first[n + len(xs) :], False)
            ]
        return (*carry, *(find("zeros")(shape=t.shape, dtype=t.dtype) for t in types[n:]))
    rows: list[Any] = [()] * length
    for t in range(length - 1, -1, -1) if reverse else range(length):
        found = step(*carry, *(x[t] for x in xs), *same)
        carry, rows[t] = found[:n], found[n:]
    return (*carry, *(stack(list(column), axis=0) for column in zip(*rows)))


def _scan_node(
    engine: GraphBuilder, step: Fn, carry: Sequence[Any], xs: Sequence[Any], same: Sequence[Any], reverse: bool
) -> tuple[Any, ...]:
    """The Scan, its carried values in the dtypes in which the step leaves them."""
    n, cast = len(carry), find("cast")
    first: list[Any] = list(carry)
    while True:
        types = [x._type for x in first] + [_row(x._type) for x in xs] + [x._type for x in same]
        body = _body_of(engine)
        body.origin = engine.origin if engine.origin is not None else engine.locate()
        with body:
            body.output(*step(*(body.param(t, "") for t in types)))
        left: list[Any] = [v.type for v in body.graph.outputs[:n]]
        wrong = next((k for k in range(n) if left[k].shape != first[k].shape), None)
        if wrong is not None:
            raise ShapeError(
                "a scan carries a value whose shape the step changes.",
                operands=[f"before: {first[wrong]._type!r}", f"after: {left[wrong]!r}"],
                hint="give it its final shape before the loop.",
            )
        if all(t is x._type for t, x in zip(left, first)):
            break
        first = [x if t is x._type else cast(x, dtype=t.dtype) for t, x in zip(left, first)]
    outer = [x for x, _ in body.captured]
    return control_flow.scan(engine, body.graph, first, xs, [*same, *outer], xs[0].shape[0], reverse)


def _body_of(engine: Any) -> GraphBuilder:
    """A builder for the step, in the precision that is asked for around it."""
    if hasattr(engine, "session"):
        inner: GraphBuilder = engine.body("step")
        return inner
    made: GraphBuilder = wear(GraphBuilder("step", parent=engine), worn_by(engine))
    return made


def over_rows(fn: Fn, columns: Sequence[Any]) -> Any:
    """``fn(*row)`` for every row, in order.

    Args:
        fn: a function of tensors; it may assign Parameters.
        columns: tensors of one length [n, ...], n >= 1.

    Returns:
        The result of ``fn`` with every tensor stacked: [n, ...].

    Raises:
        NotAScan: while it is captured, ``fn`` changes Python objects or keeps a new tensor in one.
    """
    if hasattr(slot.engine, "session"):
        return _scanned(slot.engine, fn, columns)
    rows = [pytree.flatten(fn(*(c[i] for c in columns))) for i in range(columns[0].shape[0])]
    leaves = [
        stack(list(column)) if isinstance(column[0], Tensor) else column[-1] for column in zip(*(r for r, _ in rows))
    ]
    return pytree.unflatten(rows[0][1], leaves)


def _scanned(engine: Any, fn: Fn, columns: Sequence[Any]) -> Any:
    logged = len(engine.session.journal.log)
    xs = [engine.wrap(engine.lift(c)) for c in columns]
    traced = engine.trace(engine.convert(fn), xs, [_row(x._type) for x in xs]).keep_inputs()
    if len(engine.session.journal.log) > logged:
        raise NotAScan("the function changes a Python object in every step: steps run one per call.")
    carried = _carried(engine, traced)
    first, rest = _body(engine, traced, len(xs), carried)
    length = int(xs[0].shape[0])
    outs = control_flow.scan(engine, traced.graph, [engine.wrap(v) for v in first], xs, rest, length)
    for target, new in zip(traced.writes, outs):
        engine.assign(target, new)
    return traced.rebuild(outs[len(first) :])


def _row(t: TensorType) -> TensorType:
    return tensor_type(t.shape[1:], t.dtype)


def _carried(engine: Any, traced: ClosedFunction) -> list[Value]:
    """The values that the written state has before the first row."""
    found = []
    for target in traced.writes:
        value = engine.lift(target)
        if value.node is None and value not in engine.graph.params:
            raise NotAScan("the function keeps a new tensor in a Python object: steps run one per call.")
        found.append(value)
    return found


def _body(engine: Any, traced: ClosedFunction, n_xs: int, carried: list[Value]) -> tuple[list[Value], list[Any]]:
    """Put the params and outputs of the traced graph into the order of a Scan's body: carry, rows, the rest.

    Returns:
        The first values of the carry, and the outer values of the rest.
    """
    graph: Graph = traced.graph
    outer = {engine.lift(t): p for t, p in zip(traced.outer, graph.params[n_xs:])}
    rows = graph.params[:n_xs]
    carry = [outer.pop(v) if v in outer else graph.add_param(v.type, v.name or "state") for v in carried]
    graph.params[:] = [*carry, *rows, *outer.values()]
    for i, p in enumerate(graph.params):
        p.index = i
    n = traced.n_results
    graph.outputs[:] = [*graph.outputs[n:], *graph.outputs[:n]]
    return carried, [engine.wrap(v) for v in outer]
