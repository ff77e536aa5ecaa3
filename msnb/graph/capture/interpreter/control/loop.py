"""Loops: plain Python until a tensor decides how often, then a While (or a Scan over a tensor).

    w = rt.While(names, ...)                    more    a new turn: of Python's loop, or another capture of the body
    while w.more(rt.locals()):                  load    the variables must be set from vars() (a capture starts over)
        if w.load: i, x = w.vars()              test    Python's truth; a tensor switches to capturing: False ends this
        if w.enter or w.test(TEST):                     turn, and the next begins the capture
            if w.load: i, x = w.vars()          done    the end of the body: types settled? then append the node
            BODY
            w.done(rt.locals())
    if w.load: i, x = w.vars()                  the results

While TEST has no side effect, it becomes the cond graph. Where it has (a random draw, ``:=``) it is evaluated once
before the loop and again at the end of the body, and its truth is carried along (``enter``: the body comes first).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from msnb.base import CaptureError
from msnb.base.source_location import here
from msnb.core import WEAK, Tensor, TensorType, bool_, result_dtype, slot, tensor_type
from msnb.graph.capture.interpreter import reads, writes
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.control.branch import Body, Handle, align, grab
from msnb.graph.capture.interpreter.control.loop_carry import MAYBE_BEFORE, IdentityFlags, LoopVariable, from_change
from msnb.graph.capture.interpreter.control.symbolic_range import SymbolicRange
from msnb.graph.capture.interpreter.control.truth_value import as_bool, symbolic_test, truth
from msnb.graph.capture.values.branch_merge import Late, UndefinedVariable, flatten, same, type_of
from msnb.graph.capture.values.lazy_values import is_lazy
from msnb.ir import control_flow
from msnb.ops.definition.record import find

if TYPE_CHECKING:
    from msnb.graph.capture.values.python_numbers import PythonNumbers

_TURNS = 12


class LoopCapture(Handle):
    """What both kinds of loop share: the variables, and capturing the body until its types are stable."""

    turns: int

    def __init__(self, names: tuple[str, ...], lines: dict[str, tuple[int, ...]], flag: str, *readers: Any) -> None:
        super().__init__(*readers)
        self.names: tuple[str, ...] = names
        self.lines: dict[str, tuple[int, ...]] = lines
        self.flag: str = flag
        self.load: bool = False
        self.enter: bool = False
        self.phase: str = "python"
        self.values: tuple[Any, ...] = ()
        self.carried: list[LoopVariable] = []
        self.identity: IdentityFlags = IdentityFlags()
        self.turns = 0

    def vars(self) -> tuple[Any, ...]:
        """The variables' values to go on with."""
        self.load = False
        return self.values

    # ---- capturing ----

    def begin_capture(self, engine: Capture, begin: dict[str, Any]) -> None:
        """From here on the body is captured."""
        self.symbolic = True
        self.begin = begin
        self.pythonic: PythonNumbers = engine.session.pythonic
        self._carry(engine, begin)
        self.start(engine)

    def _carry(self, engine: Capture, begin: dict[str, Any]) -> None:
        """Carry the variables that somebody reads after a turn; the others start every turn without a value. What lies
        in a container from outside is read, and guarded: it is carried element by element."""
        self.carried = [
            LoopVariable(n, engine.given(v), max(self.lines[n]), self.pythonic)
            for n, v in begin.items()
            if n in self.lines
        ]

    def _values(self, found: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(found[n] if n in found else UndefinedVariable(n) for n in self.names)

    def open(self, name: str, free_flag: bool, *first: tuple[TensorType, str]) -> tuple[Any, ...]:
        """A builder whose first params are ``first`` and the carried values; sets the variables for the code.

        ``free_flag``: inside the body the break flag is known to be unset.
        """
        self.body: Body = Body(self.outer, name, self.cells)
        builder, values = self.body.builder, {}
        own = tuple(builder.param(t, n) for t, n in first)
        self.placed: dict[Any, Any] = {}
        for c in self.carried:
            value = c.start(builder)
            if c.place is not None:
                self.outer.session.journal.write(c.place, value)
                self.placed[c.place.key] = c.place.get()
            else:
                values[c.label] = False if free_flag and c.label == self.flag else value
        self.identity.start(builder, self.carried, self.outer.session.aliases)
        self.values, self.load = self._values(values), True
        return own

    def settle(self, space: dict[str, Any]) -> bool:
        """The body is done: are all types stable?"""
        assert self.body is not None
        after = grab(self.names, space)
        body = self.body
        body.close()
        stable = True
        changes = dict(body.changes)
        for c in self.carried:
            left = after[c.label] if c.place is None else changes.pop(c.place.key).after
            stable &= c.settle(left, body.builder, body.changes)
        stable &= self.identity.settle(body.builder, self.carried)
        for change in changes.values():
            self.carried.append(from_change(change, self.pythonic))
            stable = False
        self.turns += 1
        if not stable and self.turns > _TURNS:
            raise _refuse(
                "the types of this loop's variables do not settle.", "give them their final types before the loop."
            )
        return stable

    def conclude(self, results: list[Any], ran: Callable[[], Any]) -> None:
        """The node is there: its results are the variables' values."""
        self.finish()
        values: dict[str, Any] = {}
        for c in self.carried:
            value = c.finish(results)
            if c.place is not None:
                if c.late or c.missing:
                    writes.store_late(c.place, self._after(c, value, ran))
                elif any(t is not None for t in c.types):
                    writes.store(c.place, value)
            else:
                values[c.label] = self._after(c, value, ran)
        self.identity.finish(self.outer.session.aliases, self.carried, results, ran)
        self.values = self._values(values)
        self.load = True
        self.phase = "over"

    def _after(self, c: LoopVariable, value: Any, ran: Callable[[], Any]) -> Any:
        at = f" (line {c.line})" if c.line else ""
        reason = f"the loop that gives it one{at} may not run at all, a tensor decides"
        if c.late:
            return UndefinedVariable(c.label, reason) if c.late is MAYBE_BEFORE else Late(c.label, reason, value, ran)
        return UndefinedVariable(c.label, reason) if isinstance(value, UndefinedVariable) else value

    def add_while(self, cond: Capture, body: Capture, extra: list[Any], extra_out: list[Any]) -> None:
        """Append the While node. ``extra``: carries of the loop itself (counter, condition), first."""
        flags = self.identity
        entries = [*extra, *(v for c in self.carried for v in c.entry(self.outer)), *flags.entry(self.outer)]
        left = [body.lift_as(flag, flags.TYPE) for flag in flags.left]
        body.graph.outputs = [*extra_out, *(v for c in self.carried for v in c.outputs(body)), *left]
        inv = align(cond, body, keep=len(entries))
        results = control_flow.while_(self.outer, cond.graph, body.graph, entries, inv)
        self.conclude(list(results[len(extra) :]), lambda: control_flow.replay(cond.graph, [*entries, *inv])[0])


class While(LoopCapture):
    """``while``."""

    def __init__(self, names: Any, lines: dict[str, tuple[int, ...]], flag: str, walrus: bool, *readers: Any) -> None:
        super().__init__(names, lines, flag, *readers)
        self.walrus = walrus
        self.over: bool = False

    def more(self, space: dict[str, Any]) -> bool:
        """Another turn?"""
        if self.phase == "over" or self.over:
            return False
        engine = slot.engine
        if self.phase == "python":
            self.space: dict[str, Any] = grab(self.names, space)
            if isinstance(engine, Capture):
                self.mark: tuple[int, int] = len(engine.graph.nodes), len(engine.session.aliases.of(engine))
                engine.session.journal.push()
        elif self.phase == "cond":
            self.open("cond", False)
            assert self.body is not None
            self.cond: Capture = self.body.builder
        elif self.phase == "first":
            self._first_done(space)
        elif self.phase == "retest":
            self.phase = "again"
        elif self.phase == "again":
            self._again_done(space)
            return bool(self.phase != "over")
        return True

    def test(self, value: Any) -> bool:
        """The truth of the condition."""
        if self.phase == "python":
            return self._python(value)
        if self.phase == "cond":
            return self._cond(value)
        self.flag_value = value
        return False

    def _python(self, value: Any) -> bool:
        engine = slot.engine
        pred = symbolic_test(value)
        if pred is None:
            if isinstance(engine, Capture):
                engine.session.journal.commit()
            answer = truth(value)
            self.over = not answer
            return answer
        assert isinstance(engine, Capture)
        engine.session.journal.pop()
        del engine.graph.nodes[self.mark[0] :], engine.session.aliases.of(engine)[self.mark[1] :]
        self.begin_capture(engine, self.space)
        self.phase = "cond"
        return False

    def _moved(self) -> bool:
        """Has evaluating the condition written anywhere?"""
        changes = self.outer.session.journal.levels[-1].changes
        if any(key not in self.placed for key in changes):
            return True
        pairs = [(change.place.get(), self.placed[key]) for key, change in changes.items()]
        return not all(same(p, q) for a, b in pairs for p, q in zip(flatten(a)[0], flatten(b)[0]))

    def _cond(self, value: Any) -> bool:
        assert self.body is not None
        pred = as_bool(symbolic_test(value) if symbolic_test(value) is not None else truth(value))
        if self.walrus or self._moved():
            return self._carry_truth()
        self.cond.graph.outputs = [self.cond.lift(pred)]
        self.body.close()
        self.open("body", True)
        return True

    def done(self, space: dict[str, Any]) -> None:
        """The end of the body."""
        if self.phase == "cond":
            assert self.body is not None
            body = self.body.builder
            if self.settle(space):
                self.add_while(self.cond, body, [], [])
        elif self.phase == "body":
            self.enter = False
            self.phase = "retest"

    # ---- a condition with side effects: its truth is carried ----

    def _carry_truth(self) -> bool:
        assert self.body is not None
        self.body.close()
        self.phase = "first"
        self.values: tuple[Any, ...] = tuple(self.begin.values())
        self.load = True
        self.first_pass: bool = True
        return False

    def _first_done(self, space: dict[str, Any]) -> None:
        """Evaluate the condition once before the loop, then go into the body."""
        if self.first_pass:
            self.first_pass = False
            return
        self.entry_truth: Any = as_bool(symbolic_test(self.flag_value))
        self._carry(self.outer, grab(self.names, space))
        self._open_body()

    def _open_body(self) -> None:
        self.phase: str = "body"
        self.enter: bool = True
        self.open("body", True, (tensor_type((), bool_), "go"))

    def _again_done(self, space: dict[str, Any]) -> None:
        """Body and condition are captured."""
        assert self.body is not None
        body = self.body.builder
        go = as_bool(
            symbolic_test(self.flag_value) if symbolic_test(self.flag_value) is not None else truth(self.flag_value)
        )
        out = body.lift(find("reshape")(go, shape=()) if isinstance(go, Tensor) and go.shape else go)
        if not self.settle(space):
            self._open_body()
            return
        cond = self.outer.body("cond")
        cond.param(out.type, "go")
        for c in self.carried:
            c.start(cond)
        self.identity.start(cond, self.carried)
        cond.graph.outputs = [cond.graph.params[0]]
        self.add_while(cond, body, [self.entry_truth], [out])


def _refuse(sentence: str, hint: str) -> CaptureError:
    error = CaptureError(sentence, hint=hint)
    error.where = here(2).where
    return error


class For(LoopCapture):
    """``for``: Python's own loop, a While over a range with a tensor bound, a Scan over a tensor."""

    def __init__(self, iterated: Any, names: Any, lines: dict[str, tuple[int, ...]], flag: str, *readers: Any) -> None:
        super().__init__(names, lines, flag, *readers)
        engine = slot.engine
        self.engine: Capture | None = engine if isinstance(engine, Capture) else None
        session = None if self.engine is None else self.engine.session
        self.range: SymbolicRange | None = iterated if isinstance(iterated, SymbolicRange) else None
        self.iterator: Iterator[Any] = iter(()) if self.range else iter(reads.iterate(session, iterated))
        if self.range is not None:
            self.phase = "range"
        self.opened = False

    def more(self, space: dict[str, Any]) -> bool:
        """Another turn?"""
        if self.phase == "over":
            return False
        if self.phase == "range":
            if not self.symbolic:
                self._start_range(grab(self.names, space))
            (counter,) = self.open("body", True, (self.counter_type, "i"))
            self.counter: Any = self.pythonic.mark(counter)
            return True
        stop = space.get(self.flag, False)
        if stop is True:
            return False
        try:
            self.value: Any = next(self.iterator)
        except StopIteration:
            return False
        self._count_open(stop)
        return True

    def _count_open(self, stop: Any) -> None:
        """A loop of Python whose end a tensor decides is unrolled; an endless iterator would never end."""
        self.turns += 1
        if self.turns > 10000 and stop is not False:
            raise _refuse(
                "this loop goes through a Python iterator without end, and a tensor decides when it stops.",
                "write it as a while loop.",
            )

    def item(self) -> Any:
        """The value for the loop's target."""
        return self.counter if self.phase == "range" else self.value

    def done(self, space: dict[str, Any]) -> None:
        """The end of the body."""
        if self.phase != "range":
            return
        assert self.body is not None
        body = self.body.builder
        step = body.lift_as(find("add")(self.counter, self.range.step), self.counter_type)  # type: ignore[union-attr]
        if self.settle(space):
            cond = self._range_cond()
            self.add_while(cond, body, [self.first], [step])

    def _start_range(self, begin: dict[str, Any]) -> None:
        assert self.engine is not None and self.range is not None
        parts = (self.range.low, self.range.high, self.range.step)
        types = [WEAK[int] if type(p) is int or is_lazy(p) else type_of(p) for p in parts]
        self.counter_type: TensorType = tensor_type((), result_dtype(tuple(types)))
        self.begin_capture(self.engine, begin)
        self.first: Any = self.outer.wrap(self.outer.lift_as(self.range.low, self.counter_type))

    def _range_cond(self) -> Capture:
        """``i < high`` (or ``>``, by the sign of the step), and the break flag is not set."""
        assert self.range is not None
        cond: Capture = self.outer.body("cond")
        counter = self.pythonic.mark(cond.param(self.counter_type, "i"))
        started = {c.label: c.start(cond) for c in self.carried}
        self.identity.start(cond, self.carried)
        slot.engine = cond
        try:
            going = self._going(counter)
            stop = started.get(self.flag)
            if isinstance(stop, Tensor):
                going = find("logical_and")(going, find("logical_not")(stop))
            cond.graph.outputs = [cond.lift(going)]
        finally:
            slot.engine = self.outer
        return cond

    def _going(self, counter: Any) -> Any:
        assert self.range is not None
        high, step = self.range.high, self.range.step
        if isinstance(step, Tensor) and not is_lazy(step):
            up = find("logical_and")(find("greater")(step, 0), find("less")(counter, high))
            down = find("logical_and")(find("less")(step, 0), find("greater")(counter, high))
            return find("logical_or")(up, down)
        return find("less" if step > 0 else "greater")(counter, high)
