"""Changes of bytes, of numbers in text, of JSON and of program text. Each takes a generator and gives something new."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

Rng = random.Random
ODD = [0, 1, 2, 3, 7, 255, 256, 65535, *(2**n - 1 for n in (31, 32, 63, 64)), *(2**n for n in (31, 33, 53, 62, 63)), -1]
DEEP = 100_000


# ---- bytes -----------------------------------------------------------------------------------------------------------


def flip(rng: Rng, data: bytes) -> bytes:
    out = bytearray(data or b"\0")
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(rng: Rng, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def put_number(rng: Rng, data: bytes) -> bytes:
    """A length, a count, a size that lies."""
    width, order = rng.choice([1, 2, 4, 8]), rng.choice(["little", "big"])
    number = rng.choice(ODD) % (1 << 8 * width)
    at = rng.randrange(max(len(data) - width, 1))
    return data[:at] + number.to_bytes(width, order) + data[at + width :]


def put_early(rng: Rng, data: bytes) -> bytes:
    """The same where headers are."""
    return put_number(rng, data[:64]) + data[64:]


def move(rng: Rng, data: bytes) -> bytes:
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    kind = rng.randrange(4)
    if kind == 0:
        return data[:a] + data[b:]
    if kind == 1:
        return data[:b] + data[a:]
    if kind == 2:
        return data[:a] + rng.randbytes(rng.randrange(1, 40)) + data[a:]
    return data[:a] + rng.randbytes(b - a) + data[b:]


BYTES: list[Callable[[Rng, bytes], bytes]] = [flip, flip, cut, put_number, put_early, move]


def bytes_changed(rng: Rng, data: bytes) -> bytes:
    for _ in range(rng.choice([1, 1, 2, 3])):
        data = rng.choice(BYTES)(rng, data)
    return data


# ---- text ------------------------------------------------------------------------------------------------------------

_WORDS = re.compile(r"\s+|[A-Za-z_][\w.]*|%\w+|-?\d+(?:\.\d+)?|\"[^\"\n]*\"|->|.", re.DOTALL)
_SPICE = [*"()[]{},:=;~`#\\é\n", "->", "%1", "%2", "x", "f32", "i64", "None", "True", "False", "const", "inf", "nan",
          '"a"', "graph", "return", "yield", "-1", "0", "2.5", "stack<", "token", "all", "1e999", "9" * 30, str(2**62),
          "axis=", "shape=(", "(1, 2)", "complex(", "object(", "slice("]  # fmt: skip


def text_changed(rng: Rng, text: str) -> str:
    """Some words left out, doubled, exchanged, replaced; lines too."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        text = _lines_changed(rng, text) if rng.random() < 0.2 else _words_changed(rng, text)
    return text


def _words_changed(rng: Rng, text: str) -> str:
    words = _WORDS.findall(text) or [""]
    a, b = rng.randrange(len(words)), rng.randrange(len(words))
    kind = rng.randrange(8)
    if kind == 0:
        del words[a]
    elif kind == 1:
        words.insert(b, words[a])
    elif kind == 2:
        words[a], words[b] = words[b], words[a]
    elif kind == 3:
        words[a] = words[b]
    elif kind == 4:
        words = words[:a]
    elif kind == 5:
        numbers = [i for i, w in enumerate(words) if re.fullmatch(r"-?\d+", w)] or [a]
        words[rng.choice(numbers)] = str(rng.choice(ODD))
    else:
        words[a] = rng.choice(_SPICE)
    return "".join(words)


def _lines_changed(rng: Rng, text: str) -> str:
    lines = text.split("\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[a]
    elif kind == 1:
        lines.insert(b, lines[a])
    elif kind == 2:
        lines[a], lines[b] = lines[b], lines[a]
    else:
        lines = lines[:a]
    return "\n".join(lines)


# ---- JSON ------------------------------------------------------------------------------------------------------------


def json_changed(rng: Rng, text: str) -> str:
    """Another value, class or key somewhere; or text that is no JSON, nests without end, has a key twice."""
    special = rng.random()
    if special < 0.1:
        return text_changed(rng, text)
    if special < 0.12:
        return rng.choice(["[" * DEEP, '{"a":' * DEEP, "[" * DEEP + "]" * DEEP, text[:-1] + ',"x":' + "[" * DEEP])
    if special < 0.16:
        return re.sub(r'("[^"]*":)([^,{}\[\]]*)', lambda m: m[0] + "," + m[0], text, count=1)
    page = value_changed(rng, json.loads(text))
    return json.dumps(page)


def value_changed(rng: Rng, page: Any) -> Any:
    """A copy of a page with one place changed."""
    page = json.loads(json.dumps(page))
    places: list[tuple[Any, Any]] = []
    open_ = [page]
    for value in open_:
        for key, part in items_of(value):
            places.append((value, key))
            open_.append(part)
    if not places:
        return _other(rng, page)
    where, key = rng.choice(places)
    kind = rng.randrange(5)
    if kind == 0:
        del where[key]
    elif kind == 1 and isinstance(where, dict):
        where[rng.choice(["x", "", "../" + key, key + "\ud800", "__metadata__"])] = where.pop(key)
    elif kind == 2:
        other, k = rng.choice(places)
        where[key] = json.loads(json.dumps(dict(items_of(other)).get(k, 0)))
    else:
        where[key] = _other(rng, where[key])
    return page


def items_of(value: Any) -> list[tuple[Any, Any]]:
    """(key or number, part) of what a value of JSON holds."""
    return list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())


def _other(rng: Rng, value: Any) -> Any:
    if isinstance(value, str) and rng.random() < 0.5:
        return text_changed(rng, value)
    if isinstance(value, list) and value and rng.random() < 0.5:
        return rng.choice([value * 2, value[:-1], value[::-1], [value], value + [rng.choice(ODD)]])
    plain = [None, True, False, 1.5, 1e308, float("inf"), float("nan"), "", "x", "../x", "/etc/passwd", "\ud800"]
    return rng.choice([*plain, [], {}, [0], [[0]], {"a": 0}, *ODD])
