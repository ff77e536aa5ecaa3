"""The gradient of a tape on real tensors, line by line from its end: for a structure that may never come again.

    line     y = x @ w                     no program is made, nothing but the types is inferred
    rule     dx = dy @ w.T, dw = x.T @ dy  and dx never runs where nothing watched leads to x

A backward program takes about a millisecond per line to make, and pays in the calls that follow. Sentences, episodes
and trees differ from one call to the next; for them the program would be made for one use.

A rule gives the gradients of all operands of its op. While it runs, ops are deferred: they have types, and are
computed when somebody asks for a gradient that depends on them. Kinds of lines that come again, the steps of an episode
say, get a program for the line (``LineProgram``): a list of kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.autodiff.dead_nodes import prune
from msnb.autodiff.gradient_rules import fit, gradient_type, need_gradient_type, rule_answer, zeros
from msnb.base import op_listeners, reraise_interrupt
from msnb.core import Engine, EngineRestore, PlainReads, Tensor, TensorType, make, slot, using
from msnb.core.tensor import made
from msnb.eager.autocast import worn_by
from msnb.eager.dispatch import DispatchEntry, EagerEngine, as_operand, eager, type_of
from msnb.eager.kernel_list import kernels_of
from msnb.eager.tape import UNTRACKED, CallLines, Line, OpLine, Tape
from msnb.ir import GraphBuilder, HostFn
from msnb.ops.definition import Op, as_tensor, find

OFTEN = 2
"""Times that the rule of a kind of line runs in Python, until it is worth a program of its own."""


def is_unwatched(recorder: Tape) -> bool:
    """Whether nobody notes, times or changes what the gradient of a tape does."""
    return (
        not (recorder.depth or op_listeners) and isinstance(slot.engine, EagerEngine) and worn_by(slot.engine) is None
    )


def has_backward_pass(recorder: Tape) -> bool:
    """Whether the lines of a tape can be swept one by one: nobody notes or times what is done, no line is a loop, and
    all sizes are known."""
    if not is_unwatched(recorder):
        return False
    return all(gradient_type(t) is not None for t in recorder.watched) and all(
        "control" not in entry.op.traits and all(getattr(t, "is_static", True) for t in entry.types)
        for entry in {line[0] for line in recorder.lines}
        if not isinstance(entry, CallLines)  # of sizes that are known, and no control flow
    )


def backward_pass(recorder: Tape, outputs: Sequence[int], wanted: Sequence[int], douts: Sequence[Tensor]) -> list[Any]:
    """Gradients of ``sum(dout * output)`` with respect to watched values; zeros where nothing flows.

    Args:
        recorder: a finished tape.
        outputs: numbers of the outputs; douts: one tensor for each, of its type.
        wanted: numbers of the watched values asked for.
    """
    cotangents: dict[int, Any] = {}
    outer = slot.engine
    with EngineRestore(), using(eager):
        for number, dout in zip(outputs, douts):
            _add(cotangents, number, dout._type, dout._data)
        for line, saved in zip(reversed(recorder.lines), reversed(recorder.saved)):
            _sweep(cotangents, line, saved, outer)
        found = ((_wrapped(cotangents.get(n), t), t) for n, t in ((n, recorder.watched[n]) for n in wanted))
        return [zeros(t) if g is None else g for g, t in found]


def _sweep(cotangents: dict[int, Any], line: Line, saved: Sequence[Any], outer: Engine) -> None:
    """Send what came to the results of a line on to its operands."""
    entry, numbers, first = line
    results = entry.results
    if len(results) == 1:
        given = [cotangents.pop(first + results[0], None)]
    else:
        given = [cotangents.pop(first + k, None) for k in results]
    if given[0] is None and (len(given) == 1 or all(d is None for d in given)):
        return
    program = _program(entry, numbers, given)
    if program is not None and program.run(cotangents, numbers, saved, given):
        return
    if not isinstance(entry, CallLines):
        _add_by_rule(cotangents, line, saved, given, outer)
        return
    cotangents.update((first + k, d) for k, d in zip(entry.results, given) if d is not None)
    for each, span in zip(reversed(entry.expanded(numbers, first)), reversed(entry.spans())):
        _sweep(cotangents, each, saved[span], outer)


def _add_by_rule(cotangents: dict[int, Any], line: Any, saved: Sequence[Any], given: list[Any], outer: Engine) -> None:
    entry, numbers, _ = line
    pulled = _pull(line, saved, [_wrapped(d, t) for d, t in zip(given, entry.types)], outer)
    for number, t, g in zip(numbers, entry.operand_types, pulled):
        if g is not None:
            fitted = fit(g, t)
            _add(cotangents, number, fitted._type, fitted._data)


def _wrapped(d: Any, t: Any) -> Tensor | None:
    if d is None:
        return None
    want: Any = need_gradient_type(t)
    return make(d, want)


def _add(cotangents: dict[int, Any], number: int, t: Any, g: Any) -> None:
    """Add a cotangent, a buffer of type ``t``."""
    before = cotangents.get(number)
    if before is not None:
        entry = _SUM.fast.get(t)
        g = eager.pair(_SUM, make(before, t), make(g, t))._data if entry is None else entry.kernel(before, g)
    cotangents[number] = g


_SUM = find("add")
_TRACKED = UNTRACKED.__lt__


def _program(entry: DispatchEntry | CallLines, numbers: Sequence[int], douts: list[Any]) -> LineProgram | None:
    """The rule of a line as a program, from the third time on that a line of its kind is met."""
    kind: Any = tuple(map(_TRACKED, numbers))
    if len(douts) > 1:
        kind = kind, tuple([d is not None for d in douts])
    known = entry.rules.get(kind, 0)
    if known.__class__ is LineProgram:
        return known
    if known == OFTEN and (isinstance(entry, CallLines) or not entry.op.traits & {"host", "custom"}):
        count = len(numbers)
        own = tuple([k if n >= 0 else UNTRACKED for k, n in enumerate(numbers)])
        lines = entry.lines if isinstance(entry, CallLines) else [(entry, own, count)]
        came = [count + k for k, d in zip(entry.results, douts) if d is not None]
        entry.rules[kind] = made_now = LineProgram(lines, count, came)
        return made_now
    entry.rules[kind] = min(known + 1, OFTEN)
    return None


class LineProgram:
    """What lines of one kind send back to their operands: saved buffers and cotangents in, buffers out.

    Args:
        lines: one, or those of a call; operands are numbered from 0 on, then results.
        count: how many operands there are.
        came: the numbers of the results that have a cotangent.
    """

    def __init__(self, lines: Sequence[OpLine], count: int, came: list[int]) -> None:
        types = [t for entry, _, _ in lines for t in entry.types]
        with EngineRestore(), GraphBuilder(lines[-1][0].op.name) as b:
            entered = [_operands(entry, lambda t: b.param(t, "")) for entry, _, _ in lines]
            found: list[tuple[int, Any]] = []  # each by itself: the sum has the order of a sweep of single lines
            sent = {n: b.param(need_gradient_type(types[n - count]), "") for n in came}
            for (entry, numbers, first), (inputs, outs) in zip(reversed(lines), reversed(entered)):
                douts = [sent.pop(first + k, None) for k in range(len(entry.types))]
                if any(d is not None for d in douts):
                    _ask(b, sent, found, count, (entry, numbers, first), inputs, outs, douts)
            b.output(*(g for _, g in found))
        prune(b.graph)
        self._kernels = kernels_of(b.graph)
        self._flows: list[tuple[int, Any]] = [(n, v.type) for (n, _), v in zip(found, b.graph.outputs)]

    def run(self, cotangents: dict[int, Any], numbers: Sequence[int], saved: Sequence[Any], douts: list[Any]) -> bool:
        """Add what the line sends back; False where a kernel failed: then the rule in Python tells why."""
        try:
            gradients = self._kernels([*saved, *[d for d in douts if d is not None]])
        except Exception as error:
            reraise_interrupt(error)
            return False
        for (at, t), g in zip(self._flows, gradients):
            number = numbers[at]
            before = cotangents.get(number)
            if before is None:
                cotangents[number] = g
            else:
                _add(cotangents, number, t, g)
        return True


def _ask(
    b: GraphBuilder, sent: dict[int, Any], found: list[tuple[int, Any]], count: int, line: OpLine,
    inputs: Any, outs: Any, douts: Any,
) -> None:  # fmt: skip
    """Add what the rule of a line gives, as nodes: to what is sent to its operands, or ``found`` for those outside."""
    entry, numbers, _ = line
    types = entry.operand_types
    douts = [zeros(t) if d is None and gradient_type(t) is not None else d for d, t in zip(douts, entry.types)]
    answer = rule_answer(entry.op, entry.attrs, types, entry.types, inputs, outs, douts)
    for n, g, t in zip(numbers, answer, types):
        if n >= 0 and g is not None and gradient_type(t) is not None:
            fitted = fit(g if isinstance(g, Tensor) else b.wrap(b.lift(g)), t)
            if n < count:
                found.append((n, fitted))
            else:
                sent[n] = _SUM(sent[n], fitted) if n in sent else fitted


def _pull(line: OpLine, saved: Sequence[Any], douts: list[Any], outer: Engine) -> list[Any]:
    """What a line sends back to its operands, not yet fitted; a callable of the user's runs under ``outer``."""
    entry, numbers, _ = line
    attrs, types = entry.attrs, entry.operand_types
    deferred: Any = DeferredOps()
    slot.engine = deferred if min(numbers) < 0 and "custom" not in entry.op.traits else eager
    if "host" in entry.op.traits:
        attrs, saved = {**attrs, "fn": HostFn(saved[-1], "host")}, saved[:-1]
        slot.engine = outer
    left = iter(saved)
    inputs, outs = _operands(entry, lambda t: _tensor(next(left), t))
    douts = [zeros(t) if d is None and gradient_type(t) is not None else d for d, t in zip(douts, entry.types)]
    answer = rule_answer(entry.op, attrs, types, entry.types, inputs, outs, douts)
    slot.engine = eager
    flows = (n >= 0 and g is not None and gradient_type(t) is not None for n, t, g in zip(numbers, types, answer))
    return [deferred.value(as_tensor(g)) if flow else None for flow, g in zip(flows, answer)]


