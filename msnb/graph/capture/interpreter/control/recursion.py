"""Recursion that a tensor ends: the function becomes a graph that calls itself.

    def fact(n):                        fact(n, depth) = if n <= 1 then 1
        if n <= 1: return 1                              else n * call fact(n - 1, depth + 1)
        return n * fact(n - 1)

Recursion that Python ends is unrolled, so a call is only taken for this kind where a tensor decides whether it comes to
it, and where the same function runs already with arguments alike: tensors of the same types, equal Python values. That
call is captured as a graph of its own, in turns until nothing changes:

    first    a call of itself ends its branch, as an error would, so the other branches tell what the result is
    next     a call of itself is a Call with a result like that of the turn before; outer values that the function reads
             are arguments as well

In an expression (``1 if n <= 1 else n * fact(n - 1)``) no branch can end: there the result is taken for one like an
argument, or like a number. The graph counts how deep it is, and ends in an error beyond ``max_call_depth``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msnb.base.errors import CaptureError, MsnbError, StackError
from msnb.base.settings import get_context
from msnb.base.source_location import here
from msnb.core import Parameter, Tensor, bool_, float32, int32, int64, tensor_type
from msnb.graph.capture.frontend import converter
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.capture_session import stack
from msnb.graph.capture.interpreter.control.branch import SKIP, Body, Handle
from msnb.graph.capture.interpreter.control.function_selection import Decision
from msnb.graph.capture.interpreter.program_errors import keep_inside
from msnb.graph.capture.values.branch_merge import flatten, same
from msnb.graph.capture.values.lazy_values import is_lazy, is_number
from msnb.graph.capture.values.python_numbers import number_type
from msnb.ir import control_flow
from msnb.ir.graph import Value
from msnb.ops.definition.record import find

NOT_RECURSIVE: Any = type("NotRecursive", (), {"__repr__": lambda self: "<not recursive>"})()

_TURNS = 8
_NEAR = 4  # calls that one is compared with
_DEEPEST = 1000  # a call takes a few KB of the native stack


class Frame(NamedTuple):
    """A call that runs: of this function with these arguments, captured into this graph."""

    fn: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    engine: Any


class _Cut(Exception):
    """A recursive call whose result is not known yet.

    Args:
        of: whose result.
    """

    def __init__(self, of: Recursion) -> None:
        super().__init__(of.name)
        self.of: Recursion = of


class _Arguments:
    """The arguments of a call, taken apart. ``key``: what two calls that may share a graph have in common."""

    def __init__(self, engine: Capture, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        pythonic = engine.session.pythonic
        self.leaves, self.rebuild, shape = flatten(engine.given((list(args), dict(kwargs))))
        self.leaves = [_counted(engine, x) for x in self.leaves]
        self.at: list[int] = [i for i, x in enumerate(self.leaves) if _is_value(x)]
        names = zip(fn.__code__.co_freevars, fn.__closure__ or ())
        boxes = tuple(id(box) for name, box in names if name not in converter.INJECTED)
        self.key: Any = (fn.__code__, boxes, shape, tuple(_kind(x, pythonic) for x in self.leaves))

    @property
    def tensors(self) -> list[Any]:
        """The tensors among them."""
        return [self.leaves[i] for i in self.at]

    def with_tensors(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with other tensors."""
        leaves = list(self.leaves)
        for i, x in zip(self.at, tensors):
            leaves[i] = x
        args, kwargs = self.rebuild(leaves)
        return args, kwargs


def _counted(engine: Capture, x: Any) -> Any:
    """A Python number that the graph computes, in the type in which it keeps such numbers."""
    pythonic = engine.session.pythonic
    return pythonic.mark(engine.wrap(engine.lift_as(x, number_type(x)))) if pythonic.has(x) else x


def _is_value(x: Any) -> bool:
    return not is_lazy(x) and isinstance(x, Tensor) and not isinstance(x, Parameter)


def _kind(x: Any, pythonic: Any) -> Any:
    if _is_value(x):
        return x._type, pythonic.has(x)
    if is_lazy(x):
        return x._source.ident
    if x is None or isinstance(x, (bool, int, float, complex, str)):
        return type(x), repr(x)
    return id(x)


