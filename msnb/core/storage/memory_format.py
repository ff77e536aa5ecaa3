"""Blocks: a dense tensor in an order of memory that no strides can say, as libraries of convolutions like weights.

    [o, i, h, w] in blocks ((1, 16), (0, 16))  ->  [o/16, i/16, h, w, 16 of i, 16 of o]     the library's ABcd16b16a
    [o, i, h, w] in order (0, 2, 3, 1), blocks ((0, 64),)  ->  [o/64, h, w, i, 64 of o]     Acdb64a

Each blocked axis is split into an outer part and its blocks; the outer parts come first, in ``order``, then the blocks.
That moves elements and makes none: only axes that the blocks divide evenly are blocked, so there is no padding, and
whatever works element by element works on blocks as on plain tensors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

Ints = tuple[int, ...]


class BlockedFormat(NamedTuple):
    """An order of memory.

    Attributes:
        order: the axes in the order of their outer parts.
        inner: (axis, size) of every block, the one whose elements lie together last.
    """

    order: Ints
    inner: tuple[Ints, ...]

    def fits(self, dims: Ints) -> bool:
        """True where the blocks divide a tensor of these sizes."""
        return len(dims) == len(self.order) and all(d % self._block(a) == 0 for a, d in enumerate(dims))

    def shape(self, dims: Ints) -> Ints:
        """The sizes of a blocked tensor whose plain sizes are ``dims``."""
        return (*(dims[a] // self._block(a) for a in self.order), *(size for _, size in self.inner))

    def dims(self, shape: Ints) -> Ints:
        """The plain sizes of a blocked tensor."""
        outer = dict(zip(self.order, shape))
        return tuple(outer[a] * self._block(a) for a in range(len(self.order)))

    def block(self, xp: Any, x: Any) -> Any:
        """The blocked array of a plain one, in memory of its own."""
        split = x.reshape([n for a, d in enumerate(x.shape) for n in self._parts(a, d)])
        return xp.array(split.transpose(self._places()), order="C")

    def unblock(self, xp: Any, x: Any) -> Any:
        """The plain array of a blocked one, in memory of its own."""
        places = self._places()
        back = x.transpose([places.index(k) for k in range(len(places))])
        return xp.array(back, order="C").reshape(self.dims(x.shape))

    def _sizes(self, axis: int) -> Ints:
        return tuple(size for a, size in self.inner if a == axis)

    def _block(self, axis: int) -> int:
        return math.prod(self._sizes(axis))

    def _parts(self, axis: int, size: int) -> Ints:
        return (size // self._block(axis), *self._sizes(axis))

    def _places(self) -> list[int]:
        """Where the axes of a blocked tensor stand among the parts of the plain one."""
        first: list[int] = []
        for a in range(len(self.order)):
            first.append(first[-1] + 1 + len(self._sizes(a - 1)) if first else 0)
        seen = [0] * len(first)
        places = [first[a] for a in self.order]
        for a, _ in self.inner:
            seen[a] += 1
            places.append(first[a] + seen[a])
        return places

    def __str__(self) -> str:
        """The library's name for it: blocked axes in capitals."""
        blocked = {a for a, _ in self.inner}
        outer = "".join(chr((65 if a in blocked else 97) + a) for a in self.order)
        return outer + "".join(f"{size}{chr(97 + a)}" for a, size in self.inner)
