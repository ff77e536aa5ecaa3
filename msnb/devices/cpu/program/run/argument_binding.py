"""The arguments of a program: checked and put into slots, natively if possible (``bind``), else one by one here."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.core import DType
from msnb.core.storage.aligned_memory import AlignedBuffer, Array, owns_memory
from msnb.devices.cpu.program.program_image import Image
from msnb.devices.cpu.program.run.host_steps import array_at
from msnb.devices.cpu.program.run.native_binding import ARRAY, FLOAT, SPEC, binder

_CELL = 64


class BoundArguments:
    """Arguments that are in place.

    Attributes:
        args: the list; keep: what stands in for arguments in odd layouts.
    """

    args: list[Any]
    keep: list[Array]

    __slots__ = ("_alone", "args", "keep")

    def __init__(self, args: list[Any], keep: list[Array], alone: bool | None) -> None:
        self.args, self.keep, self._alone = args, keep, alone

    def lend(self, params: list[int]) -> bool:
        """True when the argument list and one owner (the parameter) are all that hold each of these arguments."""
        return bool(params) and (self._alone if self._alone is not None else all(map(self._is_alone, params)))

    def _is_alone(self, i: int) -> bool:
        if sys.getrefcount(self.args[i]) != _OWNED:
            return False
        flags = self.args[i].flags
        return bool(owns_memory(self.args[i]) and flags.writeable and flags.c_contiguous)


class Binding:
    """How the arguments of one program are bound: arrays by their addresses, Python numbers in cells of our own.

    Args:
        image: the program; slots: its pointers.
    """

    def __init__(self, image: Image, slots: NDArray[np.int64]) -> None:
        self._native, self._slots = binder(), slots
        self._tensors, self._results = image.tensors, image.fresh
        self._cells = np.zeros((max(image.params, 1), _CELL // 8), np.int64)
        numbers = [(i, self._cell(i, slot, dtype)) for i, slot, dtype in image.numbers]
        self._floats = [n for n in numbers if n[1].dtype == np.float64]
        self._others = [n for n in numbers if n[1].dtype != np.float64]
        self._sizes = [np.array(t.ints() or (0,), np.int64) for _, _, t in image.tensors]
        self._specs = np.zeros((max(len(image.tensors) + len(self._floats), 1), SPEC), np.int64)
        for k, (i, slot, t) in enumerate(image.tensors):
            sizes = self._sizes[k].ctypes.data
            self._specs[k, :7] = i, ARRAY, slot, id(np.ndarray), id(t.dtype.numpy), t.ndim, sizes
            self._specs[k, 8] = id(AlignedBuffer)
        for k, (i, cell) in enumerate(self._floats, len(image.tensors)):
            self._specs[k, :5] = i, FLOAT, -1, id(float), cell.ctypes.data
        self._fresh = np.array([f.slot for f in image.fresh] or [0], np.int64)
        self._where = (self._specs.ctypes.data, len(image.tensors) + len(self._floats), slots.ctypes.data)
        self._targets = (self._fresh.ctypes.data, len(image.fresh), slots.ctypes.data)
        self.lenders: list[int] = [f.lender for f in image.fresh if f.lender >= 0]
        rows = {i: k for k, (i, _, _) in enumerate(image.tensors)}
        self._held = np.array([rows[i] for i in self.lenders], np.int64)

    def _cell(self, i: int, slot: int, dtype: DType) -> Array:
        """Memory of the Python number that argument ``i`` is."""
        address = self._cells.ctypes.data + i * _CELL
        if slot >= 0:
            self._slots[slot] = address
        return array_at(address, (), dtype.numpy)

    def bind(self, args: list[Any]) -> BoundArguments | None:
        """Point slots at the arguments; None where they are not what the graph says."""
        try:
            for i, cell in self._others:
                cell[...] = args[i]
            if self._native is not None and not self._native.bind(args, *self._where):
                return BoundArguments(args, [], bool(self.lenders) and bool(self._specs[self._held, 7].all()))
            return self._slowly(args)
        except (OverflowError, TypeError, ValueError):
            return None

    def _slowly(self, args: list[Any]) -> BoundArguments | None:
        keep: list[Array] = []
        for i, cell in self._floats:
            cell[...] = args[i]
        for i, slot, t in self._tensors:
            a = args[i]
            if a.__class__ is not np.ndarray or a.dtype != t.dtype.numpy or a.shape != t.shape:
                return None
            if not a.flags.c_contiguous or not a.flags.aligned:
                a = np.array(a, order="C")
                keep.append(a)
            if slot >= 0:
                self._slots[slot] = a.ctypes.data
        return BoundArguments(args, keep, None)

    def point(self, fresh: list[Array]) -> None:
        """Point slots at memory for results."""
        if self._native is not None:
            self._native.point(fresh, *self._targets)
            return
        for f, array in zip(self._results, fresh):
            if f.slot >= 0:
                self._slots[f.slot] = array.ctypes.data


def _owned() -> int:
    args = [np.empty(1)]
    owner = [args[0]]
    bound = BoundArguments(args, [], None)
    found = sys.getrefcount(bound.args[0])
    assert owner
    return found


_OWNED = _owned()
