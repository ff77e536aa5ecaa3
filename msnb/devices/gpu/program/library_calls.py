"""Nodes that a library of NVIDIA's runs: products through cuBLASLt, convolutions through cuDNN."""

from __future__ import annotations

from msnb.devices.gpu.program.image_calls import convolution
from msnb.devices.gpu.program.library_call import LibraryCall, ViewOf
from msnb.devices.gpu.program.product_calls import product
from msnb.ir.graph import Node
from msnb.ops.linalg.matmul import matmul
from msnb.ops.spatial.convolution_records import CONV2D, CONV2D_INPUT_GRAD, CONV2D_WEIGHT_GRAD

_CONVOLUTIONS = frozenset((CONV2D, CONV2D_INPUT_GRAD, CONV2D_WEIGHT_GRAD))


def library_call(node: Node, view_of: ViewOf) -> LibraryCall | None:
    """The call that does a node's work, if a library is there and takes it."""
    if node.op is matmul:
        return product(node, view_of)
    return convolution(node, view_of) if node.op in _CONVOLUTIONS else None