def _operands(entry: DispatchEntry, enter: Callable[[Any], Any]) -> tuple[list[Any], list[Any]]:
    """Operands and results of a line, in the order in which they are saved; None for those that its rule does not
    read."""
    assert entry.keep is not None
    kept, keep_outs = entry.keep
    inputs: list[Any] = [None] * len(entry.operand_types)
    for k in kept:
        inputs[k] = enter(entry.operand_types[k])
    return inputs, [enter(t) if keep_outs else None for t in entry.types]


def _tensor(buffer: Any, t: Any) -> Tensor:
    return make(buffer, t) if isinstance(t, TensorType) and t.weak else made(buffer, t)


class DeferredOps(PlainReads):
    """An engine whose ops wait until ``value`` asks for what they give."""

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[Op, list[Any], dict[str, Any], list[Tensor]]] = {}

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """The results of ``op``, their types only."""
        operands = [x if isinstance(x, Tensor) else as_operand(op, inputs, i) for i, x in enumerate(inputs)]
        types: Any = op.result_types(tuple(map(type_of, operands)), attrs)
        outs = [make(None, t) for t in types]
        for out in outs:
            self._waiting[id(out)] = op, operands, attrs, outs
        return outs[0] if len(outs) == 1 else tuple(outs)

    def value(self, x: Tensor) -> Tensor:
        """The tensor, computed."""
        step = self._waiting.pop(id(x), None)
        if step is None:
            return x
        op, operands, attrs, outs = step
        found = eager.apply(op, tuple(self.value(v) if isinstance(v, Tensor) else v for v in operands), attrs)
        for out, result in zip(outs, found if isinstance(found, tuple) else (found,)):
            out._data, out._type = result._data, result._type
            self._waiting.pop(id(out), None)
        return x
