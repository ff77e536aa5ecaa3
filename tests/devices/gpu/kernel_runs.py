"""One operation through its native kernels on the simulator, and through its reference body."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import msnb as ms
from msnb.devices.codegen.value_views import Views
from msnb.devices.gpu.codegen.gpu_kernel import FAULT, TAG, GpuKernel, module_text
from msnb.devices.gpu.program.lowered_node import LoweredNode
from msnb.devices.gpu.program.node_lowering import lowered
from msnb.devices.gpu.simt import SimtModule
from msnb.ops.definition.record import find
from tests.devices.cpu.codegen_programs import REFERENCE, buffers, close, one_op

GUARD = 64
"""Bytes around every buffer that no kernel may touch."""


class KernelRun:
    """What a native run of a node gives.

    Attributes:
        outs: the results; error: what the fault word says, None where it says nothing.
        launches: how many there were.
    """

    def __init__(self, way: LoweredNode, args: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        self.args, self.outs, self.launches = [_placed(a) for a in args], [_placed(o) for o in outs], 0
        self.error: Exception | None = None
        for part in way.parts:
            self._part(part.kernel, [self.args[i] for i in part.reads], [self.outs[j] for j in part.writes])

    def _part(self, kernel: GpuKernel, reads: list[np.ndarray], writes: list[np.ndarray]) -> None:
        word, tag = _placed(np.zeros(2, np.int64)), 40
        held = [*reads, *writes, *([_placed(np.full(kernel.workspace, 0xFF, np.uint8))] if kernel.workspace else [])]
        addresses = {**{k: b.ctypes.data for k, b in enumerate(held)}, FAULT: word.ctypes.data, TAG: tag}
        allowed = [(b.ctypes.data, b.nbytes, len(reads) <= k) for k, b in enumerate([*held, word]) if b.nbytes]
        module = module_of(module_text([kernel]))
        for launch in kernel.launches:
            assert launch.grid[0] < 2**31 and launch.block[0] <= 1024
            self.launches += 1
            given = [addresses[i] for i in launch.operands]
            module.launch(launch.function, launch.grid, launch.block, given, launch.shared_bytes, allowed)
        if word[0]:
            self.error = kernel.faults[int(word[0]) - tag](int(word[1]))


def _placed(a: np.ndarray) -> np.ndarray:
    """The same values at a multiple of 16 bytes."""
    raw = np.zeros(a.nbytes + 2 * GUARD, np.uint8)
    first = GUARD + -(raw.ctypes.data + GUARD) % 16
    found = raw[first : first + a.nbytes].view(a.dtype).reshape(a.shape)
    found[...] = a
    return found


@functools.lru_cache(maxsize=512)
def module_of(text: str) -> SimtModule:
    return SimtModule(text)


def native(name: str, args: Sequence[Any], attrs: dict[str, Any]) -> KernelRun:
    """The native run; asserts that there is one."""
    tensors = [ms.Tensor(a) for a in args]
    graph = one_op(find(name), tensors, attrs)
    node = graph.nodes[-1]
    way = lowered(node, Views().of, False)
    assert way is not None and way.parts and way.library is None, f"{name} has no kernel"
    assert list(way.reads) == list(node.inputs)
    outs = [np.full(v.type.ints(), 0x77, np.uint8).astype(v.type.dtype.numpy) for v in node.outputs]
    return KernelRun(way, [np.asarray(b) for b in buffers(tensors)], outs)


def wanted(name: str, args: Sequence[Any], attrs: dict[str, Any]) -> list[np.ndarray]:
    """What the reference body gives."""
    tensors = [ms.Tensor(a) for a in args]
    with np.errstate(all="ignore"):
        return [np.asarray(a) for a in REFERENCE.compile(one_op(find(name), tensors, attrs))(buffers(tensors))]


def same(name: str, args: Sequence[Any], attrs: dict[str, Any]) -> KernelRun:
    """Both, bit for bit; a NaN is a NaN."""
    run = native(name, args, attrs)
    assert run.error is None
    for got, want in zip(run.outs, wanted(name, args, attrs), strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_array_equal(_bits(got), _bits(want))
    return run


def _bits(a: np.ndarray) -> np.ndarray:
    flat = np.array(a).reshape(-1)
    flat[flat != flat] = 0
    return flat.view(np.uint8)


def nearly(name: str, args: Sequence[Any], attrs: dict[str, Any], ulps: float, floor: float = 0.0) -> KernelRun:
    """Both, up to some units in the last place."""
    run = native(name, args, attrs)
    assert run.error is None
    for got, want in zip(run.outs, wanted(name, args, attrs), strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        close(got, want, ulps, floor)
    return run
