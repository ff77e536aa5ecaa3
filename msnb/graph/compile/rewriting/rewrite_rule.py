"""Algebraic laws: what a law is, and which tempting ones are not here.

A law rewrites one node, looking at what made its operands. It must keep every value bit for bit, NaN, infinities and
the sign of zero included; a law that does not says so (``exact=False`` and ``differs``) and is applied only by the
pass ``algebra_inexact``, which nothing runs by default: graph mode gives what eager mode gives.

Not here, and why (``REFUSED``):  x * 0 is not 0 where x is NaN or infinite;  x - x is not 0 where x is infinite;
x + 0 of floats is not x where x is -0.0;  x / x is not 1 at 0;  exp(log(x)) is not x for x < 0 nor in the last digit;
(x + y) - y is not x after rounding;  sqrt(x * x) is not x for x < 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msnb.core import TensorType
from msnb.graph.compile.rewriting.node_facts import array_of, const_of
from msnb.graph.compile.rewriting.pass_record import Case
from msnb.graph.compile.rewriting.rewriter import GraphRewriter
from msnb.ir.graph import Node, Value

Found = Value | Sequence[Value] | None


@dataclass(frozen=True)
class RewriteRule:
    """A rewriting of one node.

    Attributes:
        name: short, for notes.
        text: the law as a person writes it.
        ops: names of the ops it looks at.
        find: (sweep, node) -> the value (or values) the node stands for, or None where the law does not apply.
        cases: examples before and after; equal texts show where it must not apply.
        of_gradients: it is for nodes of gradients alone. What a program itself computes element by element rounds as it
            is written: where equals are subtracted, one that is rounded otherwise leaves noise.
        exact: values are kept bit for bit; otherwise ``differs`` says by how much.
    """

    name: str
    text: str
    ops: tuple[str, ...]
    find: Callable[[GraphRewriter, Node], Found]
    cases: tuple[Case, ...]
    exact: bool = True
    differs: str = ""
    of_gradients: bool = False


REFUSED: dict[str, str] = {
    "x * 0 is 0": "NaN * 0 and inf * 0 are NaN, and -1 * 0.0 is -0.0",
    "x - x is 0": "inf - inf and NaN - NaN are NaN",
    "x + 0 is x for floats": "-0.0 + 0.0 is 0.0 (adding -0.0 and subtracting 0.0 are in the table)",
    "x / x is 1": "0 / 0 is NaN",
    "exp(log(x)) is x": "log of a negative number is NaN, and both round",
    "(x + y) - y is x": "the sum rounds",
    "sqrt(x * x) is abs(x)": "x * x overflows and underflows",
    "x == x is True": "NaN == NaN is False",
    "sum of one float is the float": "sums start at 0.0, and 0.0 + -0.0 is 0.0",
    "0 / x is 0": "0 / 0 is NaN",
    "relu(relu(x)) is relu(x)": "true, but nobody writes it",
}


def op_of(value: Value, *names: str) -> Node | None:
    """The node that made ``value`` if its op is one of ``names``."""
    node = value.node
    return node if node is not None and node.op.name in names else None


def kind(value: Value) -> str:
    """``int`` (bool too), ``float`` or ``complex``; ``other`` for what is not a tensor."""
    if not isinstance(value.type, TensorType):
        return "other"
    return ("int", "int", "float", "complex")[value.type.dtype.category]


def other_operand(node: Node, test: Callable[[Value], bool]) -> Value | None:
    """For a commutative op of two operands: the one beside the one that passes ``test``."""
    x, y = node.inputs
    if test(y):
        return x
    return y if test(x) else None


def truth(value: Value) -> bool | None:
    """The truth of a constant with one truth for all its elements, else None."""
    const = const_of(value)
    if const is None:
        return None
    flags = array_of(const) != 0
    return None if flags.size == 0 or bool(flags.all()) != bool(flags.any()) else bool(flags.all())
