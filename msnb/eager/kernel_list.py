"""Kernels one after another on buffers: what is left of operations whose types are known.

places     operands, then constants, then results in the order in which they are made
step       (kernel, places of its operands, number of its results)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import device_registry
from msnb.devices.result_memory import careful
from msnb.ir.graph import Graph
from msnb.ops.elementwise.constant import constant

KernelStep = tuple[Callable[..., Any], tuple[int, ...], int]


class KernelList:
    """A straight program. Everything made on the way lives until it ends."""

    __slots__ = ("constants", "steps")

    def __init__(self, constants: list[Any], steps: list[KernelStep]) -> None:
        self.constants: list[Any] = constants
        self.steps: list[KernelStep] = steps

    def __call__(self, operands: list[Any]) -> list[Any]:
        """The buffers of all places; ``operands`` are the first of them, and the list is filled up."""
        operands += self.constants
        for kernel, refs, count in self.steps:
            if count != 1:
                operands += kernel(*[operands[i] for i in refs])
            elif len(refs) == 2:
                operands.append(kernel(operands[refs[0]], operands[refs[1]]))
            else:
                operands.append(kernel(*[operands[i] for i in refs]))
        return operands


def kernel_list(graph: Graph) -> tuple[KernelList, Sequence[int]]:
    """A graph without control flow as kernels of the current device, and the places of its outputs."""
    device = device_registry.current()
    consts = [n for n in graph.nodes if n.op is constant]
    nodes = [n for n in graph.nodes if n.op is not constant]
    values = [*graph.params, *(n.out for n in consts), *(v for n in nodes for v in n.outputs)]
    place = {v: i for i, v in enumerate(values)}
    held = [n.attrs["value"] for n in consts]
    constants = [c.data if c.type.weak else device.from_host(np.asarray(c.data)) for c in held]
    steps = []
    for node in nodes:
        types = tuple(v.type for v in node.inputs)
        kernel = careful(device, node.op, types, node.attrs, [v.type for v in node.outputs])
        steps.append((kernel, tuple([place[v] for v in node.inputs]), len(node.outputs)))
    return KernelList(constants, steps), [place[v] for v in graph.outputs]