def called(
    engine: Capture, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frames: Sequence[Frame], run: Any
) -> Any:
    """The result of a call of a function that runs already, or ``NOT_RECURSIVE`` where Python may end the recursion.

    Args:
        engine: the graph that the call stands in.
        fn, args, kwargs: the call.
        frames: the calls of the function that run.
        run: ``run(engine, fn, args, kwargs)`` calls it.
    """
    if engine is frames[-1].engine or not engine.session.statements.undecided:
        return NOT_RECURSIVE
    given = _Arguments(engine, fn, args, kwargs)
    known = engine.session.calls.recursions.get(given.key)
    if known is not None:
        return known.call(engine, given.tensors)
    near = [f for f in frames[-_NEAR:] if f.engine is not engine]
    if all(_Arguments(engine, f.fn, f.args, f.kwargs).key != given.key for f in near):
        return NOT_RECURSIVE
    return Recursion(engine, given, lambda *a, **k: run(engine.session, fn, a, k), fn.__name__).result()


class _Result(NamedTuple):
    """What a turn gives: its leaves, the types of those that are tensors (or None), and the containers around."""

    leaves: list[Any]
    types: list[Any]
    rebuild: Callable[[list[Any]], Any]
    shape: Any


class Recursion:
    """A function under capture as a graph that calls itself.

    Args:
        outer: the graph that calls it.
        given: its arguments.
        run: calls it.
        name: of the function.
    """

    def __init__(self, outer: Capture, given: _Arguments, run: Callable[..., Any], name: str) -> None:
        self.outer: Capture = outer
        self.given: _Arguments = given
        self.run: Callable[..., Any] = run
        self.name: str = name
        self.callee: str = ""
        self.known: _Result | None = None
        self.reads: list[Any] = []
        self.in_expression: bool = False

    def result(self) -> Any:
        """Capture the graph, and call it."""
        recursions = self.outer.session.calls.recursions
        recursions[self.given.key] = self
        try:
            self._settle()
        finally:
            del recursions[self.given.key]
        self.depth: Any = None
        return self.call(self.outer, self.given.tensors)

    def _settle(self) -> None:
        ends = self.outer.session.calls.ends
        before = len(ends)
        try:
            self._turns()
        except (_Cut, CaptureError, UnboundLocalError) as error:  # unbound: the value to return, where all branches end
            if not self._ended_by(error):
                raise
            if not self.in_expression:
                refusal = self._refusal(
                    f"{self.name} calls itself in every branch that returns: a loop without end.",
                    "let one branch return without a call of itself.",
                )
                refusal.breaks = any(
                    not isinstance(end, (_Cut, StackError)) for end in ends[before:]
                )  # Python gets to a raise
                raise refusal from None
            self._guess()

    def _ended_by(self, error: Exception) -> bool:
        """Did a call of itself, whose result was not known, end the first turn?"""
        cut = error.__cause__ if isinstance(error, CaptureError) else error
        if isinstance(error, CaptureError) and not self.in_expression:
            return False
        mine = isinstance(cut, _Cut) and cut.of is self or isinstance(cut, UnboundLocalError)
        return mine and self.known is None

    def _turns(self) -> None:
        for _ in range(_TURNS):
            before, reads = self.known, [x._value for x in self.reads]
            self._turn()
            settled = before is not None and reads == [x._value for x in self.reads] and _alike(before, self.known)
            if settled and self._numbers(before) == self._numbers(self.known):
                return
        raise self._refusal(
            f"the type of what {self.name} gives does not settle: each call of itself changes it.",
            "give every branch the same shape and dtype (reshape, astype).",
        )

    def _numbers(self, found: _Result | None) -> list[bool]:
        return [] if found is None else list(map(self.outer.session.pythonic.is_number, found.leaves))

    def _guess(self) -> None:
        """Where no branch can end: the result is like an argument, or one number."""
        types = [x._type for x in self.given.tensors]
        types += [tensor_type((), t.dtype) for t in types] + [tensor_type((), d) for d in (bool_, int64, float32)]
        numbers = [x for x in self.given.tensors if self.outer.session.pythonic.has(x)]
        guesses = [(x, x._type) for x in numbers] + [(None, type_) for type_ in dict.fromkeys(types)]
        for leaf, type_ in guesses:
            self.known, self.reads = _Result([leaf], [type_], lambda leaves: leaves[0], "*"), []
            try:
                return self._turns()
            except MsnbError:
                continue
        raise self._refusal(
            f"the type of what {self.name} gives cannot be found inside of an and, or, or if expression.",
            "write the decision as an if statement.",
        )

    # ---- one turn ----

    def _turn(self) -> None:
        """Capture the graph once."""
        session, module = self.outer.session, self.outer.graph.module
        handle, depth = Handle(), len(stack.items)
        handle.decides = False
        handle.start(self.outer)
        level = len(session.journal.levels)
        body = handle.body = Body(self.outer, self.name)
        module.graphs.pop(self.callee, None)
        self.callee = module.add(body.builder.graph, self.name)
        try:
            found = self._captured(body.builder)
            body.close()
        except BaseException:
            handle.abandon()
            session.journal.unwind(level)
            del stack.items[depth:]
            del module.graphs[self.callee]
            raise
        finally:
            handle.finish()
        if body.changes:
            raise self._refusal(
                f"{self.name} calls itself where a tensor decides, and writes to something outside of itself.",
                "return the new value, or write the recursion as a while loop.",
            )
        self.known, self.reads = found, [outer for outer, _ in body.builder.captured]

    def _captured(self, b: Capture) -> _Result:
        pythonic = b.session.pythonic
        params = []
        for i, x in enumerate(self.given.tensors):
            param = b.param(x._type, f"x{i}")
            params.append(pythonic.mark(param) if pythonic.has(x) else param)
        self.depth = b.param(tensor_type((), int32), "depth")
        for outer in self.reads:
            b.lift(outer)
        self._limit()
        args, kwargs = self.given.with_tensors(params)
        leaves, rebuild, shape = flatten(b.given(self.run(*args, **kwargs)))
        values = [b.lift(x) if _is_value(x) or is_number(x) else None for x in leaves]
        b.output(*(b.wrap(v) for v in values if v is not None))
        return _Result(leaves, [None if v is None else v.type for v in values], rebuild, shape)

    def _limit(self) -> None:
        """End in an error where calls are nested too deep."""
        most = min(int(get_context("max_call_depth")), _DEEPEST)
        error = StackError(
            f"{self.name} called itself more than {most} deep.",
            hint=f"let it end earlier, or raise ms.set_context(max_call_depth=...), up to {_DEEPEST}; a while loop has "
            "no such limit.",
        )
        decision = Decision(self.depth >= most)
        keep_inside(decision, error)
        decision.turn()
        decision.end(SKIP, SKIP)

    def call(self, engine: Capture, tensors: Sequence[Any]) -> Any:
        """A call of the graph from inside or outside of it."""
        if self.known is None:
            self.in_expression |= any(block.expression and block.symbolic for block in engine.session.statements.blocks)
            raise _Cut(self)
        depth = engine.constant(0, tensor_type((), int32)) if self.depth is None else find("add")(self.depth, 1)
        values: list[Value] = [depth if isinstance(depth, Value) else engine.lift(depth)]
        values = [*map(engine.lift, tensors), *values, *map(engine.lift, self.reads)]
        attrs = {"callee": self.callee, "layer": "", "recompute": False, "block": None}
        made = iter(engine.add(control_flow.CALL, values, attrs, [t for t in self.known.types if t is not None]))
        pythonic = engine.session.pythonic
        leaves = [x if t is None else next(made) for x, t in zip(self.known.leaves, self.known.types)]
        for mine, its in zip(leaves, self.known.leaves):
            if mine is not its and pythonic.is_number(its):
                pythonic.mark(mine)
        return self.known.rebuild(leaves)

    def _refusal(self, sentence: str, hint: str) -> CaptureError:
        error = CaptureError(sentence, hint=hint)
        error.where = here(3).where
        return error


def _alike(a: _Result | None, b: _Result | None) -> bool:
    """Do two turns give the same kind of result?"""
    assert a is not None and b is not None
    if a.shape != b.shape or a.types != b.types:
        return False
    return all(t is not None or same(x, y) for x, y, t in zip(a.leaves, b.leaves, a.types))
