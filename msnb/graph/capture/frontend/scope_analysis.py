"""Which names a piece of code binds: Python's own scope rules, read off the tree.

def f(a):            bound in f:          a, b, g, y
    b = 1            bound in the body of the if:  b -> line 4
    if a:            comprehension targets are bound in the comprehension alone,
        b = [c for c in a if (y := c)]     except what := binds, which belongs to the function
    def g(): ...
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

ScopeNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAME_FIELDS = ("id", "attr", "arg", "name", "asname", "rest")


@dataclass
class Bindings:
    """Names bound by some statements, each with the line of its last binding, and the declarations met."""

    names: dict[str, int] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)

    def bind(self, name: str | None, node: ast.AST) -> None:
        """Note that ``node`` binds ``name``."""
        if name is not None:
            self.names[name] = getattr(node, "lineno", 0)


class Scope:
    """Names of one function (or comprehension) under conversion."""

    def __init__(self, names: set[str], nonlocals: set[str], globals_: set[str], unsure: set[str]) -> None:
        self.names: set[str] = names
        self.nonlocals: set[str] = nonlocals
        self.globals: set[str] = globals_
        self.unsure: set[str] = unsure
        self.shared: set[str] = set()
        self.is_class = False


class _Collector(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found = Bindings()
        self._comprehensions = 0

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, (ast.Store, ast.Del)) and not self._comprehensions:
            self.found.bind(node.id, node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.found.bind(node.target.id, node)
        self.visit(node.value)

    def visit_Global(self, node: ast.Global) -> None:
        self.found.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.found.nonlocals.update(node.names)

    def visit_alias(self, node: ast.alias) -> None:
        self.found.bind(node.asname or node.name.split(".")[0], node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self.found.bind(node.name, node)
        self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, _SCOPES):
            self._enter_scope(node)
        elif isinstance(node, COMPREHENSIONS):
            self._comprehensions += 1
            super().generic_visit(node)
            self._comprehensions -= 1
        else:
            super().generic_visit(node)

    def _enter_scope(self, node: ScopeNode) -> None:
        """The name of a definition is bound here; what its body binds is not (defaults and decorators are)."""
        if not isinstance(node, ast.Lambda):
            self.found.bind(node.name, node)
        for name in ("decorator_list", "bases", "keywords"):
            for child in getattr(node, name, []):
                self.visit(child)
        if hasattr(node, "args"):
            for child in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
                self.visit(child)


def bindings(nodes: Iterable[ast.AST]) -> Bindings:
    """What these statements bind in the function they stand in."""
    collector = _Collector()
    for node in nodes:
        collector.visit(node)
    return collector.found


def mangle(part: Any, owner: str) -> None:
    """Put the name of the class into the private names (``__x``) of its code, as Python does when it compiles that; a
    class inside has its own."""
    if isinstance(part, list):
        for item in part:
            mangle(item, owner)
    elif isinstance(part, ast.AST) and owner.strip("_"):
        for field in part._fields:
            value = getattr(part, field, None)
            if isinstance(value, str) and field in _NAME_FIELDS and not isinstance(part, ast.keyword):
                setattr(part, field, _mangled(value, owner))
            elif isinstance(part, (ast.Global, ast.Nonlocal)):
                part.names = [_mangled(name, owner) for name in part.names]
            elif not (isinstance(part, ast.ClassDef) and field == "body"):
                mangle(value, owner)


def _mangled(name: str, owner: str) -> str:
    return f"_{owner.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name


def params(args: ast.arguments) -> list[str]:
    """All parameter names."""
    found = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return found + [a.arg for a in (args.vararg, args.kwarg) if a is not None]


def targets(generators: Sequence[ast.comprehension]) -> set[str]:
    """Names bound by the ``for`` parts of a comprehension."""
    return {n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}


def named(*parts: ast.AST) -> list[str]:
    """The variables that ``:=`` sets in expressions, not those of functions in them."""
    inner = {id(n) for part in parts for one in ast.walk(part) if isinstance(one, ast.Lambda) for n in ast.walk(one)}
    every = (n for part in parts for n in ast.walk(part) if id(n) not in inner)
    return sorted({n.target.id for n in every if isinstance(n, ast.NamedExpr)})


def inner_nonlocals(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that functions nested in these statements declare nonlocal."""
    return {n for root in nodes for node in ast.walk(root) if isinstance(node, ast.Nonlocal) for n in node.names}


def in_blocks(body: Sequence[ast.stmt]) -> set[str]:
    """Names bound inside an if, while or for of this function: reading them may meet a missing value."""
    found: set[str] = set()
    for node in _own_nodes(body):
        if isinstance(node, (ast.If, ast.While, ast.For)):
            found.update(bindings([node]).names)
        if isinstance(node, (ast.BoolOp, ast.IfExp, ast.Compare)):
            found.update(named(node))
    return found


def _own_nodes(body: Iterable[ast.AST]) -> Iterable[ast.AST]:
    for node in body:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _own_nodes(ast.iter_child_nodes(node))
