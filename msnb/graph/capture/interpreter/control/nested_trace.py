"""A function inside a captured program as a graph of its own: what grad, vjp, jvp and vmap transform.

    traced = engine.trace(fn, inputs)     graph: params inputs + outer values it reads; outputs: results + writes
    ... transform traced.graph, replay it into the engine ...
    engine.assign(target, new)            for every target in traced.writes: state gets the transformed program's values

Writes to attributes and containers inside ``fn`` are made again in the surrounding program at once; the tensors in
them are holders that get their values by those assignments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.core import Tensor, Type, pytree
from msnb.graph.capture.interpreter import program_errors, writes
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.capture_session import stack
from msnb.graph.capture.interpreter.control.branch import Body, Handle
from msnb.graph.capture.values.branch_merge import is_tensor, parts_of
from msnb.graph.capture.values.function_choice import FunctionChoice, tensors_of
from msnb.graph.capture.values.mutation_journal import MISSING, Change, TensorPlace
from msnb.ir.builder import ClosedFunction, Lane, SymbolicTensor
from msnb.ir.control_flow import replay
from msnb.ir.graph import Value


def trace(
    engine: Capture, fn: Any, inputs: Sequence[Tensor], types: Sequence[Type] | None, lane: Lane | None
) -> ClosedFunction:
    """See ``GraphBuilder.trace``. An error of ``fn`` ends the surrounding program in its place: what the graph did
    before it and the values that its text names become a part of that program, of its first lane under vmap."""
    own = [engine.lift(x).type for x in inputs] if types is None else list(types)
    handle, depth = Handle(), len(stack.items)
    handle.decides = False
    handle.start(engine)
    level = len(engine.session.journal.levels)
    body = handle.body = Body(engine, getattr(fn, "__name__", "fn"))
    try:
        params = [body.builder.param(t, f"x{i}") for i, t in enumerate(own)]
        _note_inputs(engine, params, inputs if types is None else ())
        leaves, shape = pytree.flatten(engine.given(fn(*params)))
        body.builder.output(*(x for x in leaves if isinstance(x, Tensor)))
        body.close()
    except BaseException as error:
        handle.abandon()
        engine.session.journal.unwind(level)
        del stack.items[depth:]
        if isinstance(error, Exception) and program_errors.ends_trace(body.builder, error):
            first = list(inputs) if types is None else [] if lane is None else lane()
            if len(first) == len(inputs):
                replay(body.builder.graph, [*first, *(t for t, _ in body.builder.captured)])
                engine.session.statements.raised = error
        raise
    finally:
        handle.finish()
    made = ClosedFunction(body.builder.graph, (), shape, leaves)
    carried: dict[int, Any] = {}
    for change in body.changes.values():
        made.writes += _written(engine, body.builder, change, carried)
    made.write_inputs(inputs, params)
    made.outer = [t for t, _ in body.builder.captured]
    return made


def _note_inputs(engine: Capture, params: Sequence[Any], inputs: Sequence[Any]) -> None:
    """What the params stand for, where a function is given its inputs as they are."""
    engine.session.stands_for.update({p._value: engine.lift(x) for p, x in zip(params, inputs)})


def _written(engine: Capture, body: Capture, change: Change, carried: dict[int, Any]) -> list[Tensor]:
    """Targets for the tensors that a write left; their values become outputs of the body. ``carried``: what was made
    outside of the body for the objects in it, so that one object stays one."""
    if isinstance(change.place, TensorPlace):
        if change.place.tensor._builder.graph is body.graph:
            return []  # a tensor that the function made itself: nobody outside has it
        body.output(change.after)
        return [change.place.tensor]
    if change.after is MISSING:
        writes.erase(change)
        return []
    targets: list[Tensor] = []

    def carry(value: Any) -> Any:
        if engine.session.objects.source_of(value) is not None:
            return value  # what lies outside stays the object that it is
        if id(value) not in carried:
            carried[id(value)] = value, made(value)
        return carried[id(value)][1]

    def made(value: Any) -> Any:
        parts, make, _ = parts_of(value)
        if make is not None:
            return make(list(map(carry, parts)))
        if isinstance(value, FunctionChoice):
            return type(value)(list(map(carry, value.options)), carry(value.index))
        if tensors := tensors_of(value):
            return value.with_tensors({key: carry(tensor) for key, tensor in tensors.items()})
        if is_tensor(value) and isinstance(value, SymbolicTensor) and value._builder.graph is body.graph:
            body.output(value)
            targets.append(_holder(engine, value))
            return targets[-1]
        own = engine.session.states.own.get(id(value))
        if own is not None and own.current._builder.graph is body.graph:  # a Parameter that the function made
            own.current = made(own.current)
            own.first, own.builder = own.current._value, engine
        return value

    writes.store(change.place, carry(change.after))
    return targets


def _holder(engine: Capture, like: SymbolicTensor) -> SymbolicTensor:
    """A tensor of the engine that will be assigned its value; what stands for a Python number goes on doing so."""
    holder, pythonic = engine.wrap(Value(like._value.type, None, 0, "later")), engine.session.pythonic
    return pythonic.mark(holder) if pythonic.has(like) else holder
