"""Primitives for sizes that are written down (``core.symbolic_int``): one is made for today's sizes, and one for every
size to come. What is asked of it, whether an operand lies as it likes, is a guard."""

from __future__ import annotations

from typing import Any

from msnb.core.symbolic_int import SizeTrace, Symbolic, deferred


class SymbolicPrimitive(Symbolic):
    """What stands for a ``primitives.Primitive`` while a program is traced."""

    __slots__ = ()

    @property
    def scratch(self) -> int:
        """As of the primitive."""
        return deferred(_scratch, self)  # type: ignore[no-any-return]

    def size(self, argument: int) -> int:
        """As of the primitive."""
        return deferred(_size, self, argument)  # type: ignore[no-any-return]

    def lies(self, argument: int, layout: Any) -> bool:
        """As of the primitive."""
        return deferred(_lies, self, argument, layout)  # type: ignore[no-any-return]


def _scratch(primitive: Any) -> int:
    return int(primitive.scratch)


def _size(primitive: Any, argument: int) -> int:
    return int(primitive.size(argument))


def _lies(primitive: Any, argument: int, layout: Any) -> bool:
    return bool(primitive.lies(argument, layout))


def symbolic_primitive(trace: SizeTrace, make: Any, args: tuple[Any, ...]) -> SymbolicPrimitive | None:
    """The primitive of a description with symbols; None where the library has none, for all sizes of this trace."""

    def wrap(name: str, value: Any) -> SymbolicPrimitive | None:
        trace.guard(f"{name} is None", value is None)
        return None if value is None else SymbolicPrimitive(trace, name, value)

    return trace.call(make, args, wrap)  # type: ignore[no-any-return]
