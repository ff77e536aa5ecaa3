"""``is`` and ``in``: identities of outside objects, and whether they hold a value, are guarded."""

from __future__ import annotations

import operator
from typing import Any

from msnb.core import Tensor, slot
from msnb.graph.capture.interpreter import reads
from msnb.graph.capture.interpreter.capture_session import Session
from msnb.graph.capture.values import sources as paths
from msnb.graph.capture.values.lazy_values import concrete, is_lazy, operand, plain
from msnb.ops.definition.record import find


def compare(session: Session | None, op: str, left: Any, right: Any) -> Any:
    """``is`` and ``in`` and their negations."""
    if op in ("in", "not in"):
        if session is not None:
            reads.look_into(session, left if isinstance(right, (str, dict)) else [left, right])
            right = reads.members(session, right)
        found = concrete(left) in right
        return found if op == "in" else not found
    if session is not None and (is_lazy(left) or is_lazy(right)) and not session.pythonic.has_one_of(left, right):
        same = plain(left) is plain(right)
        session.guard("is", (paths.called(operator.is_, (operand(left), operand(right))),), (same,))
        return same == (op == "is")
    if session is not None and session.pythonic.has_one_of(left, right) and left is not right:
        return session.pythonic.identity(op, left, right)
    found = (left is right) == (op == "is")
    return found if session is None else _identity(session, left, right, op, found)


def _identity(session: Session, left: Any, right: Any, op: str, found: bool) -> Any:
    """``found``, guarded; two arguments may be one Tensor, for which two tensors stand. A tensor, where one decides."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        same = session.aliases.same(slot.engine, left, right)
        if isinstance(same, Tensor):
            return same if op == "is" else find("logical_not")(same)
    first, second = session.inputs.owner_of(left), session.inputs.owner_of(right)
    if first is not None and second is not None:
        found = (first[0] is second[0]) == (op == "is")
        session.guard("is", (paths.binary(op, first[1], second[1]),), (found,))
        return found
    sources = [session.objects.source_of(x) for x in (left, right)]
    if any(s is not None and s.pattern != "{c0}" for s in sources) and left is not None and right is not None:
        parts = [paths.ref(x) if s is None else s for s, x in zip(sources, (left, right))]
        session.guard("is", (paths.binary(op, parts[0], parts[1]),), (found,))
    return found
