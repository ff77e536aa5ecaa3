"""What the passes did and why: a note per rewrite, kept when somebody wants to look.

    Rewrite: pass "algebra", law "x * 1 is x"      before  %3 = multiply(%2, ~1)      after  %2

A note holds nodes, not text: writing one costs nothing until a view asks for words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from msnb.base import events
from msnb.ir.graph import Graph, Node, Value
from msnb.ir.text.printer import node_text


@dataclass(frozen=True)
class Rewrite:
    """One change: which pass made it by which law, the node before, and the values that stand for its results."""

    pass_name: str
    law: str
    graph: str
    before: Node
    after: tuple[Value, ...]
    reason: str = ""

    @property
    def before_text(self) -> str:
        """The node that was there."""
        return node_text(self.before)

    @property
    def after_text(self) -> str:
        """What stands for its results now; empty where it is gone."""
        nodes = dict.fromkeys(v.node for v in self.after if v.node is not None)
        found = [node_text(n) for n in nodes] + [v.name for v in self.after if v.node is None]
        return " ; ".join(found)

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.pass_name}: {self.law}{why}: {self.before_text} -> {self.after_text or 'nothing'}"


class Log:
    """Collects rewrites of one compilation.

    Args:
        keep: keep every note; else only counts per law. Notes are also sent as events ``rewrite`` to who listens.

    Attributes:
        history: the notes, in order (empty unless kept).
        counts: (pass, law) -> how often.
    """

    def __init__(self, keep: bool = False) -> None:
        self.keep = keep
        self.history: list[Rewrite] = []
        self.counts: Counter[tuple[str, str]] = Counter()

    def note(
        self, pass_name: str, law: str, graph: Graph, before: Node, after: Sequence[Value] = (), reason: str = ""
    ) -> None:
        """A rewrite happened."""
        self.counts[pass_name, law] += 1
        if not self.keep and not events.listeners.get("rewrite"):
            return
        rewrite = Rewrite(pass_name, law, graph.name, before, tuple(after), reason)
        if self.keep:
            self.history.append(rewrite)
        events.emit("rewrite", rewrite=rewrite)

    @property
    def total(self) -> int:
        """How many rewrites happened."""
        return sum(self.counts.values())
