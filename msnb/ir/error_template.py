"""An error that a program raises while it runs, as data: what a file keeps of ``raise`` and of ``assert``.

    assert low > 0, f"low is {low:.1f}"

    ErrorTemplate("AssertionError", ("low is ", (0, -1, ".1f")), guarded=True)
                                             the first tensor of the node, no conversion, its format

An error of the user's own class has no such form, for a file holds no code.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from msnb.base import errors
from msnb.ir.control_flow import HostFn

CONVERSIONS: dict[int, Callable[[Any], str]] = {115: str, 114: repr, 97: ascii}
"""What ``!s``, ``!r`` and ``!a`` of an f-string call, by Python's numbers; -1 is none of them."""
MOST_SPEC = 8
"""Characters of a format: a width of a thousand million would be a string of that length."""
Piece = str | tuple[int, int, str]


@dataclass(frozen=True)
class ErrorTemplate:
    """An error with its message.

    Attributes:
        kind: the name of a class of ``msnb.base.errors``, or of an exception of Python's.
        pieces: of the message: text, or the number of an operand with conversion and format; None for no message.
        operands: the lines below the sentence of an error of msnb; hint: its way out.
        guarded: whether the node's first operand decides: a true one means that nothing is wrong.
    """

    kind: str
    pieces: tuple[Piece, ...] | None = None
    operands: tuple[str, ...] = ()
    hint: str = ""
    guarded: bool = False

    def fits(self, operands: int) -> bool:
        """Whether a node with so many operands can raise it."""
        count, places = operands - self.guarded, [p for p in self.pieces or () if not isinstance(p, str)]
        known = all(i < count and (c == -1 or c in CONVERSIONS) and len(spec) <= MOST_SPEC for i, c, spec in places)
        return known and count >= 0

    def host(self) -> HostFn:
        """The function that raises it, for a ``host_call``.

        Raises:
            LookupError: there is no error of that name.

        Examples:
            >>> ErrorTemplate("ValueError", ("too large",)).host().fn()
            Traceback (most recent call last):
                ...
            ValueError: too large
        """
        found = class_of(self.kind)

        def fail(*tensors: Any) -> tuple[()]:
            if self.guarded and bool(tensors[0]):
                return ()
            raise self._made(found, tensors[1:] if self.guarded else tensors)

        return HostFn(fail, "assert" if self.guarded else "raise", error=self)

    def _made(self, found: type[Exception], values: Any) -> Exception:
        if self.pieces is None:
            return found()
        text = "".join(p if isinstance(p, str) else formatted(values[p[0]], p[1], p[2]) for p in self.pieces)
        if issubclass(found, errors.MsnbError):
            return found(text, operands=self.operands, hint=self.hint)
        return found(text)


def class_of(kind: str) -> type[Exception]:
    """The class of errors of that name: ours, or Python's. Raises LookupError."""
    found: Any = getattr(errors, kind, None) or getattr(builtins, kind, None)
    known = isinstance(found, type) and issubclass(found, Exception) and found.__name__ == kind
    with suppress(TypeError):  # one that takes more than a text
        if known:
            found("")
            return found  # type: ignore[no-any-return]
    raise LookupError(f"there is no error named {kind!r}")


def formatted(value: Any, conversion: int, spec: str) -> str:
    """A part of an f-string."""
    return format(value if conversion == -1 else CONVERSIONS[conversion](value), spec)
