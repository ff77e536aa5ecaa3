"""The runtime that converted code calls, by the name ``__rt__``.

Every function asks who sits in the slot: under a capture it does what the head of ``convert`` says; anywhere else
(converted code that outlived its capture, in a closure for instance) it is plain Python.
"""

from __future__ import annotations

import builtins
import operator
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from msnb.core import Parameter, Tensor, slot, temporary_writes
from msnb.graph.capture.interpreter import array_mutations, reads, side_effects, special_methods, writes
from msnb.graph.capture.interpreter.call import call
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.capture_session import Session, stack
from msnb.graph.capture.interpreter.control import branch as blocks, loop, match_statement, object_identity
from msnb.graph.capture.interpreter.control.branch import SKIP, SKIPPED, ShortCircuit, Ternary, yielding
from msnb.graph.capture.interpreter.control.function_selection import selected as selected
from msnb.graph.capture.interpreter.control.truth_value import negate, symbolic_test, truth
from msnb.graph.capture.interpreter.program_errors import need_uncaught, raising
from msnb.graph.capture.interpreter.writes import del_attr, del_item, session_now, set_attr, set_item
from msnb.graph.capture.values import sources
from msnb.graph.capture.values.branch_merge import UndefinedVariable
from msnb.graph.capture.values.lazy_values import TrackedArray, concrete as concrete, is_lazy
from msnb.ops.elementwise.identity_and_effects import augmented, is_assigned_in_place

locals = builtins.locals
While, For = loop.While, loop.For
is_sequence, is_mapping, length = match_statement.is_sequence, match_statement.is_mapping, match_statement.length
class_parts, values_of = match_statement.class_parts, match_statement.values_of
not_ = negate
__all__ = [
    "SKIP", "SKIPPED", "call", "del_attr", "del_item", "raising", "set_attr", "set_item", "truth", "yielding",
]  # fmt: skip


# ---- names ----


def name(value: Any, which: str) -> Any:
    """A variable that may have no value."""
    return reads.defined(session_now(), value)


def glob(space: dict[str, Any], which: str) -> Any:
    """A global or built-in name."""
    return reads.glob(session_now(), space, which)


def free(cells: dict[str, Any], which: str) -> Any:
    """A variable of a function around the captured one."""
    return reads.free(session_now(), cells, which)


def set_glob(space: dict[str, Any], which: str, value: Any) -> Any:
    """``global which; which = value``."""
    writes.set_global(space, which, value)
    return value


def set_cell(reader: Any, value: Any) -> Any:
    """``nonlocal x; x = value``; ``reader`` is ``lambda: x``."""
    writes.set_cell(reader.__closure__[0], reader.__code__.co_freevars[0], value)
    return value


# ---- objects ----


def attr(owner: Any, which: str) -> Any:
    """``owner.which``."""
    if which[-1:] == "_" and isinstance(owner, Tensor) and temporary_writes.count(owner) == temporary_writes.IN_CALL:
        return _put_back(owner, which)
    return reads.attr(session_now(), owner, which)


def _put_back(part: Tensor, which: str) -> Any:
    """The method ``which_`` of a value that only its call has: a part of a tensor is written there too."""
    method = reads.attr(session_now(), part, which)
    back = temporary_writes.home(part)
    if not back:
        return method

    def write(*args: Any, **kwargs: Any) -> Any:
        found = method(*args, **kwargs)
        temporary_writes.put_back(part, back, set_item)
        return found

    return write


def item(owner: Any, key: Any) -> Any:
    """``owner[key]``."""
    return reads.item(session_now(), owner, key)


def slice(low: Any, high: Any, step: Any) -> Any:
    """``low:high:step``."""
    return builtins.slice(low, high, step)


def unpack(value: Any) -> Any:
    """What ``*value`` and ``a, b = value`` take apart."""
    found = reads.iterate(session_now(), value)
    return found if found is value or isinstance(found, list) else list(found)


def unpack_map(value: Any) -> Any:
    """What ``**value`` takes apart."""
    engine = slot.engine
    if not isinstance(engine, Capture):
        return value
    if isinstance(value, dict) and special_methods.method(value, "keys") is None:
        return reads.mapping(engine.session, value)
    entries = special_methods.entered(engine, dict, value)
    return value if entries is NotImplemented else entries


def rest(value: Any, keys: tuple[Any, ...]) -> Any:
    """What ``case {"a": a, **rest}`` leaves."""
    found = {**unpack_map(value)}
    for key in keys:
        del found[key]
    return new(found)


def iterate(value: Any) -> Any:
    """What a comprehension goes through."""
    return reads.iterate(session_now(), value)


def unpack_each(values: Iterable[Any], inner: tuple[tuple[int, Any], ...]) -> Iterator[Any]:
    """The values of a comprehension whose target takes them apart, at the ``inner`` places once more."""
    return (_taken_apart(value, inner) for value in values)


