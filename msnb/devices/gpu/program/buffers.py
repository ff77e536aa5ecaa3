"""Where the values of a program lie on the GPU.

    param    memory of an argument            cell     a Python number, kept in device memory
    const    part of the program              arena    memory of the program, shared by what lives at different times
    result   memory that the caller gets

A value that lies in another one (a reshape, leading rows) is a Place: a buffer and an offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msnb.core import TensorType

ALIGN = 256
PARAM, CELL, CONST, ARENA, RESULT = "param", "cell", "const", "arena", "result"


@dataclass(eq=False)
class DeviceBuffer:
    """One piece of memory.

    Attributes:
        kind: see above; size: bytes; name: for people.
        number: its place in the environment; index: of the param, the constant or the result.
        first, last: the first and last step that touches it; offset: in the arena.
    """

    kind: str
    size: int
    name: str = ""
    number: int = -1
    index: int = 0
    first: int = -1
    last: int = -1
    offset: int = 0


class Place(NamedTuple):
    """A value in a buffer, so many bytes behind its beginning."""

    buffer: DeviceBuffer
    offset: int = 0


@dataclass
class Environment:
    """The memory of one run: an array and an address for every buffer.

    Attributes:
        xp: the array module; stream: where everything is launched.
        arrays: by number of the buffer; addresses: of them, likewise.
        numbers: the arguments, where they are Python numbers.
    """

    xp: Any
    stream: Any
    arrays: list[Any]
    addresses: list[int] = field(default_factory=list)
    numbers: Sequence[Any] = ()

    def address(self, place: Place) -> int:
        """The device address of a value."""
        return self.addresses[place.buffer.number] + place.offset

    def array(self, place: Place, t: TensorType) -> Any:
        """A value as an array over its memory."""
        shape, dtype = t.ints(), t.dtype.numpy
        if not t.size:
            return self.xp.empty(shape, dtype)
        flat = self.arrays[place.buffer.number].reshape(-1).view("uint8")
        return flat[place.offset : place.offset + t.size * t.dtype.itemsize].view(dtype).reshape(shape)


def plan_arena(buffers: Sequence[DeviceBuffer]) -> int:
    """Give every buffer of the arena an offset, the largest first, each at the lowest that is free; returns the bytes.

    The idea is MindSpore's SOMAS: what does not live at the same time may share memory.
    """
    placed: list[DeviceBuffer] = []
    peak = 0
    for buffer in sorted((b for b in buffers if b.kind == ARENA), key=lambda b: (-b.size, b.first)):
        size = -(-max(buffer.size, 1) // ALIGN) * ALIGN
        taken = sorted(
            (b.offset, b.offset + -(-max(b.size, 1) // ALIGN) * ALIGN)
            for b in placed
            if b.first <= buffer.last and buffer.first <= b.last
        )
        at = 0
        for low, high in taken:
            if low - at >= size:
                break
            at = max(at, high)
        buffer.offset = at
        placed.append(buffer)
        peak = max(peak, at + size)
    return peak
