"""Algebraic simplification: one walk that applies a table of laws (``laws_*.py``), each with its reason and examples.

    %1 = multiply(x, ~1.0)
    %2 = reshape(%1, shape=(6,))          -->         %3 = reshape(x, shape=(3, 2))
    %3 = reshape(%2, shape=(3, 2))

Operands are simplified before the ops that read them, and what a law emits is looked at again, so chains collapse in
the one walk. Dead operands are left to ``dce``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.graph.compile.rewriting import Answer, Case, GraphRewriter, sweep_pass
from msnb.graph.compile.rewriting.rewrite_rule import RewriteRule
from msnb.graph.compile.rules.arithmetic import ARITHMETIC
from msnb.graph.compile.rules.control_flow import CONTROL
from msnb.graph.compile.rules.loops import LOOPS
from msnb.graph.compile.rules.shape import SHAPES
from msnb.ir.graph import Node, Value

LAWS: tuple[RewriteRule, ...] = (*ARITHMETIC, *SHAPES, *CONTROL, *LOOPS)


class Simplifier:
    """Tries the laws of a node's op in the order of the table."""

    def __init__(self, laws: Sequence[RewriteRule]) -> None:
        self._laws: dict[str, list[RewriteRule]] = {}
        for law in laws:
            for op in law.ops:
                self._laws.setdefault(op, []).append(law)

    def __call__(self, sweep: GraphRewriter, node: Node) -> Answer:
        for law in self._laws.get(node.op.name, ()):
            found = None if law.of_gradients and node.primal is None else law.find(sweep, node)
            if found is None:
                continue
            values = [found] if isinstance(found, Value) else list(found)
            answer = sweep.accept(node, values, law.name, law.text)
            if answer is not None:
                return answer
        return None


def _cases(exact: bool) -> tuple[Case, ...]:
    return tuple(case for law in LAWS if law.exact == exact for case in law.cases)


_EXACT = Simplifier([law for law in LAWS if law.exact])
_ALL = Simplifier(LAWS)
ALGEBRA = sweep_pass(
    "algebra",
    "Laws of algebra that keep every bit: x * 1 is x, two transposes are one, a known test is no choice.",
    _cases(exact=True),
    lambda: _EXACT,
)
ALGEBRA_INEXACT = sweep_pass(
    "algebra_inexact",
    "The same with laws that change last digits (x ** 2 is x * x); nothing runs it unless asked to.",
    _cases(exact=False),
    lambda: _ALL,
)
