"""The intermediate representation that both engines write and every tool reads."""

import msnb.ir.text.printer  # registers what str(graph) gives
from msnb.ir.builder import Const, GraphBuilder
from msnb.ir.control_flow import CALL, FUSED, HOST_CALL, SCAN, HostFn, replay
from msnb.ir.custom_gradient import CUSTOM_GRADIENT, WITH_VJP
from msnb.ir.frozen_graph import SavedGraph, python_calls
from msnb.ir.graph import Graph, Module, Node, Value, copy_node
from msnb.ir.size_binding import BoundGraph

__all__ = [
    "BoundGraph", "CALL", "CUSTOM_GRADIENT", "Const", "FUSED", "Graph", "GraphBuilder", "HOST_CALL", "HostFn",
    "Module", "Node", "SCAN", "SavedGraph", "Value", "WITH_VJP", "copy_node", "python_calls", "replay",
]  # fmt: skip
