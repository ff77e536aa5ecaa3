"""Errors of the program while it is captured: which are raised at once, and which only when it runs.

    if x > 0:                 a tensor decides: the branch ends in a node that raises; the other goes on
        raise TooLarge(x)     (``Branch.failed`` hears of every error that leaves its body, however deep it was raised)
    print(x)                  the program has something to do first: its graph ends in a node that raises
    raise Wrong(f"{x}")       the text is not known yet: likewise
    f(x) + "a"                nothing comes before it: raised at once

Errors that msnb itself finds (shapes that do not fit, what capture refuses) are told at once: they are the same for all
values. An error that a ``raise`` of the program states is the program's, also when its class is one of msnb's.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, NoReturn

from msnb.base.errors import CaptureError, MsnbError, is_interrupt
from msnb.base.source_location import Origin, here, is_internal, users_frames
from msnb.core import Tensor, slot
from msnb.graph.capture.interpreter import side_effects
from msnb.graph.capture.interpreter.capture_engine import Capture, run_root
from msnb.graph.capture.interpreter.capture_session import Session, stack
from msnb.graph.capture.values.lazy_values import concrete, needs_value
from msnb.ir.builder import SymbolicTensor


def raising(error: Any) -> Any:
    """What ``raise error`` raises: an error that the program states, whatever its class is."""
    if isinstance(error, type) and issubclass(error, BaseException):
        error = error()
    if isinstance(error, Exception) and isinstance(slot.engine, Capture):
        slot.engine.session.statements.stated.append(error)
    return error


def is_refusal(session: Session, error: BaseException) -> bool:
    """Is it about the capture, or of a signal handler? Classes of msnb are the program's where it states them."""
    if isinstance(error, CaptureError) or is_interrupt(error):
        return True
    return isinstance(error, MsnbError) and not any(error is own for own in session.statements.stated)


def keep_inside(handle: Any, error: Exception) -> None:
    """The body of ``handle``, captured now, ends in raising this error.

    Raises:
        CaptureError: it may have left an expression that a tensor decides, or a ``try`` around may catch it.
    """
    session = handle.outer.session
    if any(block.expression and block.symbolic for block in session.statements.blocks[handle.level + 1 :]):
        _refuse(error, "inside an and, or, or if expression", "write the decision as an if statement.")
    if any(depth <= handle.level and _catches(caught, error) for caught, depth in session.statements.attempts):
        _refuse(error, "inside a try statement that would see the error", "put the try inside of the branch.")
    origin = _origin(error.__traceback__)
    _close(handle)
    if not handle.body.dead:
        if session.statements.raised is not error:
            side_effects.raise_at_run(handle.body.builder, error, origin)
        handle.body.dead = True
        session.calls.ends.append(error)


def _close(handle: Any) -> None:
    """Leave the blocks that were open in the body when the error came."""
    session = handle.outer.session
    for block in reversed(session.statements.blocks[handle.level + 1 :]):
        block.abandon()
    del session.statements.blocks[handle.level + 1 :]
    levels, items, attempts = handle.depth
    session.journal.unwind(levels + 1)
    del stack.items[items + handle.expression :]
    del session.statements.attempts[attempts:]
    slot.engine = handle.body.builder


def need_uncaught(engine: Capture, error: Exception) -> None:
    """An error that only the run may raise must not stand in a ``try`` that would see it.

    Raises:
        CaptureError: it does.
    """
    if any(_catches(caught, error) for caught, _ in engine.session.statements.attempts):
        _refuse(error, "inside a try statement that would see the error", "decide with an if statement instead.")


def check_ran(engine: Capture, late: Any) -> None:
    """A variable that a branch or loop may not have set is read: that is checked when the program runs.

    Raises:
        CaptureError: a ``try`` around would see the error.
    """
    need_uncaught(engine, late.unbound)
    side_effects.check_ran(engine, late)


