"""Programs of the GPU without a GPU: the fake CuPy runs their kernels thread by thread, with every check on.

both(graph, args)        the results of the GPU's program beside those of the reference bodies
fused_both(graph, args)  the same of the graph after fusion; every group must have become kernels
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import msnb as ms
from msnb.devices.gpu.device import GPU
from msnb.graph.compile.passes.fusion.grouping import fuse
from msnb.ir.control_flow import FUSED
from msnb.ir.graph import Graph
from tests import fake_cupy
from tests.devices.cpu.codegen_programs import REFERENCE, buffers

LENGTHS = (1, 2, 3, 31, 33, 255, 257, 1000, 1025)


@functools.lru_cache(maxsize=1)
def device() -> GPU:
    """One GPU of the fake for a module's programs: equal kernels are made once."""
    return GPU(fake_cupy)


def compiled(graph: Graph) -> Any:
    """The GPU's program of a graph at O1."""
    with ms.set_context(jit_level="O1"):
        return device().compile(graph)


def up(args: Any) -> list[Any]:
    """Arguments on the GPU; Python numbers stay."""
    return [fake_cupy.asarray(a) if isinstance(a, (np.ndarray, np.generic)) else a for a in buffers(args)]


def down(results: Any) -> list[Any]:
    """Results on the host."""
    return [a.get() if isinstance(a, fake_cupy.ndarray) else a for a in results]


def both(graph: Graph, args: Any, bodies: Any = ()) -> list[tuple[Any, Any]]:
    """What the GPU and the reference give, of equal dtypes and shapes.

    Args:
        graph: the program.
        args: tensors and numbers.
        bodies: names of the operations that may run as bodies over CuPy; None: all.
    """
    program = compiled(graph)
    if bodies is not None:
        assert program.built is not None, program.reason
        assert set(program.host_steps) <= set(bodies), f"no kernel for {program.host_steps}"
    with np.errstate(all="ignore"):
        want = REFERENCE.compile(graph)(buffers(args))
        got = down(program(up(args)))
    for x, y in zip(got, want, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype and np.shape(x) == np.shape(y)
    return list(zip(got, want))


def fused_both(graph: Graph, args: Any, every: bool = True) -> list[tuple[Any, Any]]:
    """The same of a graph whose operations were grouped; the reference runs it as it was written."""
    fused = fuse(graph, every)
    program = compiled(fused)
    assert program.built is not None, program.reason
    lost = [s.node for s in program.built.steps if s.node is not None and s.node.op is FUSED and not s.capturable]
    assert not lost and "fused" not in program.host_steps, "a group has no kernel"
    with np.errstate(all="ignore"):
        return list(zip(down(program(up(args))), REFERENCE.compile(graph)(buffers(args)), strict=True))
