"""The intermediate representation that both engines write and every tool reads."""

import msnb.ir.text.printer  # registers what str(graph) gives
from msnb.ir.builder import ClosedFunction, Const, GraphBuilder, SymbolicTensor
from msnb.ir.control_flow import CALL, FUSED, GRADIENT, HOST_CALL, IF, SCAN, WHILE, HostFn, host_call, replay
from msnb.ir.custom_gradient import CUSTOM_GRADIENT, WITH_VJP
from msnb.ir.frozen_graph import SavedGraph, outputs_of, python_calls
from msnb.ir.graph import Graph, Module, Node, Value, copy_node
from msnb.ir.size_binding import BoundGraph, SizeError, bind_sizes

__all__ = [
    "BoundGraph", "CALL", "CUSTOM_GRADIENT", "ClosedFunction", "Const", "FUSED", "GRADIENT", "Graph", "GraphBuilder",
    "HOST_CALL", "HostFn", "IF", "Module", "Node", "SCAN", "SavedGraph", "SizeError", "SymbolicTensor", "Value",
    "WHILE", "WITH_VJP", "bind_sizes", "copy_node", "host_call", "outputs_of", "python_calls", "replay",
]  # fmt: skip
