"""All recipes of kernels that no loop nest describes, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable

from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.kernels import arg_extreme, class_index, cumulative, draws, gather, pooling, scatter_add
from msnb.devices.gpu.program.lowered_node import LoweredNode, ViewOf
from msnb.ir.graph import Node

Provider = Callable[[Node, ViewOf, GpuTarget], LoweredNode | None]

PROVIDERS: tuple[Provider, ...] = (
    gather.recipe,
    scatter_add.recipe,
    class_index.recipe,
    pooling.recipe,
    draws.recipe,
    arg_extreme.recipe,
    cumulative.recipe,
)
