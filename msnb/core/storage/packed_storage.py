"""The value of a Tensor that a compiled program keeps in blocks between its steps, and looks at it in plain layout.

    _data set       the value, as always
    _data empty     the value is in ``_kept``: a Packed; reading ``_data`` gives a plain copy, made at the first look

An empty slot costs nobody anything: Python asks ``Tensor.__getattr__`` only for what a slot does not hold, and that is
the one place where a plain copy is made, for eager operations, printing, checkpoints and other programs alike. Whoever
assigns to ``_data`` thereby makes it the value again.

    program with blocks     take(tensor, blocks) before the step, give(tensor, array, blocks) after it

``take`` changes how the value lies, not what it is, one tensor at a time: a step that fails or is interrupted leaves
the values as they were, and never are all tensors there twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.core.storage.memory_format import BlockedFormat
from msnb.core.tensor import Array, Tensor, holds_data
from msnb.core.types import TensorType


class BlockedStorage:
    """A value in blocks.

    Attributes:
        array: the blocked array; blocks: how it lies.
    """

    __slots__ = ("_looks", "array", "blocks")

    def __init__(self, array: Array, blocks: BlockedFormat) -> None:
        self.array: Array = array
        self.blocks: BlockedFormat = blocks
        self._looks: tuple[Array, ...] = ()

    @property
    def plain(self) -> Array:
        """The value in plain layout, the same array at every look."""
        if not self._looks:
            found = self.blocks.unblock(np, self.array)
            # held twice, so no program takes it for memory that a parameter alone owns and writes into it
            self._looks = found, found
        return self._looks[0]

    def read(self, tensor: Tensor) -> Array:
        """``plain``: what ``tensor._data`` gives."""
        return self.plain

    @property
    def looked_at(self) -> bool:
        """True when there is a plain copy."""
        return bool(self._looks)


def take(tensor: Tensor, blocks: BlockedFormat) -> Array:
    """The blocked array of a tensor that a program is about to give a new value; its plain copy goes."""
    kept = kept_of(tensor)
    if kept is None or kept.blocks != blocks:
        kept = BlockedStorage(blocks.block(np, tensor._data), blocks)
        _keep(tensor, kept)
    elif kept.looked_at:
        kept = tensor._kept = BlockedStorage(kept.array, blocks)
    return kept.array


def give(tensor: Tensor, array: Array, blocks: BlockedFormat, type_: TensorType) -> None:
    """A tensor's new value, in blocks."""
    _keep(tensor, BlockedStorage(array, blocks))
    tensor._type, tensor._rec = type_, None


def put_back(tensor: Tensor, data: Any, type_: TensorType, kept: BlockedStorage | None) -> None:
    """The value that a tensor had: a plain array, or one in blocks."""
    if kept is None:
        tensor._data, tensor._kept = data, None
    else:
        _keep(tensor, kept)
    tensor._type, tensor._rec = type_, None


def kept_of(tensor: Tensor) -> BlockedStorage | None:
    """What holds a tensor's value in blocks while ``_data`` is empty, else None."""
    kept = None if holds_data(tensor) else tensor._kept
    return kept if isinstance(kept, BlockedStorage) else None


def _keep(tensor: Tensor, kept: BlockedStorage) -> None:
    tensor._kept = kept
    if holds_data(tensor):
        del tensor._data
