"""over_rows: a function run once per row of stacked arguments, several steps in one program.

    over_rows(step, (xs, ys))       xs [n, ...], ys [n, ...]      results stacked along axis 0

capturing   one Scan whose body is the step: the state that the step writes is carried from turn to turn, what it only
            reads is handed to every turn
eagerly     a loop
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.base.errors import CaptureError
from msnb.core import pytree
from msnb.core.engine import slot
from msnb.core.tensor import Tensor
from msnb.core.types import TensorType, tensor_type
from msnb.ir import control_flow
from msnb.ir.builder import ClosedFunction
from msnb.ir.graph import Graph, Value
from msnb.ops.shape.concat_split import stack

Fn = Callable[..., Any]


class NotAScan(CaptureError):
    """What the function does per row cannot be said once for all rows."""


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
