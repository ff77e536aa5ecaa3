"""Makes a program smaller while it still shows the same find: delta debugging on Python's syntax tree.

Any text is a candidate: one that makes no sense fails in the oracle and so does not show the find. First runs of
statements go, halves before single ones, then what is around a block, then expressions become one of their parts.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

Holds = Callable[[str], bool]
KEPT = ("main", "state")  # functions that the runner calls
DATA = ("Tensor", "Parameter", "np.array", "nn.Dense", "nn.BatchNorm1d", "nn.Dropout", "self.register_buffer")


def blocks(tree: ast.AST) -> list[tuple[ast.AST, str]]:
    """Every list of statements, as a node and the name of its field; outer ones first."""
    return [
        (node, name)
        for node in ast.walk(tree)
        for name in ("body", "orelse")
        if isinstance(getattr(node, name, None), list)
    ]


def needed(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.FunctionDef):
        return statement.name in KEPT
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) in ("CALLS", "F")


def without_statements(tree: ast.Module) -> Iterator[ast.Module]:
    """Half of a block, a quarter, ... one statement left out."""
    places = [(i, len(getattr(n, f))) for i, (n, f) in enumerate(blocks(tree))]
    for which, length in places:
        width = length
        while width >= 1:
            for start in range(0, length, width):
                new = copy.deepcopy(tree)
                node, name = blocks(new)[which]
                body = getattr(node, name)
                if any(needed(s) for s in body[start : start + width]):
                    continue
                del body[start : start + width]
                if not body and name == "body" and not isinstance(node, ast.Module):
                    body.append(ast.Pass())
                yield new
            width //= 2


def unwrapped(tree: ast.Module) -> Iterator[ast.Module]:
    """The block of a branch or loop in its place."""
    for which, (node, name) in enumerate(blocks(tree)):
        for i, statement in enumerate(getattr(node, name)):
            for part in ("body", "orelse"):
                if isinstance(statement, ast.If | ast.While | ast.For) and getattr(statement, part):
                    new = copy.deepcopy(tree)
                    node_, name_ = blocks(new)[which]
                    body = getattr(node_, name_)
                    body[i : i + 1] = getattr(body[i], part)
                    yield new


def walked(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of data: tensors, Parameters, arguments of main. Other numbers would be another program."""
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) in DATA:
        return
    if isinstance(tree, ast.Assign) and needed(tree):
        return
    yield tree
    for child in ast.iter_child_nodes(tree):
        yield from walked(child)


def expressions(tree: ast.AST) -> list[tuple[ast.AST, str, int | None]]:
    """Every place of an expression: parent, field, index in a list."""
    found: list[tuple[ast.AST, str, int | None]] = []
    for node in walked(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not (name in ("func", "target") or isinstance(node, ast.arguments)):
                found.append((node, name, None))
            elif isinstance(value, list) and name not in ("targets", "bases", "decorator_list"):
                found += [(node, name, i) for i, v in enumerate(value) if isinstance(v, ast.expr)]
    return found


def at(place: tuple[ast.AST, str, int | None]) -> ast.expr:
    node, name, index = place
    value = getattr(node, name)
    return value if index is None else value[index]  # type: ignore[no-any-return]


def put(place: tuple[ast.AST, str, int | None], new: ast.expr) -> None:
    node, name, index = place
    if index is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[index] = new


def parts(expression: ast.expr) -> list[Any]:
    """What may stand for an expression: its own operands, fewer elements, a number."""
    inner = [c for c in ast.iter_child_nodes(expression) if isinstance(c, ast.expr) and not isinstance(c, ast.Slice)]
    if isinstance(expression, ast.Call):
        inner = [a for a in [*expression.args, getattr(expression.func, "value", None)] if isinstance(a, ast.expr)]
        inner = [a for a in inner if not (isinstance(a, ast.Name) and a.id in ("ops", "ms", "np", "nn"))]
    if isinstance(expression, ast.Tuple | ast.List) and len(expression.elts) > 1:
        for i in range(len(expression.elts)):
            fewer = copy.deepcopy(expression)
            del fewer.elts[i]
            inner.append(fewer)
    if isinstance(expression, ast.Dict):
        inner = []
        for i in range(len(expression.keys)):
            smaller = copy.deepcopy(expression)
            del smaller.keys[i], smaller.values[i]
            inner.append(smaller)
    if isinstance(expression, ast.BinOp | ast.Call | ast.UnaryOp):
        inner.append(ast.Constant(1.0))
    return inner


def simpler(tree: ast.Module) -> Iterator[ast.Module]:
    """One expression replaced by one of its parts."""
    for which, place in enumerate(expressions(tree)):
        for i in range(len(parts(at(place)))):
            new = copy.deepcopy(tree)
            there = expressions(new)[which]
            put(there, parts(at(there))[i])
            yield new


def shrink(text: str, holds: Holds, seconds: float = 120.0) -> str:
    """The smallest text found within the time for which ``holds`` says that the find is still there."""
    end, tree = time.monotonic() + seconds, ast.parse(text)
    heading = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
    tried: set[str] = set()
    progress = True
    while progress:
        progress = False
        for step in (without_statements, unwrapped, simpler):
            again = True
            while again:
                again = False
                for candidate in step(tree):
                    if time.monotonic() > end:
                        return heading + ast.unparse(tree) + "\n"
                    new = ast.unparse(ast.fix_missing_locations(candidate))
                    if new in tried:
                        continue
                    tried.add(new)
                    if len(new) < len(ast.unparse(tree)) and holds(new + "\n"):
                        tree, again, progress = ast.parse(new), True, True
                        break
    return heading + ast.unparse(tree) + "\n"
