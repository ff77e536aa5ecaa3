"""Random data of containers in containers, programs that read a part of it, and changes between calls.

    spec    ("L", [("T", [("n", 1), ("n", 2)])])      a list of one tuple of two numbers
    read    sum(a * b for a, b, in o.data)            one of the ways that the part at a path allows
    change  another number at a leaf, put into the innermost container that can change, or into data made anew
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator
from random import Random
from typing import Any

Spec = tuple[str, Any]
Path = tuple[int, ...]
Pair = collections.namedtuple("Pair", "a b")
NUMBERS = [1, 2, 3, 4, 1.5, 2.5]
KEYS, FIELDS = "abcdef", "ab"
SEQUENCES, RECORDS, CHANGEABLE = "LTQ", "NOC", "LDQOC"


class Plain:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


@dataclasses.dataclass
class Record:
    a: Any
    b: Any


MAKERS: dict[str, Any] = {
    "L": list, "T": tuple, "Q": collections.deque, "D": lambda parts: dict(zip(KEYS, parts)),
    "N": lambda parts: Pair(*parts), "O": lambda parts: Plain(*parts), "C": lambda parts: Record(*parts),
}  # fmt: skip


def drawn(random: Random, depth: int) -> Spec:
    """Data of at most so many levels; often its parts are alike, as rows of a table are."""
    if depth == 0 or random.random() < 0.15:
        return "n", random.choice(NUMBERS)
    kind = random.choice("LLTTTDDQNOC")
    count = 2 if kind in RECORDS else random.randint(1, 3)
    if random.random() < 0.45:
        inner = drawn(random, depth - 1)
        return kind, [_varied(random, inner) for _ in range(count)]
    return kind, [drawn(random, depth - 1) for _ in range(count)]


def _varied(random: Random, spec: Spec) -> Spec:
    kind, parts = spec
    return (kind, random.choice(NUMBERS)) if kind == "n" else (kind, [_varied(random, part) for part in parts])


def build(spec: Spec) -> Any:
    kind, parts = spec
    return parts if kind == "n" else MAKERS[kind]([build(part) for part in parts])


def nodes(spec: Spec, path: Path = ()) -> Iterator[tuple[Path, Spec]]:
    """All parts with their paths, the data itself first."""
    yield path, spec
    if spec[0] != "n":
        for i, part in enumerate(spec[1]):
            yield from nodes(part, (*path, i))


def at(spec: Spec, path: Path) -> Spec:
    for i in path:
        spec = spec[1][i]
    return spec


def replaced(spec: Spec, path: Path, number: Any) -> Spec:
    """The data with another number at a leaf."""
    if not path:
        return "n", number
    parts = list(spec[1])
    parts[path[0]] = replaced(parts[path[0]], path[1:], number)
    return spec[0], parts


def change(random: Random, holder: Any, spec: Spec, new: Spec, path: Path) -> None:
    """Make the data that ``holder`` has what ``new`` says, which differs at one leaf."""
    places = [j for j in range(len(path)) if at(spec, path[:j])[0] in CHANGEABLE]
    if not places or random.random() < 0.2:
        holder.data = build(new)
        return
    j = random.choice(places)
    parent, kind, value, i = holder.data, at(spec, path[:j])[0], build(at(new, path[: j + 1])), path[j]
    for depth, k in enumerate(path[:j]):
        parent = _child(parent, at(spec, path[:depth])[0], k)
    if kind in "OC":
        setattr(parent, FIELDS[i], value)
    else:
        parent[KEYS[i] if kind == "D" else i] = value


def _child(owner: Any, kind: str, i: int) -> Any:
    if kind in "OC":
        return getattr(owner, FIELDS[i])
    return owner[KEYS[i] if kind == "D" else i]


def written(spec: Spec, path: Path) -> str:
    """The path as Python text."""
    text = ""
    for i in path:
        text += f"[{i}]" if spec[0] in SEQUENCES else f"[{KEYS[i]!r}]" if spec[0] == "D" else f".{FIELDS[i]}"
        spec = spec[1][i]
    return text


def _shape(spec: Spec) -> Any:
    return "n" if spec[0] == "n" else (spec[0], tuple(map(_shape, spec[1])))


def _has_texts(spec: Spec) -> bool:
    """Does its text say all that it holds?"""
    return spec[0] == "n" or spec[0] not in "O" and all(map(_has_texts, spec[1]))


def reads(random: Random, spec: Spec, text: str) -> list[str]:
    """Expressions of a part that is written ``text``; each gives a number."""
    kind, parts = spec
    if kind == "n":
        return [text, f"abs({text})", f"({text} > 2) + 1", f"round({text})", f"max({text}, 2)"]
    values = f"{text}.values()" if kind == "D" else text
    found = [f"len(repr({text}))", f"len(str({text}))"] if _has_texts(spec) else []
    if kind in RECORDS:
        for i in range(2):
            found += reads(random, parts[i], f"{text}.{FIELDS[i]}")[:3]
        return [*found, f"({text} == copy.copy({text})) + 1"] if kind == "C" else found
    found.append(f"len({text})")
    if all(part[0] == "n" for part in parts):
        found += _of_numbers(kind, text, values)
    rows = {(part[0], len(part[1])) for part in parts if part[0] in SEQUENCES + "N"}
    if len(rows) == 1 and all(part[0] in SEQUENCES + "N" for part in parts):
        found += _of_rows(spec, values)
    if len(set(map(_shape, parts))) == 1:
        inner = reads(random, parts[0], "w")
        found += [f"sum({random.choice(inner)} for w in {values})", f"[{random.choice(inner)} for w in {values}][-1]",
                  f"list(map(lambda w: {random.choice(inner)}, {values}))[0]"]  # fmt: skip
    return found


def _of_numbers(kind: str, text: str, values: str) -> list[str]:
    found = [
        f"sum({values})", f"max({values})", f"sorted({values})[0]", f"[v for v in {values}][0]", f"list({values})[-1]",
        f"(3 in {values}) + 1", f"(lambda *q: q[0])(*{values})", f"sum(v * u for v in {values} for u in {values})",
        f"functools.reduce(operator.add, {values})", f"next(iter({values}))", f"any(v > 3 for v in {values}) + 1",
    ]  # fmt: skip
    if kind == "D":
        return [*found, f"max({text}.items(), key=lambda kv: kv[1])[1]", f"({text} == {{'a': 3}}) + 1",
                f"dict({text})['a']", f"{{**{text}}}['a']"]  # fmt: skip
    if kind in "LT":
        found += [f"({text} == type({text})([3, 2])) + 1", f"({text} + {text})[-1]", f"{text}[::-1][0]"]
    return [*found, f"{text}.count(3) + 1"]


def _of_rows(spec: Spec, values: str) -> list[str]:
    """Rows of one length, which a program takes apart; some are rows of numbers."""
    first = spec[1][0]
    count = len(first[1])
    names, last = ", ".join(KEYS[:count]) + ",", KEYS[count - 1]
    if not all(part[0] == "n" for row in spec[1] for part in row[1]):
        return [f"len([{last} for {names} in {values}])"]
    found = [
        f"[{last} for {names} in {values}][0]", f"sum(a * {last} for {names} in {values})",
        f"max({{a for {names} in {values}}})", f"list(zip(*{values}))[0][-1]", f"sum(itertools.chain(*{values}))",
        f"sum(map(sum, {values}))", f"list(itertools.starmap(lambda {names}: {last}, {values}))[0]",
        f"[a for i, ({names}) in enumerate({values})][-1]", f"[a for ({names}), u in zip({values}, {values})][0]",
    ]  # fmt: skip
    if first[0] in "LTN":
        found += [f"max({values})[0]", f"sorted({values})[-1][-1]", f"({build(first)!r} in list({values})) + 1"]
    return [*found, f"sum(dict({values}).values())"] if count == 2 else found


def program(random: Random, spec: Spec) -> str:
    """The body of a function of ``x`` and ``o`` that reads a part of ``o.data``."""
    path, part = random.choice([node for node in nodes(spec) if node[1][0] != "n"])
    read = random.choice(reads(random, part, "o.data" + written(spec, path)))
    return random.choice([
        f"return x * ({read})",
        f"d = o.data\nreturn x * ({read.replace('o.data', 'd')})",
        f"def g(d): return {read.replace('o.data', 'd')}\nreturn x * g(o.data)",
        f"s = 0\nfor _ in range(2): s = s + ({read})\nreturn x * s",
        f"y = x * ({read})\nif x.sum() > 0: return y\nreturn y * 2",
    ])  # fmt: skip
