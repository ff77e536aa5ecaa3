"""Which nodes oneDNN runs: ``recipe`` is a provider of the native program, ``joint`` a joiner."""

from __future__ import annotations

from collections.abc import Callable

from msnb.core.storage.memory_format import BlockedFormat
from msnb.devices.cpu.native_kernel import NativeKernel, ViewOf
from msnb.devices.cpu.onednn.bias_epilogue import bias_of
from msnb.devices.cpu.onednn.c_api import OneDNNError, api
from msnb.devices.cpu.onednn.convolution import block, conv2d, conv2d_input_grad, conv2d_weight_grad, gradient_blocks
from msnb.devices.cpu.onednn.matmul import matmul
from msnb.devices.cpu.onednn.primitive_chain import NotSupported
from msnb.devices.cpu.onednn.transpose import transpose
from msnb.devices.cpu.onednn.weight_reorder import copied_out
from msnb.ir.graph import Node, Value

_MAKERS: dict[str, Callable[[Node, ViewOf], NativeKernel]] = {
    "block": block,
    "conv2d": conv2d,
    "conv2d_input_grad": conv2d_input_grad,
    "conv2d_weight_grad": conv2d_weight_grad,
    "matmul": matmul,
    "transpose": transpose,
    "unblock": copied_out,
}


_WITH_BIAS: dict[str, Callable[[Node, ViewOf, Value | None], NativeKernel]] = {"conv2d": conv2d, "matmul": matmul}


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How oneDNN runs ``node``; None where it does not."""
    make = _MAKERS.get(node.op.name)
    if make is None or api() is None:
        return None
    try:
        return make(node, view_of)
    except (NotSupported, OneDNNError):
        return None


def joint(node: Node, reader: Node, view_of: ViewOf) -> NativeKernel | None:
    """A product or convolution with the bias that a group adds to it; None where it is not that."""
    make, bias = _WITH_BIAS.get(node.op.name), bias_of(node, reader)
    if make is None or bias is None or api() is None:
        return None
    try:
        return make(node, view_of, bias)
    except (NotSupported, OneDNNError):
        return None


def blocks_of(node: Node, view_of: ViewOf) -> BlockedFormat | None:
    """The blocks in which the result of a conv2d_weight_grad is made; None where it lies plain."""
    if api() is None:
        return None
    try:
        return gradient_blocks(node, view_of)
    except (NotSupported, OneDNNError):
        return None
