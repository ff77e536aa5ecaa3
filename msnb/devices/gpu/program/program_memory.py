"""The memory of a program between its calls, and what a call brings to it.

    arguments --bind--> arrays that kernels may read (and write, where state is updated) --environment--> addresses

Constants, the arena and Python numbers stay on the device. A parameter is updated where it lies, if nobody else holds
it, else in a copy that takes its place.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.core import TensorType
from msnb.devices.gpu.program.buffers import ARENA, CELL, CONST, PARAM, RESULT, DeviceBuffer, Environment
from msnb.devices.gpu.program.step_builder import ProgramBuild
from msnb.ir.graph import Graph, type_of

ALIGN = 16


class ProgramMemory:
    """The arrays of a program.

    Args:
        device: the GPU.
        graph, built: the program, and how it is laid out.

    Attributes:
        consts: the constants on the device; arena: an array, from the first run on.
        tensors: (param, its buffer, type); fresh: results that are made, with their types.
    """

    def __init__(self, device: Any, graph: Graph, built: ProgramBuild) -> None:
        self.device, self.built = device, built
        self.consts: list[Any] = [device.from_host(data) for _, data in built.consts]
        self.tensors: list[tuple[int, DeviceBuffer, TensorType]] = [
            (b.index, b, type_of(graph.params[b.index])) for b in built.params if b is not None
        ]
        self.fresh: list[tuple[DeviceBuffer, TensorType]] = [
            (r, type_of(graph.outputs[r.index]))
            for r in dict.fromkeys(r for r in built.results if isinstance(r, DeviceBuffer))
        ]
        self.arena: Any = None
        self._cells = [(b, t) for _, b, t in self.tensors if b.kind == CELL]
        self._numbers = np.zeros(max(len(self._cells), 1), np.uint64)
        wide = any(t.dtype.itemsize > self._numbers.itemsize for _, t in self._cells)
        cells = [self._numbers[k : k + 1] for k in range(len(self._cells))]
        self._views = None if wide else [cell.view(t.dtype.numpy) for cell, (_, t) in zip(cells, self._cells)]
        self._given = [(i, t.size, t.dtype.numpy, i in built.updated) for i, b, t in self.tensors if b.kind != CELL]
        self._cell_array = device.xp.zeros(max(len(self._cells), 1), np.uint64)
        self._sent: bytes | None = None

    def bind(self, args: Sequence[Any]) -> list[Any] | None:
        """The arguments, dense, state in arrays that may be written; None where they are not what the graph says."""
        array, bound = self.device.xp.ndarray, list[Any]([None] * len(args))
        for i, size, dtype, updated in self._given:
            owners = sys.getrefcount(args[i])
            a = args[i]
            if not isinstance(a, array) or a.size != size or a.dtype != dtype:
                return None
            if not a._c_contiguous or a.data.ptr % ALIGN:
                a = self.device.xp.array(a, order="C", copy=True)
            elif updated and (owners > _OWNED or a.base is not None):
                a = a.copy()
            bound[i] = a
        return bound if self._send_numbers(args) else None

    def _send_numbers(self, args: Sequence[Any]) -> bool:
        """Python numbers into device memory, if they changed; False for some that it has no room for."""
        if self._views is None:
            return False
        for (buffer, _), view in zip(self._cells, self._views):
            try:
                view[0] = args[buffer.index]
            except (TypeError, ValueError, OverflowError):
                return False
        told = self._numbers.tobytes()
        if self._cells and told != self._sent:
            self._cell_array.set(self._numbers)
            self._sent = told
        return True

    def new_results(self) -> list[Any]:
        """Arrays for what the program makes."""
        empty = self.device.xp.empty
        return [empty(t.ints(), t.dtype.numpy) for _, t in self.fresh]

    def environment(self, bound: list[Any], results: list[Any], args: Sequence[Any]) -> Environment:
        """Arrays and addresses of all buffers; ``args`` has the Python numbers."""
        built = self.built
        if self.arena is None and built.arena:
            self.arena = self.device.xp.empty(built.arena, np.uint8)
        arrays: list[Any] = [None] * len(built.buffers)
        addresses = [0] * len(built.buffers)
        start = self.arena.data.ptr if built.arena else 0
        cells = {id(b): k for k, (b, _) in enumerate(self._cells)}
        made = {b.number: a for (b, _), a in zip(self.fresh, results)}
        for n, buffer in enumerate(built.buffers):
            if buffer.kind == ARENA:
                addresses[n], arrays[n] = start + buffer.offset, _Slice(self.arena, buffer.offset, buffer.size)
                continue
            if buffer.kind == PARAM:
                arrays[n] = bound[buffer.index]
            elif buffer.kind == CELL:
                arrays[n] = self._cell_array[cells[id(buffer)] : cells[id(buffer)] + 1]
            elif buffer.kind == CONST:
                arrays[n] = self.consts[buffer.index]
            elif buffer.kind == RESULT:
                arrays[n] = made[n]
            addresses[n] = arrays[n].data.ptr
        return Environment(self.device.xp, self.device.stream, arrays, addresses, args)


class _Slice:
    """A piece of the arena, which becomes an array when somebody asks."""

    def __init__(self, arena: Any, offset: int, size: int) -> None:
        self._arena, self._offset, self._size = arena, offset, size

    def reshape(self, _: int) -> Any:
        """The bytes."""
        return self._arena[self._offset : self._offset + max(self._size, 1)]


def _owned() -> int:
    """The references to an argument that only the parameter and the argument list hold."""
    array = np.empty(1)
    owner, args = [array], [array]
    del array
    found = sys.getrefcount(args[0])
    assert owner
    return found


_OWNED = _owned()