def _taken_apart(value: Any, inner: tuple[tuple[int, Any], ...]) -> Any:
    parts = unpack(value)
    if inner and session_now() is not None:
        parts = list(parts)
        for at, deeper in inner:
            if -len(parts) <= at < len(parts):  # else Python says that there are too few
                parts[at] = _taken_apart(parts[at], deeper)
    return parts


def compare(op: str, left: Any, right: Any) -> Any:
    """``is``, ``is not``, ``in``, ``not in``."""
    engine = slot.engine
    if op in ("in", "not in") and isinstance(engine, Capture):
        found = special_methods.member(engine, right, left)
        if found is not NotImplemented:
            return found if op == "in" else negate(found)
    return object_identity.compare(session_now(), op, left, right)


binary, unary, context = special_methods.binary, special_methods.unary, special_methods.context
_INPLACE: dict[str, Any] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "//": operator.ifloordiv,
    "%": operator.imod, "**": operator.ipow, "@": operator.imatmul, "&": operator.iand, "|": operator.ior,
    "^": operator.ixor, "<<": operator.ilshift, ">>": operator.irshift,
}  # fmt: skip


def inplace(op: str, old: Any, value: Any) -> Any:
    """``old op= value``: containers change in place, a Parameter takes the value, everything else is a new value."""
    session = session_now()
    if isinstance(old, Parameter):
        return augmented(old, sources.BINARY[op](old, value))
    if session is not None and isinstance(old, np.ndarray):
        return array_mutations.written_in_place(session, _INPLACE[op], old, value)
    if isinstance(old, (Tensor, TrackedArray)) or is_lazy(old):
        made, assigns = sources.BINARY[op](old, value), is_assigned_in_place()
        return session.aliases.augmented(slot.engine, old, made) if session is not None and assigns else made
    found = special_methods.inplace(op, old, value)
    if found is not NotImplemented:
        return found
    if session is None:
        return _INPLACE[op](old, value)
    changes = isinstance(old, (list, deque, set, dict))
    if hasattr(old, f"__i{special_methods.NAMES[op]}__"):
        array_mutations.refuse_contents(session, old)
    return _container_inplace(session, op, old, value) if changes else binary(op, old, value)


def _container_inplace(session: Session, op: str, old: Any, value: Any) -> Any:
    """``rows += more``, ``table |= more``, ``names -= seen``: a method that changes the container."""
    if op == "+" and isinstance(old, (list, deque)):
        writes.mutate(old, "extend", (list(reads.iterate(session, value)),), {})
        return old
    method = f"__i{special_methods.NAMES[op]}__"
    given = concrete(reads.entered(session, value))
    if hasattr(old, method) and writes.mutate(old, method, (given,), {}) is not NotImplemented:
        return old
    return _INPLACE[op](old, given)  # which raises


def inplace_attr(op: str, owner: Any, which: str, value: Any) -> None:
    """``owner.which op= value``."""
    old = attr(owner, which)
    new = inplace(op, old, value)
    if new is not old or not isinstance(old, Parameter):
        set_attr(owner, which, new)


def inplace_item(op: str, owner: Any, key: Any, value: Any) -> None:
    """``owner[key] op= value``."""
    alone = temporary_writes.count(owner) == temporary_writes.IN_CALL and isinstance(owner, Tensor)
    back = temporary_writes.home_of_statement(owner) if alone else None
    old = item(owner, key)
    new = inplace(op, old, value)
    if new is not old or not isinstance(old, Parameter):
        set_item(owner, key, new)
        if back is not None:
            temporary_writes.put_back(owner, back, set_item)


def new(value: Any) -> Any:
    """A list, dict or set that the program writes down."""
    session = session_now()
    if type(value) is dict and any(isinstance(key, side_effects.Text) for key in value):
        value = {concrete(key): part for key, part in value.items()}
    if session is None:
        return value
    for key in value if isinstance(value, (dict, set)) else ():
        reads.look_into(session, key)
    return session.born(value)


def made_class(kind: Any) -> Any:
    """A class that the program makes."""
    session = session_now()
    return kind if session is None or not isinstance(kind, type) else session.fresh(kind)


def namespace(space: dict[str, Any]) -> Any:
    """``globals()``."""
    session = session_now()
    if session is not None:
        session.remember(space, sources.ref(space, "globals()"))
    return space


def own_names(names: dict[str, Any]) -> dict[str, Any]:
    """``locals()`` without what the conversion has put there."""
    session, known = session_now(), {k: v for k, v in names.items() if not k.startswith("__")}
    for value in known.values():
        if isinstance(value, UndefinedVariable) and value.reason is not None:
            raise value.error()
    unset = [k for k, v in known.items() if isinstance(v, UndefinedVariable)]
    return {k: reads.defined(session, v) for k, v in known.items() if k not in unset}


