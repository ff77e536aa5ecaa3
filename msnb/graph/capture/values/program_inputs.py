"""What a captured program is given at each call: inputs, and symbolic tensors that stand for Tensors of the user."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.core import WEAK, Tensor, type_of_buffer
from msnb.graph.capture.values.lazy_values import LazyScalar, TrackedArray
from msnb.graph.capture.values.sources import Source
from msnb.ir.builder import SymbolicTensor
from msnb.ir.graph import Value


class ProgramInputs:
    """The inputs of one capture.

    Attributes:
        root: the builder of the program's graph.
        items: of each input where it is from, how it is made of that, and its value.
        apart: the program relies on which of its Tensors are one object, also if it writes to none of them.
    """

    def __init__(self) -> None:
        self.root: Any = None
        self.apart: bool = False
        self.items: list[tuple[Source, str, Value]] = []
        self._index: dict[tuple[Any, ...], SymbolicTensor] = {}
        self._stands: dict[int, SymbolicTensor] = {}
        self._owners: dict[int, tuple[SymbolicTensor, Tensor, Source, Value]] = {}

    def add(self, source: Source, pattern: str, type_: Any, name: str) -> SymbolicTensor:
        """An input of the program, gathered from ``source`` at each call."""
        key = (source.ident, pattern)
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = self.root.param(type_, name)
            self.items.append((source, pattern, found._value))
        return found

    def scalar(self, x: LazyScalar) -> SymbolicTensor:
        """A number as a weak 0-d input."""
        return self.add(x._source, "{0}", WEAK[type(x._value)], x._source.label)

    def array(self, x: TrackedArray) -> SymbolicTensor:
        """An array as an input."""
        t = type_of_buffer(x.view(np.ndarray))
        return self.add(x._source, "_current[0].from_host({0})", t, x._source.label)

    def stand_in(self, value: Tensor) -> SymbolicTensor | None:
        """What stands for a Tensor of the user, if it was read."""
        return self._stands.get(id(value))

    def read(self, value: Tensor, source: Source, type_: Any) -> SymbolicTensor:
        """A Tensor of the user is read for the first time."""
        stand = self.add(source, "{0}._data", type_, source.label).__copy__()
        self._stands[id(value)] = stand  # type: ignore[assignment]
        self._owners[id(stand)] = (stand, value, source, stand._value)  # type: ignore[assignment,attr-defined]
        return stand  # type: ignore[return-value]

    def owner_of(self, stand: Any) -> tuple[Tensor, Source, Value] | None:
        """The user's Tensor object that a symbolic tensor stands for, its path and its first value."""
        found = self._owners.get(id(stand))
        return None if found is None else found[1:]

    def stand_ins(self) -> list[tuple[SymbolicTensor, Tensor, Source, Value]]:
        """All plain Tensors read from outside."""
        return list(self._owners.values())
