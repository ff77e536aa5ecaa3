"""What a page of JSON has to look like, said once: kinds that are put together, and the first place that does not fit.

    PAGE = Record({"version": Int(1, 1), "teams": Rows(Fixed(INDEX, Rows(INDEX)))}, {"note": TEXT})
    misfit(PAGE, page, "the page")    ->    None, or "teams[2] of the page is 3, not a list of 2"

A kind asks for nothing that Python code would have to ask again: after the check, every key and every class is known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_DEPTH = 64


class Kind:
    """What a value has to be.

    Attributes:
        legal: how errors say it: "an int", "a table of operators".
    """

    legal = "anything"

    def fits(self, value: Any) -> bool:
        """True where the value itself is right, whatever is inside it."""
        return True

    def inside(self, value: Any) -> Iterator[tuple[Kind, Any, str]]:
        """(kind, part, place) of what is inside a value that ``fits``."""
        return iter(())


@dataclass(frozen=True)
class Misfit:
    """A place that is not as it should be."""

    place: str
    value: Any
    legal: str

    def __str__(self) -> str:
        return f"{self.place} is {shown(self.value)}, not {self.legal}"


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


def shown(value: Any) -> str:
    """A value as errors show it: short, whatever it is."""
    if value is MISSING:
        return "missing"
    if isinstance(value, (dict, list)) and len(value) > 20:
        return f"a {'table' if isinstance(value, dict) else 'list'} of {len(value)}"
    try:
        text = json.dumps(value)
    except (RecursionError, ValueError, TypeError):
        text = type(value).__name__
    return text if len(text) <= 80 else text[:77] + "..."


def misfit(kind: Kind, value: Any, place: str) -> Misfit | None:
    """The first place where a value is not of its kind, from the outside in.

    Args:
        kind: what it has to be.
        value: what ``json`` made of a text.
        place: what errors call it.

    Examples:
        >>> print(misfit(Rows(Int(0)), [1, -2], "sizes"))
        sizes[1] is -2, not an int of at least 0
        >>> print(misfit(Record({"a": Int()}), {}, "the page"))
        a of the page is missing, not an int
    """
    levels: list[tuple[_Place, Iterator[tuple[Kind, Any, str]]]] = []
    parts, at = iter([(kind, value, "")]), _Place(place)
    while True:
        for kind, value, where in parts:
            if value is MISSING or not kind.fits(value):
                return Misfit(str(at.within(where)), value, kind.legal)
            if isinstance(value, (dict, list)):
                levels.append((at, parts))
                parts, at = kind.inside(value), at.within(where)
                break
        else:
            if not levels:
                return None
            at, parts = levels.pop()
        if len(levels) > MOST_DEPTH:
            return Misfit(str(at), value, f"at most {MOST_DEPTH} levels deep")


@dataclass(frozen=True)
class _Place:
    """``teams[2] of the page``: a path from a root; a part that begins with a colon is a root of its own."""

    root: str
    path: str = ""

    def within(self, part: str) -> _Place:
        if not part:
            return self
        if part.startswith(":"):
            return _Place(part[1:])
        if part.startswith("["):
            return _Place(self.root, self.path + part) if self.path else _Place(self.root + part)
        return _Place(self.root, f"{self.path}.{part}" if self.path else part)

    def __str__(self) -> str:
        return f"{self.path} of {self.root}" if self.path else self.root


def is_text(value: Any) -> bool:
    """True for a string that can be written in UTF-8 (JSON can also write halves of characters)."""
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)


@dataclass(frozen=True)
class Int(Kind):
    """An int (no bool) between two bounds."""

    least: int | None = None
    most: int | None = None

    @property
    def legal(self) -> str:  # type: ignore[override]
        low = "" if self.least is None else f" of at least {self.least}"
        if self.most is None:
            return f"an int{low}"
        return f"an int from {self.least} to {self.most}" if self.least is not None else f"an int up to {self.most}"

    def fits(self, value: Any) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True)
class Real(Kind):
    """A finite number."""

    legal: str = "a finite number"

    def fits(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return abs(value) < 1 << 1000 if isinstance(value, int) else math.isfinite(value)


class Number(Kind):
    """A number, inf and nan among them."""

    legal = "a number"

    def fits(self, value: Any) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Text(Kind):
    """A string."""

    legal: str = "a string"

    def fits(self, value: Any) -> bool:
        return is_text(value)


@dataclass(frozen=True)
class Flag(Kind):
    """True or False."""

    legal: str = "true or false"

    def fits(self, value: Any) -> bool:
        return isinstance(value, bool)


class OneOf(Kind):
    """One of some strings, numbers, or null."""

    legal: str

    def __init__(self, *values: Any) -> None:
        self.values = values
        self.legal = "one of " + ", ".join(json.dumps(v) for v in values) if len(values) > 1 else json.dumps(values[0])

    def fits(self, value: Any) -> bool:
        return any(type(value) is type(v) and value == v for v in self.values)


@dataclass(frozen=True)
class Rows(Kind):
    """A list, all of one kind."""

    of: Kind
    legal: str = "a list"

    def fits(self, value: Any) -> bool:
        return isinstance(value, list)

    def inside(self, value: Any) -> Iterator[tuple[Kind, Any, str]]:
        return ((self.of, part, f"[{i}]") for i, part in enumerate(value))


class FixedRow(Kind):
    """A list of so many parts, each of its kind."""

    def __init__(self, *kinds: Kind) -> None:
        self.kinds = kinds
        self.legal: str = f"a list of {len(kinds)}"

    def fits(self, value: Any) -> bool:
        return isinstance(value, list) and len(value) == len(self.kinds)

    def inside(self, value: Any) -> Iterator[tuple[Kind, Any, str]]:
        return ((kind, part, f"[{i}]") for i, (kind, part) in enumerate(zip(self.kinds, value)))


@dataclass(frozen=True)
class Table(Kind):
    """An object with keys of any name; ``place`` says what an entry is called, ``{}`` being its key. Behind a colon
    that is all that errors say of the place."""

    of: Kind
    legal: str = "a table"
    place: str = "{}"

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict) and all(map(is_text, value))

    def inside(self, value: Any) -> Iterator[tuple[Kind, Any, str]]:
        return ((self.of, part, self.place.format(key)) for key, part in value.items())


@dataclass(frozen=True)
class Record(Kind):
    """An object with these keys; others are refused, or let be where it is ``open``."""

    needed: Mapping[str, Kind]
    optional: Mapping[str, Kind] = field(default_factory=dict)
    open: bool = False
    legal: str = "a table"

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict)

    def inside(self, value: Any) -> Iterator[tuple[Kind, Any, str]]:
        for key, kind in self.needed.items():
            yield kind, value.get(key, MISSING), key
        for key, kind in self.optional.items():
            if key in value:
                yield kind, value[key], key
        for key in () if self.open else value:
            if key not in self.needed and key not in self.optional:
                yield _Unknown([*self.needed, *self.optional]), value[key], key


class _Unknown(Kind):
    """A key that nobody knows."""

    def __init__(self, known: list[str]) -> None:
        self.legal = f"a known key ({', '.join(known)})"

    def fits(self, value: Any) -> bool:
        return False


class Either(Kind):
    """A value of one of several kinds, told apart from the outside."""

    def __init__(self, *kinds: Kind) -> None:
        self.kinds = kinds
        self.legal: str = " or ".join(kind.legal for kind in kinds)

    def fits(self, value: Any) -> bool:
        return any(kind.fits(value) for kind in self.kinds)

    def inside(self, value: Any) -> Iterator[tuple[Kind, Any, str]]:
        return iter([(next(kind for kind in self.kinds if kind.fits(value)), value, "")])


ANYTHING, INT, INDEX, REAL, NUMBER, TEXT, FLAG = Kind(), Int(), Int(0), Real(), Number(), Text(), Flag()
