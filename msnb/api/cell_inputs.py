"""What ``Cell.set_inputs`` says of arguments, kept until a program is made of the Cell (``input_signature``)."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

_declared: WeakKeyDictionary[Any, tuple[tuple[Any, ...], dict[str, Any]]] = WeakKeyDictionary()


def declare_inputs(cell: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
    """What ``cell.set_inputs`` says: it holds for every program that is made of the Cell itself from here on."""
    _declared[cell] = inputs, named


def declared_inputs(cell: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """What was declared for a Cell; None for everything else."""
    try:
        return _declared.get(cell)
    except TypeError:  # an object that cannot be a key has declared nothing
        return None
