"""Which variables matter after a block: only those are merged and carried.

    if c:                     after the if only y is read again: t is a helper of the first branch, and may have another
        t = x[:2]             shape in the second
        y = t.sum()
    else:                     live(statements, out): what is read before it is bound, from the last statement back;
        y = x.sum()           a loop's body is gone through until nothing changes
    return y

Variables that a nested function reads matter always: it may be called at any time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from msnb.graph.capture.frontend.scope_analysis import COMPREHENSIONS, bindings, params, targets

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def mark(body: Sequence[ast.stmt]) -> None:
    """Write on every if and loop of a function which names are live after it (``node.live``) and, on loops, which are
    live at the start of a turn as well (``node.turn``)."""
    always = captured(body)
    live(body, always)
    for node in (n for statement in body for n in ast.walk(statement)):
        for which in ("live", "turn"):
            if hasattr(node, which):
                setattr(node, which, getattr(node, which) | always)  # a store further down ends no call in between


def captured(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that nested functions read."""
    found: set[str] = set()
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, (*_SCOPES, ast.GeneratorExp)):
                found |= loads(node) - _own(node)
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("locals", "eval", "exec")
            ):
                found |= {n.id for r in nodes for n in ast.walk(r) if isinstance(n, ast.Name)}
    return found


def _own(node: Any) -> set[str]:
    """The variables of a nested function, which hide those around it."""
    if isinstance(node, ast.GeneratorExp):
        return targets(node.generators)
    found = bindings(node.body if isinstance(node.body, list) else [])
    known = set() if isinstance(node, ast.ClassDef) else {*found.names, *params(node.args)}
    return known - found.nonlocals - found.globals


def loads(node: ast.AST) -> set[str]:
    """All names read anywhere inside."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)} | {
        n.target.id for n in ast.walk(node) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }


def live(body: Sequence[ast.stmt], out: set[str]) -> set[str]:
    """Names live before these statements, given those live after."""
    for node in reversed(body):
        out = _statement(node, out)
    return out


def _statement(node: ast.stmt, out: set[str]) -> set[str]:
    if isinstance(node, ast.If):
        node.live = set(out)  # type: ignore[attr-defined]
        return live(node.body, out) | live(node.orelse, out) | loads(node.test)
    if isinstance(node, (ast.While, ast.For)):
        return _loop(node, out)
    if isinstance(node, ast.With):
        return live(node.body, out) | {n for item in node.items for n in loads(item)}
    return _try(node, out) if hasattr(node, "handlers") else _simple(node, out)


def _loop(node: ast.While | ast.For, out: set[str]) -> set[str]:
    flag = {str(getattr(node, "flag", ""))}
    after = out | live(node.orelse, out) | flag
    head = loads(node.test) if isinstance(node, ast.While) else set()
    bound = set() if isinstance(node, ast.While) else set(bindings([node.target]).names)
    turn = after | head
    while True:
        before = (live(node.body, turn) - bound) | turn
        if before == turn:
            break
        turn = before
    node.live, node.turn = set(after), set(turn)  # type: ignore[union-attr]
    extra = loads(node.iter) | loads(node.target) if isinstance(node, ast.For) else set()
    return turn | extra


def _try(node: ast.stmt, out: set[str]) -> set[str]:
    """An exception may leave the body anywhere: all that the handlers read matters throughout."""
    handlers = {n for h in node.handlers for n in live(h.body, out) | (loads(h.type) if h.type else set())}  # type: ignore[attr-defined]
    final = live(node.finalbody, out)  # type: ignore[attr-defined]
    after = out | handlers | final
    return live(node.body, live(node.orelse, after)) | after  # type: ignore[attr-defined]


def _simple(node: ast.stmt, out: set[str]) -> set[str]:
    kills = set() if isinstance(node, ast.AugAssign) else _surely_bound(node)
    return (out - kills) | loads(node)


def _surely_bound(node: ast.stmt) -> set[str]:
    """Names that the statement binds whatever happens (not those inside ``and``, comprehensions, ternaries)."""
    if any(isinstance(n, (ast.BoolOp, ast.IfExp, *COMPREHENSIONS)) for n in ast.walk(node)):
        targets = getattr(node, "targets", None) or [t for t in (getattr(node, "target", None),) if t is not None]
        return {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return set(bindings([node]).names)
