"""Programs of a few launches without state, as a function that only launches: what one operation costs.

    softmax(x) in eager mode        one kernel: ask how x lies, take memory for the result, launch

Such a call shares nothing with any other: its temporary memory is taken anew, so it needs no lock, and it runs on
CuPy's current stream, as single operations do. Whatever is unusual is left to the program (``device_program``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.devices.gpu.program.buffers import ARENA, CONST, PARAM, RESULT, Place
from msnb.devices.gpu.program.program_memory import ProgramMemory
from msnb.devices.gpu.program.steps import KernelStep

Direct = Callable[[Sequence[Any]], "list[Any] | None"]
ALIGNED = 15


def direct_call(memory: ProgramMemory, most: int) -> Direct | None:
    """A function of the arguments; it gives None for arguments that it does not take.

    Args:
        memory: of the program.
        most: launches; a longer program is better off as a CUDA graph.

    Returns:
        None where the program has state, Python numbers, or steps that are no kernels.
    """
    built, steps = memory.built, memory.built.steps
    if built.updated or any(b is None or b.kind != PARAM for b in built.params) or built.host_numbers:
        return None
    if not all(type(s) is KernelStep and s.note is None for s in steps) or not steps:
        return None
    if sum(len(s.kernel.launches) for s in steps if isinstance(s, KernelStep)) > most:
        return None
    return _DirectCall(memory)


class _DirectCall:
    """See ``direct_call``."""

    def __init__(self, memory: ProgramMemory) -> None:
        device, built = memory.device, memory.built
        self._array, self._consts = device.xp.ndarray, memory.consts
        self._params = [(t.size, t.dtype.numpy) for _, _, t in memory.tensors]
        self._fresh = [device.results_of(t.ints(), t.dtype.numpy).take for _, t in memory.fresh]
        self._arena = device.results_of((built.arena,), np.uint8).take if built.arena else None
        first, made = len(self._params), len(self._fresh)
        number = {r.number: first + k for k, (r, _) in enumerate(memory.fresh)}
        self._results = [None if r is None else r if isinstance(r, int) else number[r.number] for r in built.results]
        at = _Places(number, first + made, first + made + len(self._consts))
        self._launches = [
            (device.cache.function(launch.function), launch.grid, launch.block, at.all(step, launch.operands))
            for step in built.steps
            if isinstance(step, KernelStep)
            for launch in step.kernel.launches
        ]

    def __call__(self, args: Sequence[Any]) -> list[Any] | None:
        """Run on arrays, or None."""
        array = self._array
        for a, (size, dtype) in zip(args, self._params):
            if a.__class__ is not array or a.size != size or a.dtype != dtype:
                return None
            if not a._c_contiguous or a.data.ptr & ALIGNED:
                return None
        held = [*args, *[take() for take in self._fresh], *self._consts]
        if self._arena is not None:
            held.append(self._arena())
        for function, grid, block, operands in self._launches:
            function(grid, block, tuple([held[k] if not o else held[k].data.ptr + o for k, o in operands]))
        return [None if r is None else held[r] for r in self._results]


class _Places:
    """From places in a program to arrays by number, and an offset in bytes."""

    def __init__(self, results: dict[int, int], consts: int, arena: int) -> None:
        self._results, self._consts, self._arena = results, consts, arena

    def all(self, step: KernelStep, operands: Sequence[int]) -> list[tuple[int, int]]:
        """Of the operands of a launch."""
        places = [*step.places[0], *step.places[1], *map(Place, step.temps)]
        return [self._of(places[i]) for i in operands]

    def _of(self, place: Place) -> tuple[int, int]:
        buffer, offset = place.buffer, place.offset
        if buffer.kind == PARAM:
            return buffer.index, offset
        if buffer.kind == CONST:
            return self._consts + buffer.index, offset
        if buffer.kind == RESULT:
            return self._results[buffer.number], offset
        assert buffer.kind == ARENA
        return self._arena, buffer.offset + offset
