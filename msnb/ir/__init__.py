"""The intermediate representation that both engines write and every tool reads."""

import msnb.ir.text.printer  # registers what str(graph) gives
from msnb.ir.builder import Const, GraphBuilder
from msnb.ir.control_flow import CALL, FUSED, HostFn, replay
from msnb.ir.frozen_graph import SavedGraph
from msnb.ir.graph import Graph, Module, Node, Value, copy_node

__all__ = [
    "CALL", "Const", "FUSED", "Graph", "GraphBuilder", "HostFn", "Module", "Node", "SavedGraph", "Value", "copy_node",
    "replay",
]  # fmt: skip
