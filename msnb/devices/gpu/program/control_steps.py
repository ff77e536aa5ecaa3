"""Control flow of a program: bodies are programs, and the host reads what decides.

If       the host reads the test and runs one body          While    ... before every turn
Scan     as many turns as the graph says                    Call     another graph of the module
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb.devices.reference_executor import ReferenceProgram
from msnb.ir.graph import Graph, Node


class ControlFlow(ReferenceProgram):
    """The control nodes of a graph, with bodies as programs of the GPU."""

    def __init__(self, device: Any, graph: Graph) -> None:
        self.device, self.graph, self._module = device, graph, graph.module
        self._programs: dict[int, Any] = {}

    def _program(self, graph: Graph) -> Any:
        found = self._programs.get(id(graph))
        if found is None:
            found = self._programs[id(graph)] = self.device.compile(graph)
        return found

    def function(self, node: Node) -> Callable[..., Any]:
        """From arrays to a list of arrays."""
        return self._control(node)


def control_function(device: Any, graph: Graph, node: Node) -> Callable[..., Any]:
    """What a control node does."""
    return ControlFlow(device, graph).function(node)
