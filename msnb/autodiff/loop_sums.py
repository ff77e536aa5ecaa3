"""Sums over the turns of a backward Scan, taken outside of it: the gradients of what no turn changes.

    dW = 0                                          dG rows: the Scan gives G_t, which it has anyway
    for t:  ...;  dW = dW + x_t^T G_t       -->     dW = [x_0; x_1; ...]^T [G_0; G_1; ...]       one product

A product of matrices summed over turns is one product over (turns, rows): it uses the machine better than many small
ones, and nothing is added up in memory turn by turn. The factors are rows that the loop is handed (residuals) or gives;
what is not yet given becomes one more row. A sum over axes (a bias) moves out where its rows are there anyway. Linear
views around a term (the transpose of a weight) are laid around the sum instead. Every other term is added up inside.

The order of the additions differs from that of a loop that was written out; each program has one order, in every mode.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from msnb.autodiff.gradient_rules import add_up
from msnb.core import Size, TensorType
from msnb.ir import GraphBuilder, Node, Value
from msnb.ops.definition import find, has_sizes, product

_VIEWS = ("transpose", "reshape")


@dataclass
class Term:
    """One term of a gradient, to be summed outside.

    Attributes:
        factors: two matrices of a product, or the one value that is summed; each a value of the body, and whether it is
            read transposed.
        views: the linear views around it, from the outside in.
        shape: of the sum of one value.
    """

    factors: list[tuple[Value, bool]]
    views: list[Node]
    shape: tuple[Any, ...]


@dataclass
class LoopSums:
    """The terms of all gradients of a body, told apart.

    Args:
        rows: params of the body that are rows of what the loop is handed.
        same: params that no turn changes.
        given: values that the loop gives as rows already.

    Attributes:
        extra: values that must become rows as well.
        terms: per gradient, the terms that move out; inside: per gradient what is added up turn by turn, or None.
    """

    rows: Sequence[Value]
    same: Sequence[Value]
    given: Sequence[Value]
    extra: list[Value] = field(default_factory=list)
    terms: list[list[Term]] = field(default_factory=list)
    inside: list[Any] = field(default_factory=list)

    def split(self, b: GraphBuilder, grads: Sequence[Any]) -> None:
        """Look at the gradients of one turn; what stays inside is built with ``b``."""
        found = [[(v, self._term(v)) for v in _added(b.lift(g))] for g in grads]
        for term in (t for terms in found for _, t in terms if t is not None and len(t.factors) == 2):
            self.extra += [v for v, _ in term.factors if not self._is_row(v)]
        for terms in found:
            self.terms.append([t for _, t in terms if self._moves(t)])  # type: ignore[misc]
            rest = [b.wrap(v) for v, t in terms if not self._moves(t)]
            self.inside.append(functools.reduce(add_up, rest) if rest else None)

    def _is_row(self, value: Value) -> bool:
        return value in self.rows or value in self.given or value in self.extra

    def _moves(self, term: Term | None) -> bool:
        return term is not None and (len(term.factors) == 2 or self._is_row(term.factors[0][0]))

    def _term(self, value: Value) -> Term | None:
        views: list[Node] = []
        while value.node is not None and value.node.op.name in _VIEWS:
            views.append(value.node)
            value = value.node.inputs[0]
        node = value.node
        if node is not None and node.op.name == "matmul" and all(_rank(v) == 2 for v in node.inputs):
            factors = [_turned(v) for v in node.inputs]
            return Term(factors, views, ()) if all(self._varies(v) for v, _ in factors) else None
        shape = value.type.shape if isinstance(value.type, TensorType) else ()
        if node is not None and node.op.name == "sum_to":
            value = node.inputs[0]
        return Term([(value, False)], views, shape) if self._varies(value) else None

    def _varies(self, value: Value) -> bool:
        """Whether it can be a row: a tensor of known size that the turns make or are handed."""
        made = value.node is None or bool(value.node.inputs)
        return made and value not in self.same and has_sizes(value.type)


def sum_outside(terms: Sequence[Term], stacked: dict[Value, Any], length: Size, inside: Any) -> Any:
    """The gradient: the terms summed over all turns, and what the loop added up (None: nothing).

    Args:
        stacked: values of the body -> their rows of all turns [length, ...].
    """
    total = inside
    for term in terms:
        rows = [(stacked[v], turned) for v, turned in term.factors]
        if len(rows) == 2:
            (x, x_turned), (y, y_turned) = rows
            found = find("matmul")(_joined(x, length, x_turned, 1), _joined(y, length, y_turned, 0))
        else:
            found = find("sum_to")(rows[0][0], shape=term.shape)
        for node in reversed(term.views):
            found = node.op(found, **node.attrs)
        total = found if total is None else add_up(total, found)
    return total


def _joined(x: Any, length: Size, turned: bool, axis: int) -> Any:
    """Matrices [length, a, b] (or their transposes) as one, joined along ``axis`` of what is read."""
    a, b = x.shape[1:]
    if turned:
        return find("transpose")(_joined(x, length, False, 1 - axis), perm=(1, 0))
    if axis == 0:
        return find("reshape")(x, shape=(product((length, a)), b))
    return find("reshape")(find("transpose")(x, perm=(1, 0, 2)), shape=(a, product((length, b))))


def _added(value: Value) -> list[Value]:
    """The values that a value is the sum of."""
    node = value.node
    if node is None or node.op.name != "add" or any(v.type is not value.type for v in node.inputs):
        return [value]
    return [term for v in node.inputs for term in _added(v)]


def _turned(value: Value) -> tuple[Value, bool]:
    """A matrix, and whether ``value`` is its transpose."""
    node = value.node
    if node is not None and node.op.name == "transpose" and node.attrs["perm"] == (1, 0):
        return node.inputs[0], True
    return value, False


def _rank(value: Value) -> int:
    return value.type.ndim if isinstance(value.type, TensorType) else -1
