"""Whether two graphs are the same program, and where they part if not."""

from __future__ import annotations

from itertools import zip_longest

from msnb.ir.analysis.structural_hash import words
from msnb.ir.graph import Graph


def isomorphic(a: Graph, b: Graph) -> bool:
    """True when ``a`` and ``b`` are one program up to names, places and the standing of constants.

    Args:
        a, b: graphs; the graphs they call are compared too.

    Returns:
        Whether ops, types, attributes, wiring, state and bodies agree, in program order.
    """
    return difference(a, b) is None


def difference(a: Graph, b: Graph) -> str | None:
    """The first word in which two programs part, for a person; None when they are isomorphic."""
    before = ""
    for x, y in zip_longest(words(a), words(b)):
        if x != y:
            return f"after {before!r}: {x!r} in {a.name}, {y!r} in {b.name}"
        if isinstance(x, str) and x.startswith("N "):
            before = x
    return None
