"""Break, continue and return as plain data flow, before anything else looks at the tree.

A jump that hangs on a tensor cannot jump while the program is captured, so jumps inside ``if``, ``while`` and
``for`` are written without jumping. What follows a branch that always leaves moves into the other branch; only
where that is not enough a flag is kept:

    if c:                         if c:                         while t:                  brk = False
        return a                      ret = a                       if c:                 while not brk and t:
    rest                  ==>     else:                                 x = 1                 if c:
                                      rest                              if d:                     x = 1
                                                                            break                 if d:
                                                                    y = 2                             brk = True
                                                                                              if not brk:
                                                                                                  y = 2

A ``return`` inside a loop is ``ret = v; done = True; break`` and after the loop ``if done: return ret``. The
converter then meets ifs and loops without jumps. Flags that nobody reads are dropped again.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any

from msnb.graph.capture.frontend.ast_templates import expression, written

RETURN = "__ret__"
LOOPS = (ast.While, ast.For)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
Loop = ast.While | ast.For


@dataclass(frozen=True)
class JumpTargets:
    """What a jump means here: names of the flags to set, None where there is nothing to leave."""

    brk: str | None = None
    cont: str | None = None
    done: str = "__done__"
    loop_done: str | None = None
    native: bool = False


def jumps(nodes: list[ast.stmt], in_loop: bool = False) -> bool:
    """Is there a return here, or a break or continue that leaves these statements?"""
    for node in nodes:
        if isinstance(node, ast.Return) or (isinstance(node, (ast.Break, ast.Continue)) and not in_loop):
            return True
        if isinstance(node, DEFINITIONS):
            continue
        for block in blocks(node):
            if jumps(block, in_loop or (isinstance(node, LOOPS) and block is node.body)):
                return True
    return False


def blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """The statement lists directly inside a statement."""
    found = [getattr(node, f) for f in ("body", "orelse", "finalbody") if isinstance(getattr(node, f, None), list)]
    return found + [part.body for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))]


def leaves(nodes: list[ast.stmt]) -> bool:
    """Do these statements always end in a jump or a raise?"""
    return any(_leaves(node) for node in nodes)


def _leaves(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
        return True
    if isinstance(node, ast.If):
        return leaves(node.body) and leaves(node.orelse)
    if isinstance(node, ast.With):
        return leaves(node.body)
    if isinstance(node, ast.Try):
        tail = leaves(node.body) or leaves(node.orelse)
        return leaves(node.finalbody) or (tail and all(leaves(h.body) for h in node.handlers))
    if isinstance(node, ast.While):
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return forever and not _breaks(node.body)
    return False


def _breaks(nodes: list[ast.stmt]) -> bool:
    for node in nodes:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, (*DEFINITIONS, *LOOPS)):
            if isinstance(node, LOOPS) and _breaks(node.orelse):
                return True
            continue
        if any(_breaks(block) for block in blocks(node)):
            return True
    return False


def _returns(nodes: list[ast.stmt]) -> bool:
    return any(
        isinstance(n, ast.Return) or (not isinstance(n, DEFINITIONS) and any(map(_returns, blocks(n)))) for n in nodes
    )


class Lowering:
    """Rewrites one function body."""

    def __init__(self) -> None:
        self._count = 0

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body without jumps inside ifs and loops."""
        if not any(jumps([s]) for s in body if not isinstance(s, ast.Return)):
            return _drop_unread(self.block(body, JumpTargets(native=True)))
        # a path that falls off the end returns None, and says so
        last = ast.copy_location(ast.Return(value=None), body[-1])
        full = body if leaves(body) else [*body, last]
        out = self.block(full, JumpTargets())
        out += written(f"return {RETURN}", body[-1])
        return _drop_unread(written("__done__ = False", body[0]) + out)

    def block(self, nodes: list[ast.stmt], around: JumpTargets) -> list[ast.stmt]:
        """A statement list without jumps."""
        out: list[ast.stmt] = []
        for i, node in enumerate(nodes):
            rest = nodes[i + 1 :]
            if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
                return out + self._jump(node, around)
            if isinstance(node, ast.If) and jumps([node]):
                return out + self._if(node, rest, around)
            if isinstance(node, LOOPS):
                made, more = self._loop(node)
                out += made
                if more:
                    return out + self.block(more + rest, around)
                continue
            flags = _flags(node, around)
            out.append(self._other(node, around))
            if rest and flags:
                return out + self._guarded(rest, around, flags)
        return out

    def _jump(self, node: ast.stmt, around: JumpTargets) -> list[ast.stmt]:
        if isinstance(node, ast.Continue):
            return written(f"{around.cont} = True", node)
        if isinstance(node, ast.Break):
            return written(f"{around.brk} = True", node)
        assert isinstance(node, ast.Return)
        if around.native:
            return [node]
        value = node.value or ast.copy_location(ast.Constant(None), node)
        target = ast.copy_location(ast.Name(RETURN, ast.Store()), value)
        made: list[ast.stmt] = [ast.copy_location(ast.Assign([target], value), node)]
        if around.brk is None:
            return made + written(f"{around.done} = True", node)
        return made + written(f"{around.loop_done} = True\n{around.brk} = True", node)

    def _if(self, node: ast.If, rest: list[ast.stmt], around: JumpTargets) -> list[ast.stmt]:
        body, orelse, flags = node.body, node.orelse, _flags(node, around)
        if leaves(body):
            orelse, rest = orelse + rest, []
        elif orelse and leaves(orelse):
            body, rest = body + rest, []
        new = ast.If(node.test, self.block(body, around) or written("pass", node), self.block(orelse, around))
        out: list[ast.stmt] = [ast.copy_location(new, node)]
        return out + (self._guarded(rest, around, flags) if rest else [])

    def _guarded(self, rest: list[ast.stmt], around: JumpTargets, flags: list[str]) -> list[ast.stmt]:
        """``rest`` unless a flag says that we have left."""
        guard = written(f"if not ({' or '.join(flags)}): pass", rest[0])[0]
        assert isinstance(guard, ast.If)
        guard.body = self.block(rest, around)
        return [guard]

    def _other(self, node: ast.stmt, around: JumpTargets) -> ast.stmt:
        if isinstance(node, DEFINITIONS):
            return node
        for inner in filter(None, blocks(node)):
            inner[:] = self.block(inner, around) or written("pass", node)
        return node

    def _loop(self, node: Loop) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The loop without jumps, and statements that must follow it (not lowered yet)."""
        self._count += 1
        n = self._count
        around = JumpTargets(f"__brk{n}__", f"__cont{n}__", f"__done{n}__", f"__done{n}__")
        has_break, has_return = _breaks(node.body), _returns(node.body)
        if has_return and not has_break and not node.orelse:
            around = replace(around, brk=around.done)
        stops = has_break or has_return
        node.body = _with_flag(around.cont, self.block(node.body, around), node) or written("pass", node)
        flags = sorted({str(around.brk), around.done}) if stops else ()
        setup = [s for name in flags for s in written(f"{name} = False", node)]
        orelse, node.orelse = node.orelse, []
        if stops:
            _stop_on(node, str(around.brk))
        after: list[Any] = []
        if has_return:
            after += written(f"if {around.done}: pass", node)
            back = ast.Return(ast.copy_location(ast.Name(RETURN, ast.Load()), node))
            after[0].body = [ast.copy_location(back, node)]
        if orelse and stops:
            after += written(f"if not {around.brk}: pass", node)
            after[-1].body = orelse
        else:
            after += orelse
        return [*setup, node], after


def _flags(node: ast.stmt, around: JumpTargets) -> list[str]:
    """The flags that jumps inside ``node`` set."""
    found = set()
    for name in _jump_kinds([node], False):
        found.add({"break": around.brk, "continue": around.cont}.get(name, around.brk or around.done))
    return sorted(str(f) for f in found if f is not None)


def _jump_kinds(nodes: list[ast.stmt], in_loop: bool) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Return):
            found.add("return")
        elif isinstance(node, (ast.Break, ast.Continue)) and not in_loop:
            found.add("break" if isinstance(node, ast.Break) else "continue")
        elif not isinstance(node, DEFINITIONS):
            for block in blocks(node):
                found |= _jump_kinds(block, in_loop or (isinstance(node, LOOPS) and block is node.body))
    return found


def _with_flag(name: str | None, body: list[ast.stmt], node: ast.stmt) -> list[ast.stmt]:
    read = any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for s in body for n in ast.walk(s)
    )
    return written(f"{name} = False", node) + body if read else _without(body, {str(name)})


def _stop_on(node: Loop, flag: str) -> None:
    """``while t`` becomes ``while not flag and t``; a for loop keeps the flag's name and guards its body."""
    test = expression(f"not {flag}", node)
    node.flag = flag  # type: ignore[union-attr]
    if isinstance(node, ast.While):
        both = [test] if isinstance(node.test, ast.Constant) and node.test.value else [test, node.test]
        node.test = ast.copy_location(ast.BoolOp(ast.And(), both), node.test) if len(both) > 1 else test


def _drop_unread(nodes: list[ast.stmt]) -> list[ast.stmt]:
    names = {n.id for s in nodes for n in ast.walk(s) if isinstance(n, ast.Name) and _is_flag(n.id)}
    read = {n.id for s in nodes for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    read |= {str(getattr(n, "flag", "")) for s in nodes for n in ast.walk(s)}
    return _without(nodes, names - read)


def _is_flag(name: str) -> bool:
    return name.startswith(("__brk", "__cont", "__done")) and name.endswith("__")


def _without(nodes: list[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """The statements without assignments to these flags."""
    out = []
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in names:
            continue
        for inner in filter(None, blocks(node)):
            inner[:] = _without(inner, names) or written("pass", node)
        out.append(node)
    return out
