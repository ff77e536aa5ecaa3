"""Control flow of a program: bodies are programs, and the host reads what decides.

If       the host reads the test and runs one body          While    ... before every turn
Scan     as many turns as the graph says                    Call     another graph of the module

Where the host has nothing to read, turns and calls are recorded into the CUDA graph of the program that they stand in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb.devices.reference_executor import ReferenceProgram
from msnb.ir import Graph, Node, control_flow


class ControlFlow(ReferenceProgram):
    """The control nodes of a graph, with bodies as programs of the GPU."""

    device: Any
    graph: Graph

    def __init__(self, device: Any, graph: Graph) -> None:
        self.device, self.graph, self._module = device, graph, graph.module
        self._programs: dict[int, Any] = {}

    def _program(self, graph: Graph) -> Any:
        found = self._programs.get(id(graph))
        if found is None:
            found = self._programs[id(graph)] = self.device.compile(graph, is_body=True)
        return found

    def function(self, node: Node) -> Callable[..., Any]:
        """From arrays to a list of arrays."""
        return self._control(node)


def control_function(device: Any, graph: Graph, node: Node) -> Callable[..., Any]:
    """What a control node does."""
    return ControlFlow(device, graph).function(node)


def is_recordable(graph: Graph, node: Node) -> bool:
    """Whether the host has no part in a node: no test to read, nothing to print, in its bodies neither.

    Args:
        graph: in whose module callees are.
        node: of it.
    """
    if "control" not in node.op.traits:
        return "effect" not in node.op.traits or "collective" in node.op.traits
    bodies = list(node.graphs)
    if node.op is control_flow.CALL and graph.module is not None:
        bodies.append(graph.module.graphs[node.attrs["callee"]])
    known = node.op in (control_flow.SCAN, control_flow.CALL, control_flow.FUSED)
    return known and all(is_recordable(body, n) for body in bodies for n in body.nodes)


def turns(node: Node) -> int:
    """How often a node's body runs, as far as the graph says."""
    return int(node.attrs["length"]) if node.op is control_flow.SCAN else 1
