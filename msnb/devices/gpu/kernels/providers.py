"""All recipes of kernels that no loop nest describes, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable

from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.kernels import class_check, random_draws
from msnb.devices.gpu.kernels.attention import attention_kernels
from msnb.devices.gpu.kernels.indexing import index_write, scatter_add, table_access
from msnb.devices.gpu.kernels.lines import extremum_places, line_scan, line_sort
from msnb.devices.gpu.kernels.windows import pooling_kernels
from msnb.devices.gpu.program.lowered_node import LoweredNode, ViewOf
from msnb.ir.graph import Node

Provider = Callable[[Node, ViewOf, GpuTarget], LoweredNode | None]

PROVIDERS: tuple[Provider, ...] = (
    table_access.recipe,
    scatter_add.recipe,
    index_write.recipe,
    class_check.recipe,
    pooling_kernels.recipe,
    random_draws.recipe,
    extremum_places.recipe,
    line_scan.recipe,
    line_sort.recipe,
    attention_kernels.recipe,
)