def need(engine: Capture, holds: Any, error: Exception) -> None:
    """The program ends in ``error`` where ``holds`` is false.

    Raises:
        ConcretizationError: a ``try`` around would see the error.
    """
    if any(_catches(caught, error) for caught, _ in engine.session.statements.attempts):
        raise needs_value(f"a {type(error).__name__} inside a try statement")

    def fail(values: Any) -> None:
        raise type(error)(*error.args)

    side_effects.at_run(engine, "need", [], fail, holds, error)


def _catches(caught: Any, error: Exception) -> bool:
    try:
        return isinstance(error, caught())
    except Exception:
        return True


def _refuse(error: Exception, where: str, hint: str) -> NoReturn:
    refusal = CaptureError(
        f"{type(error).__name__} is raised where a tensor decides whether it comes to that, {where}.", hint=hint
    )
    refusal.breaks = True
    refusal.where = _origin(error.__traceback__).where if error.__traceback__ is not None else here(3).where
    raise refusal from error


def end_with(root: Capture, error: Exception) -> None:
    """An error left the captured function: it is raised here, or the program ends in raising it.

    Raises:
        Exception: ``error``, where nothing comes before it and all that it says is known.
    """
    session = root.session
    blocks = session.statements.blocks
    before: BaseException | None = error
    while before is not None and not isinstance(before, CaptureError):
        before = before.__context__
    if before is not None:  # a ``finally`` may have raised another error on the way out of a refusal
        raise before
    if is_refusal(session, error) or any(not block.decides for block in blocks):
        raise error
    if any(block.symbolic for block in blocks):
        _refuse(error, "inside an and, or, or if expression", "write the decision as an if statement.")
    known = not any(isinstance(v, Tensor) for v in side_effects.open_values(_parts(error), {}).values())
    if known and not side_effects.has_effects(root.graph):
        error.args = tuple(map(_said, error.args))
        error.__dict__.update({name: _said(value) for name, value in error.__dict__.items()})
        raise error
    origin = _origin(error.__traceback__)
    slot.engine = root
    session.journal.unwind(1)
    session.forget_writes()
    if session.statements.raised is not error:
        side_effects.raise_at_run(root, error, origin)


def _said(value: Any) -> Any:
    return tuple(map(_said, value)) if type(value) is tuple else concrete(value)


def ends_trace(body: Capture, error: Exception) -> bool:
    """An error left a function that a transform traced. Where the function did something before it, or the error names
    a value of the function, the body ends in raising it: True.

    Raises:
        CaptureError: a ``try`` around would see the error.
    """
    session = body.session
    if is_refusal(session, error):
        return False
    own = [v for v in side_effects.open_values(_parts(error), {}).values() if _is_of(body, v)]
    if not own and not side_effects.has_effects(body.graph):
        return False
    if any(_catches(caught, error) for caught, _ in session.statements.attempts):
        if side_effects.has_effects(body.graph):
            _refuse(error, "inside a try statement that would see the error", "put the try inside of the function.")
        return False
    if session.statements.raised is not error:
        side_effects.raise_at_run(body, error, _origin(error.__traceback__))
    return True


def _is_of(body: Capture, value: Any) -> bool:
    return isinstance(value, SymbolicTensor) and value._builder.graph is body.graph


def _parts(error: BaseException | None) -> list[Any]:
    return [] if error is None else [*error.args, dict(error.__dict__), *_parts(error.__cause__)]


def _origin(tb: TracebackType | None) -> Origin:
    """Where an error was raised: the user's frames, innermost first, with those that called the catching one."""
    inner: list[Any] = []
    outer = tb.tb_frame.f_back if tb is not None else None
    while tb is not None:
        code = tb.tb_frame.f_code
        if not is_internal(code.co_filename):
            inner.append((code, tb.tb_lasti, tb.tb_lineno))
        tb = tb.tb_next
    frames = (*reversed(inner), *users_frames(outer, end=_run()))
    return Origin(frames[:8]) if frames else here(2)


def _run() -> Any:
    return run_root.__code__