def evaluated(text: Any, space: dict[str, Any], names: Any = None) -> Any:
    """``eval``: a text is a function of the names that it reads, which is converted like any other."""
    text = concrete(text)
    if session_now() is None or not isinstance(text, str):
        return eval(text, space, names)
    read = [which for which in compile(text, "<string>", "eval").co_names if which in (names or ())]
    return call(eval(f"lambda {', '.join(read)}: ({text}\n)", space), *(name(names[which], which) for which in read))


def executed(text: Any) -> Any:
    """The text that ``exec`` is given: it runs now, and not at each call."""
    engine = slot.engine
    if isinstance(engine, Capture):
        side_effects.notice_once(engine, "exec()")
    return concrete(text)


def fstring(*parts: Any) -> Any:
    """An f-string."""
    return side_effects.fstring(parts)


# ---- decisions ----


def branch(value: Any, names: Any, lines: dict[str, tuple[int, ...]], space: dict[str, Any], *more: Any) -> Any:
    """``if value``."""
    made = blocks.Branch(names, lines, *more)
    made.decide(value, space)
    return made


def and_begin(left: Any, *carried: Any) -> bool:
    """``left and ...``; ``carried``: the variables that ``:=`` sets behind it, and ``locals()``."""
    return ShortCircuit("and", left, False, *carried).begin()


def or_begin(left: Any, *carried: Any) -> bool:
    """``left or ...``."""
    return ShortCircuit("or", left, False, *carried).begin()


def test_and_begin(left: Any, *carried: Any) -> bool:
    """``left and ...`` where only the truth counts."""
    return ShortCircuit("and", left, True, *carried).begin()


def test_or_begin(left: Any, *carried: Any) -> bool:
    """``left or ...`` where only the truth counts."""
    return ShortCircuit("or", left, True, *carried).begin()


def bool_end(right: Any, *space: Any) -> Any:
    """The end of and, or, a chained comparison."""
    return stack.items.pop().end(right, *space)


def carried(which: str) -> Any:
    """A variable that ``:=`` may have set in a part of the expression that just ended."""
    return stack.carried[which]


test_bool_end = bool_end


def chain_begin(op: str, left: Any, right: Any, *carried: Any) -> bool:
    """``left op right op ...``: remember the right operand for the next comparison."""
    first = binary(op, left, right) if op in sources.BINARY and not op.startswith("is") else compare(op, left, right)
    made = ShortCircuit("and", first, False, *carried)
    made.right_operand = right
    return made.begin()


def chain_left() -> Any:
    """The operand between two comparisons."""
    return stack.items[-1].right_operand


def tern_begin(value: Any, *carried: Any) -> bool:
    """``... if value else ...``."""
    return Ternary(*carried).begin(value)


def tern_else(*space: Any) -> bool:
    """Is the value after else wanted?"""
    found: bool = stack.items[-1].turn(*space)
    return found


def tern_end(then: Any, other: Any, *space: Any) -> Any:
    """The value of the ternary."""
    return stack.items.pop().end(then, other, *space)


def assert_begin(value: Any) -> bool:
    """Is the message wanted?"""
    pred = symbolic_test(value)
    stack.items.append(pred)
    if pred is not None:
        return True
    return not truth(value)


def assert_end(message: Any, has_message: bool) -> None:
    """Raise, now or when the program runs."""
    pred = stack.items.pop()
    engine = slot.engine
    if pred is not None and isinstance(engine, Capture):
        need_uncaught(engine, AssertionError())
        side_effects.check(engine, pred, message, has_message)
    elif message is not SKIP:
        raise AssertionError(*([message] if has_message else []))


# ---- exceptions ----


def level() -> tuple[int, int, int, int]:
    """How many blocks are open."""
    session = session_now()
    inner = (0, 0, 0) if session is None else session.level()
    return (*inner, len(stack.items))


def attempt(caught: Any) -> None:
    """``try``; ``caught`` gives what its handlers catch."""
    session = session_now()
    if session is not None:
        session.statements.attempts.append((caught, len(session.statements.blocks)))


def succeeded(to: tuple[int, int, int, int]) -> None:
    """The end of a ``try`` body."""
    session = session_now()
    if session is not None:
        del session.statements.attempts[to[2] :]


def unwind(to: tuple[int, int, int, int]) -> None:
    """An exception was caught: close the blocks that it left."""
    session = session_now()
    del stack.items[to[3] :]
    if session is None:
        return
    error = sys.exc_info()[1]
    if session.refuses(error):
        assert error is not None
        raise error
    del session.statements.attempts[to[2] :]
    for handle in reversed(session.statements.blocks[to[0] :]):
        handle.abandon()
    del session.statements.blocks[to[0] :]
    session.journal.unwind(to[1])
