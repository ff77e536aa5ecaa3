"""Eager dispatch: the shortest way from an op and its operands to a kernel.

Types are interned, so a signature is a tuple of objects compared by identity. The first call with a signature infers the
result type and asks the device for a kernel; every later one is a dictionary look-up.
"""

from __future__ import annotations

from typing import Any

from msnb.core import devices, events
from msnb.core.errors import MsnbError
from msnb.core.slot import PlainReads, install_default
from msnb.core.tensor import Tensor, make
from msnb.core.types import WEAK, TensorType, Type
from msnb.core.where import here
from msnb.ops.record import Op


class Entry:
    """What dispatch needs for one signature: the kernel and the result types."""

    __slots__ = ("kernel", "types")

    def __init__(self, kernel: Any, types: tuple[Type, ...]) -> None:
        self.kernel, self.types = kernel, types


_entries: dict[Any, Entry] = {}


def _forget(**_: Any) -> None:
    _entries.clear()


events.subscribe("context", _forget)


def as_operand(x: Any) -> Any:
    """A Tensor or Python scalar of what the user passed."""
    if isinstance(x, Tensor) or type(x) in WEAK:
        return x
    return Tensor(x)


def type_of(x: Any) -> TensorType:
    """The type of an operand; weak for Python scalars."""
    return x._type if isinstance(x, Tensor) else WEAK[type(x)]


class EagerEngine(PlainReads):
    """Runs ops at once."""

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Run ``op`` and wrap the result."""
        operands = [x if isinstance(x, Tensor) else as_operand(x) for x in inputs]
        types = tuple([type_of(x) for x in operands])
        entry = entry_for(op, types, attrs)
        result = entry.kernel(*[x._data if isinstance(x, Tensor) else x for x in operands])
        if len(entry.types) == 1:
            out: Any = make(result, entry.types[0])  # type: ignore[arg-type]
        else:
            out = tuple(make(r, t) for r, t in zip(result, entry.types))  # type: ignore[arg-type]
        if events.op_listeners:
            events.emit("op", op=op, inputs=inputs, outputs=out)
        return out

    def assign(self, target: Tensor, value: Tensor) -> None:
        """``target`` takes the buffer of ``value``: buffers are never written, so sharing one is safe."""
        target._data, target._type, target._rec = value._data, value._type, value._rec


def entry_for(op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Entry:
    """The cached entry of a signature; raises the op's own sentence on a wrong call, with the user's line."""
    key = (op, types, tuple(attrs.values()))
    entry = _entries.get(key)
    if entry is None:
        try:
            results = op.result_types(types, attrs)
        except MsnbError as error:
            if error.where is None:
                error.where = here(2).where
            raise
        entry = _entries[key] = Entry(devices.current().kernel(op, types, attrs), results)
    return entry


install_default(EagerEngine())
