"""The operators of a program by the names that users and files give them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msnb.base import AttributeValueError
from msnb.ir.graph import Node
from msnb.parallel.sharding.device_mesh import Mesh
from msnb.parallel.sharding.strategies import OpSignature, Strategy, chosen


@dataclass(frozen=True)
class OperatorNames:
    """Names of the operators that have a choice.

    Attributes:
        nodes: those operators, in the order of the program; names: node -> its name; calls: node -> what it computes.
    """

    nodes: Sequence[Node]
    names: Mapping[Node, str]
    calls: Mapping[Node, OpSignature]

    def fixed(self, wanted: Mapping[str, Any], mesh: Mesh) -> dict[Node, Strategy]:
        """Strategies by name as strategies of nodes.

        Args:
            wanted: op name (or Cell path, or op kind) -> split counts per input; mesh: the devices.

        Raises:
            ValueError: an unknown name, or a strategy that is wrong.
        """
        out: dict[Node, Strategy] = {}
        for name, splits in wanted.items():
            nodes = self.named(name)
            for node in nodes:
                out[node] = chosen(self.names[node], self.calls[node], splits, mesh)
        return out

    def named(self, name: str) -> Sequence[Node]:
        """The nodes that go by a name: their own, their kind (in MindSpore's spelling too), or the end of a path (a
        network's name in a step)."""
        found = self.matching(name)
        if found:
            return found
        known = [self.names[n] for n in self.nodes]
        near = difflib.get_close_matches(name, known, 3, 0.4)
        raise AttributeValueError(
            f"no operator of this program is called {name!r}.",
            hint=f"legal: {', '.join(near or known[:8])}" + ("" if len(known) <= 8 else " ..."),
        )

    def matching(self, name: str) -> list[Node]:
        """The nodes that go by a name; none where no node does."""
        nodes = self.nodes
        exact = [n for n in nodes if self.names[n] == name]
        kind = [n for n in nodes if n.op.name == name] or [n for n in nodes if _plain(n.op.name) == _plain(name)]
        ends = [n for n in nodes if self.names[n].endswith(f"/{name}") or name.endswith(f"/{self.names[n]}")]
        return exact or kind or ends

    def has(self, name: str) -> bool:
        """Whether a name is that of an operator."""
        return any(self.names[n] == name for n in self.nodes)


def _plain(name: str) -> str:
    """The kind of an op, however it is spelled: MindSpore says ``Conv2D``, ``ExpandDims``."""
    return name.replace("_", "").lower()
