"""Memory for the results of single operators: what cannot fit is refused before anything is touched.

A signature whose results are small has its kernel as it is; only one whose results are large asks what is free, at
every call, which costs nothing beside filling them. Views are not asked: they take no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import device_registry
from msnb.base.errors import IntegerOverflowError, MsnbError, OutOfMemoryError
from msnb.base.free_memory import CHECKED, out_of_memory, require
from msnb.core import TensorType, Type
from msnb.ops.definition.record import Op

_NO_ROOM = frozenset(("view", "effect", "stack", "control", "collective", "host", "constant", "custom"))
_SAME = frozenset(("real", "imag", "class_index"))


def careful(device: Any, op: Op, operands: tuple[Type, ...], attrs: dict[str, Any], results: Sequence[Type]) -> Any:
    """The device's kernel; where results are large and lie in the machine's memory, it first asks whether they fit."""
    kernel: Callable[..., Any] = device.kernel(op, operands, attrs)
    count = _bytes(results)
    elsewhere = getattr(device, "xp", None) is not np
    if count < CHECKED or elsewhere or not _NO_ROOM.isdisjoint(op.traits) or op.view or op.name in _SAME:
        return kernel

    def asking(*arrays: Any) -> Any:
        require(count, op.name, lines(op, operands, results))
        return kernel(*arrays)

    return asking


def refused(op: Op, operands: Sequence[Type], results: Sequence[Type]) -> OutOfMemoryError:
    """The error of a kernel that found no memory, for its result or on the way to it."""
    return out_of_memory(_bytes(results), f"{op.name}, for its result alone,", lines(op, operands, results))


def told(op: Op, operands: Sequence[Type], results: Sequence[Type], error: Exception) -> MsnbError | None:
    """The error of a kernel in the words of its device, where that has words for it."""
    device = device_registry.current()
    plugin = not op.body.__module__.startswith("msnb.")
    found: MsnbError | None = device.failure(error, op.name, _bytes(results), lines(op, operands, results), plugin)
    return found


def overflowed(op: Op, operands: Sequence[Type], error: Exception) -> Exception:
    """The error of a kernel: a Python integer that no integer dtype of the operands holds is told in our words."""
    if type(error) is not OverflowError or not str(error).startswith("Python int"):
        return error
    return IntegerOverflowError(
        f"{op.name}: a Python integer is outside the range of the operation's integer dtype.",
        operands=lines(op, operands, ()), hint="int64 ends at 2**63 - 1; a float tensor takes the number, rounded.",
    )  # fmt: skip


def lines(op: Op, operands: Sequence[Type], results: Sequence[Type]) -> list[str]:
    """Operands and results with their types."""
    names = [n for n in op.inputs if not n.startswith("*")]
    names += [f"{i}" for i in range(len(names), len(operands))]
    return [f"{n}: {t}" for n, t in zip(names, operands)] + [f"result: {t}" for t in results]


def _bytes(types: Sequence[Type]) -> int:
    return sum(t.nbytes for t in types if isinstance(t, TensorType) and t.is_static)
