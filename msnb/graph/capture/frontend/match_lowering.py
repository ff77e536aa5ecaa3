"""``match`` as a chain of ifs, before anything else looks at the tree: what a pattern asks is an expression, converted
like any other, so that a tensor may decide and the methods of a program's classes are called as they are elsewhere.

    match shape:                     __m1__ = shape
        case Circle(r=0):            if (__m2__ := __rt__.class_parts(__m1__, Circle, 0, ("r",))) and __m2__[0] == 0:
            a                            a
        case [x, y] if x > 0:   ==>  elif __rt__.is_sequence(__m1__, 2, True) and (__m3__ := (*__m1__,), ) and (
            b                                x := __m3__[0], y := __m3__[1], ) and x > 0:
                                         b
        case other:                  else:
            c                            other = __m1__; c

The helpers of ``__rt__`` are in ``interpreter.control.match_statement``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from msnb.graph.capture.frontend.ast_templates import expression, written
from msnb.graph.capture.frontend.jump_lowering import DEFINITIONS, blocks

Found = tuple[list[str], dict[str, str]]  # what must be true, in order; the values of the names that are bound


class MatchLowering:
    """Rewrites the ``match`` statements of one function."""

    def __init__(self) -> None:
        self._count = 0

    def block(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """A statement list without ``match``."""
        out: list[ast.stmt] = []
        for node in nodes:
            for inner in () if isinstance(node, DEFINITIONS) else blocks(node):
                inner[:] = self.block(inner)
            out += self._match(node) if isinstance(node, ast.Match) else [node]
        return out

    def _match(self, node: ast.Match) -> list[ast.stmt]:
        subject = self._fresh()
        made = written(f"{subject} = None", node.subject)
        made[0].value = node.subject
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            chain = self._case(case, subject, chain)
        return made + chain

    def _case(self, case: ast.match_case, subject: str, other: list[ast.stmt]) -> list[ast.stmt]:
        tests, names = self._pattern(case.pattern, subject)
        body = case.body
        if case.guard is None:
            body = written("".join(f"{name} = {value}\n" for name, value in names.items()), case.pattern) + body
        elif names:
            tests = [*tests, _bound(names)]
        conditions = [expression(test, case.pattern) for test in tests] + [case.guard] * (case.guard is not None)
        if not conditions:
            return body
        test = conditions[0] if len(conditions) == 1 else ast.BoolOp(ast.And(), conditions)
        return [ast.copy_location(ast.If(ast.copy_location(test, case.pattern), body, other), case.pattern)]

    def _fresh(self) -> str:
        self._count += 1
        return f"__m{self._count}__"

    def _pattern(self, node: Any, value: str) -> Found:
        made: Found = getattr(self, f"_{type(node).__name__}")(node, value)
        return made

    def _MatchValue(self, node: ast.MatchValue, value: str) -> Found:
        return [f"{value} == ({ast.unparse(node.value)})"], {}

    def _MatchSingleton(self, node: ast.MatchSingleton, value: str) -> Found:
        return [f"{value} is {node.value}"], {}

    def _MatchAs(self, node: ast.MatchAs, value: str) -> Found:
        tests, names = ([], {}) if node.pattern is None else self._pattern(node.pattern, value)
        return tests, names if node.name is None else {**names, node.name: value}

    def _MatchStar(self, node: ast.MatchStar, value: str) -> Found:
        return [], {} if node.name is None else {node.name: f"[*{value}]"}

    def _MatchOr(self, node: ast.MatchOr, value: str) -> Found:
        found = [self._pattern(p, value) for p in node.patterns]
        kept = {name: self._fresh() for name in found[0][1]}
        for tests, names in found:
            tests += [_bound({kept[name]: part for name, part in names.items()})] if names else []
        ways = [tests for tests, _ in found]
        return ([] if [] in ways else [" or ".join(" and ".join(f"({test})" for test in way) for way in ways)]), kept

    def _MatchSequence(self, node: ast.MatchSequence, value: str) -> Found:
        count = len(node.patterns)
        star = next((i for i, p in enumerate(node.patterns) if isinstance(p, ast.MatchStar)), None)
        tests = [f"__rt__.is_sequence({value}, {count - (star is not None)}, {star is None})"]
        if all(map(_is_wildcard, node.patterns)):
            return tests, {}
        if star is not None and _is_wildcard(node.patterns[star]):
            found = [self._item(p, value, i if i < star else i - count) for i, p in enumerate(node.patterns)]
        else:
            parts = self._fresh()
            tests.append(_bound({parts: f"(*{value},)"}))
            places = [str(i if star is None or i < star else i - count) for i in range(count)]
            if star is not None:
                places[star] = f"{star}:{star + 1 - count or ''}"
            found = [self._pattern(p, f"{parts}[{place}]") for p, place in zip(node.patterns, places)]
        return _all([(tests, {}), *found])

    def _item(self, node: Any, owner: str, place: int) -> Found:
        """An item that is asked for alone, as Python does it behind ``*_``."""
        if _is_wildcard(node):
            return [], {}
        part = self._fresh()
        key = str(place) if place >= 0 else f"__rt__.length({owner}) - {-place}"
        return _all([([_bound({part: f"{owner}[{key}]"})], {}), self._pattern(node, part)])

    def _MatchMapping(self, node: ast.MatchMapping, value: str) -> Found:
        parts, rest = self._fresh(), self._fresh()
        keys = "(" + "".join(f"{ast.unparse(key)}, " for key in node.keys) + ")"
        tests = [f"__rt__.is_mapping({value})"]
        if node.keys:
            tests.append(f"({parts} := __rt__.values_of({value}, {keys}))")
        found = [(tests, {}), *(self._pattern(p, f"{parts}[{i}]") for i, p in enumerate(node.patterns))]
        if node.rest is not None:
            found.append(([_bound({rest: f"__rt__.rest({value}, {keys})"})], {node.rest: rest}))
        return _all(found)

    def _MatchClass(self, node: ast.MatchClass, value: str) -> Found:
        parts, count = self._fresh(), len(node.patterns)
        asked = f"{value}, {ast.unparse(node.cls)}, {count}, {tuple(node.kwd_attrs)}"
        found = [self._pattern(p, f"{parts}[{i}]") for i, p in enumerate([*node.patterns, *node.kwd_patterns])]
        return _all([([f"({parts} := __rt__.class_parts({asked}))"], {}), *found])


def _all(found: Sequence[Found]) -> Found:
    return [t for tests, _ in found for t in tests], {k: v for _, names in found for k, v in names.items()}


def _is_wildcard(node: ast.pattern) -> bool:
    return isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is None and not getattr(node, "pattern", None)


def _bound(names: dict[str, str]) -> str:
    """An expression that is true and binds the names."""
    return "(" + "".join(f"{name} := {value}, " for name, value in names.items()) + ")"
