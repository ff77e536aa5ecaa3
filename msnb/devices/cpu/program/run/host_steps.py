"""Steps in Python: the reference body of a node on views of slots, its results copied into theirs.

A view is made from the slot's pointer and kept as long as the pointer stays the same. Python numbers (weak types) are
read out of their slots, for bodies treat them as such. What user code is given (host calls) are copies: it may keep
them.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import ShapeError, reraise_interrupt
from msnb.core import Array, TensorType
from msnb.devices.cpu.program.program_image import Step
from msnb.devices.reference_executor import ReferenceProgram, explained
from msnb.ir import Graph, Node, control_flow


def array_at(address: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array over memory that someone else keeps."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not size:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, (ctypes.c_char * size).from_address(address))


class SlotView:
    """A slot seen as an array."""

    slot: int
    shape: tuple[int, ...]
    weak: bool
    address: int

    __slots__ = ("address", "array", "dtype", "shape", "slot", "weak")

    def __init__(self, slot: int, t: TensorType) -> None:
        self.slot, self.shape, self.dtype, self.weak = slot, t.ints(), t.dtype.numpy, t.weak
        self.address = -1
        self.array: Any = None

    def look(self, slots: Array) -> Array:
        """The array that is there now."""
        address = int(slots[self.slot])
        if address != self.address:
            self.array, self.address = array_at(address, self.shape, self.dtype), address
        found: Array = self.array
        return found


class HostStep:
    """One node, run in Python; ``origin`` gives the node as the user's program has it, for an error's place."""

    node: Node
    many: bool

    def __init__(self, step: Step, runner: tuple[Callable[..., Any], bool], origin: Callable[[], Node]) -> None:
        self.node, self._origin = step.node, origin
        self.run, self.many = runner
        self.reads: list[SlotView | None] = [_window(n, v.type) for n, v in zip(step.reads, step.node.inputs)]
        self.writes: list[SlotView | None] = [_window(n, v.type) for n, v in zip(step.writes, step.node.outputs)]
        self.keeps: bool = step.node.op is control_flow.HOST_CALL

    def __call__(self, slots: Array) -> None:
        args = [None if w is None else self._value(w, slots) for w in self.reads]
        try:
            result = self.run(*args)
        except Exception as error:
            reraise_interrupt(error)
            found = explained(self._origin(), error, args)
            raise found from found.__cause__
        for window, found in zip(self.writes, result if self.many else (result,)):
            if window is not None:
                self._store(window, found, slots)

    def _value(self, window: SlotView, slots: Array) -> Any:
        found = window.look(slots)
        if window.weak:
            return found.item()
        return found.copy() if self.keeps else found

    def _store(self, window: SlotView, found: Any, slots: Array) -> None:
        if np.shape(found) != window.shape:
            raise ShapeError(
                f"{self.node.op.name} promised a result of shape {window.shape} and gave {np.shape(found)}."
            )
        target = window.look(slots)
        target[...] = found


def _window(slot: int, t: Any) -> SlotView | None:
    return SlotView(slot, t) if slot >= 0 and isinstance(t, TensorType) else None


def host_steps(device: Any, steps: Sequence[Step], origin: Callable[[int], Node]) -> list[HostStep]:
    """The steps of a program, ready to run."""
    helper = ReferenceProgram(device, Graph("steps"))
    return [HostStep(s, helper._runner(s.node), functools.partial(origin, i)) for i, s in enumerate(steps)]
