"""Wrong indices that kernels have met: a kernel cannot raise, so it leaves a note that is read when values come down.

    fault word, in device memory    [ tag, index ]      both 0: nothing is wrong
    a kernel that meets one         tag = compare-and-swap(0 -> its tag); who wins writes the index
    to_host, synchronize            read the word; if it is set: clear it, raise the sentence that the tag stands for

The kernel itself goes on with index 0, so it never reads or writes what is not its own. Tags are numbers of a node of a
program, one for each way in which an index of it can be wrong; they are known as long as the program lives.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base.errors import IndexOutOfRange, MsnbError
from msnb.ir.graph import Node

Sentence = Callable[[int], MsnbError]


class FaultRecord:
    """What the tags of a node mean; whoever launches its kernel holds it.

    Attributes:
        tag: the first tag; those behind it belong to the other sentences.
        node: for the place in the user's text; sentences: from an index to an error.
    """

    def __init__(self, tag: int, node: Node | None, sentences: Sequence[Sentence]) -> None:
        self.tag: int = tag
        self.node: Node | None = node
        self.sentences: tuple[Sentence, ...] = tuple(sentences)

    def error(self, tag: int, index: int) -> MsnbError:
        """What a tag and an index mean."""
        found = self.sentences[tag - self.tag](index)
        found.where = None if self.node is None or self.node.where is None else self.node.where.where
        return found


class FaultLog:
    """The fault word of a device, and what its tags mean.

    Args:
        xp: the array module.
    """

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self._word: Any = None
        self._numbers = itertools.count(1)
        self._notes: weakref.WeakValueDictionary[int, FaultRecord] = weakref.WeakValueDictionary()

    def note(self, node: Node | None, sentences: Sequence[Sentence]) -> FaultRecord:
        """Tags for a node, one for each sentence."""
        tags = [next(self._numbers) for _ in sentences]
        found = FaultRecord(tags[0], node, sentences)
        self._notes.update(dict.fromkeys(tags, found))
        if self._word is None:
            self._word = self.xp.zeros(2, np.int64)
        return found

    @property
    def address(self) -> int:
        """Where the word lies."""
        return int(self._word.data.ptr)

    def check(self) -> None:
        """Raise what has been noted since the last time.

        Raises:
            IndexError: IndexOutOfRange, at the line of the node.
        """
        if self._word is None:  # programs may be gone; what they met is not
            return
        tag, index = (int(v) for v in self.xp.asnumpy(self._word))
        if not tag:
            return
        self._word.fill(0)
        note = self._notes.get(tag)
        if note is None:
            raise IndexOutOfRange(f"index {index} was outside of its axis, in a program that is gone.")
        raise note.error(tag, index)
