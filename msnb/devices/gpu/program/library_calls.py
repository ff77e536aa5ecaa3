"""Nodes that a library of NVIDIA's runs: products through cuBLASLt, convolutions through cuDNN."""

from __future__ import annotations

from collections.abc import Callable

from msnb.devices.gpu.program.image_calls import convolution
from msnb.devices.gpu.program.library_call import LibraryCall, ViewOf
from msnb.devices.gpu.program.product_calls import product
from msnb.ir.graph import Node

_MAKERS: dict[str, Callable[[Node, ViewOf], LibraryCall | None]] = {
    "matmul": product,
    "conv2d": convolution,
    "conv2d_input_grad": convolution,
    "conv2d_weight_grad": convolution,
}


def library_call(node: Node, view_of: ViewOf) -> LibraryCall | None:
    """The call that does a node's work, if a library is there and takes it."""
    maker = _MAKERS.get(node.op.name)
    return None if maker is None else maker(node, view_of)
