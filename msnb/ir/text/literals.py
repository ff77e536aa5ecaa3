"""How values are written in IR text: constants, attributes, types, names.

    2.0  3  True             a constant of the default dtype (f32, i64, bool)       ~2.0  a weak Python number
    f64(2.0)                 a constant of another dtype                            i32[3]{1, 2, 3}  a small array
    f32[32,10]{all 0.0}      every element the same (up to a megabyte)
    const f32[6,1,5,5] {9f0c...}      a big one: the digest is a key of the side table ``constants_of(graph)``

Numbers are written as short as their dtype allows: the digits shown, read back, give the same bits.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import numpy as np

from msnb.core import Array, Dim, HostType, Size, StackType, TensorType, TokenType, Type, dtypes
from msnb.ir.builder import Const
from msnb.ir.control_flow import HostFn

SMALL = 4
MOST_FILLED = 1 << 20  # bytes; a few characters that stand for more are read from a file no more than data are
_WORDS = ("graph", "return", "yield", "state", "const", "None", "True", "False", "inf", "nan", "complex", "slice")
RESERVED = frozenset(_WORDS) | {"object", "dim", "stack", "token", "host"} | {t.short for t in dtypes.ALL}
DEFAULTS = {dtypes.bool_, dtypes.int64, dtypes.float32}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*\Z")


def write_name(name: str) -> str:
    """A param's name as a word, or between backquotes where it is not one."""
    if _PLAIN.match(name) and name not in RESERVED:
        return name
    return "`" + name.replace("\\", "\\\\").replace("`", "\\u0060").replace("\n", "\\n").replace("\r", "\\r") + "`"


def write_size(size: Size) -> str:
    """A size: a number, or a Dim whose symbol stands between backquotes where it is a formula (```3*n`<=24``)."""
    if isinstance(size, int):
        return str(size)
    return write_name(size.symbol) + ("" if size.bound is None else f"<={size.bound}")


def write_type(type_: Type) -> str:
    """``f32[2,3]``, ``~f64[]``, ``f32[n<=8]``, ``stack<f32[3]>``, ``token``, ``host``."""
    if isinstance(type_, TensorType):
        return f"{'~' if type_.weak else ''}{type_.dtype.short}[{','.join(map(write_size, type_.shape))}]"
    return f"stack<{write_type(type_.element)}>" if isinstance(type_, StackType) else str(type_)


def write_string(text: str) -> str:
    """A string in double quotes, escaped so that it stays on its line."""
    return json.dumps(text)


def write_float(value: Any, dtype: dtypes.DType) -> str:
    """The shortest digits that give ``value`` back when read in ``dtype``."""
    number = float(value)
    if number != number or number in (float("inf"), float("-inf")):
        return str(number)
    if dtype is dtypes.float64:
        return repr(number)
    for digits in range(1, 18):
        text = f"{number:.{digits}g}"
        if dtype.numpy.type(float(text)) == value:
            break
    return repr(float(text))


def write_number(value: Any, dtype: dtypes.DType) -> str:
    """One element of an array."""
    if dtype is dtypes.bool_:
        return str(bool(value))
    if dtype.is_int:
        return str(int(value))
    if dtype.is_complex:
        part = dtypes.float32 if dtype is dtypes.complex64 else dtypes.float64
        kind = part.numpy.type
        return f"complex({write_float(kind(value.real), part)}, {write_float(kind(value.imag), part)})"
    return write_float(value, dtype)


def strong_array(const: Const) -> Array:
    """The data of a constant that is not weak."""
    return np.asarray(const.data, dtype=const.type.dtype.numpy)


def digest(const: Const) -> str:
    """A short key of a constant's type and bits."""
    raw = repr(const.data).encode() if const.type.weak else np.asarray(strong_array(const), order="C").tobytes()
    return hashlib.blake2b(repr(const.type).encode() + b"\0" + raw, digest_size=8).hexdigest()


def _has_odd_nan(array: Array) -> bool:
    """A NaN with other bits than NumPy's own does not survive as the word ``nan``."""
    if array.dtype.kind not in "fcV":
        return False
    parts = np.stack([array.real, array.imag]) if array.dtype.kind == "c" else array
    nans = parts[np.isnan(parts)]
    return bool(nans.size) and nans.tobytes() != np.full(nans.shape, np.nan, nans.dtype).tobytes()


def is_inline(const: Const) -> bool:
    """True where a constant is written out where it is used."""
    if const.type.weak:
        return True
    array = strong_array(const)
    if array.size > SMALL and (array.nbytes > MOST_FILLED or not is_filled(array)):
        return False
    return not _has_odd_nan(array)


def is_filled(array: Array) -> bool:
    """True where every element has the same bits."""
    first = array.reshape(-1)[:1]
    return bool(array.size) and array.tobytes() == first.tobytes() * array.size


def write_const(const: Const) -> str:
    """A constant as an operand; ``const T {digest}`` where it is too big."""
    if const.type.weak:
        return "~" + write_plain(const.data)
    if not is_inline(const):
        return f"const {const.type!r} {{{digest(const)}}}"
    dtype, array = const.type.dtype, strong_array(const)
    if array.size > SMALL:
        return f"{const.type!r}{{all {write_number(array.reshape(-1)[0], dtype)}}}"
    items = [write_number(x, dtype) for x in array.reshape(-1)]
    if const.type.shape:
        return f"{const.type!r}{{{', '.join(items)}}}"
    return items[0] if dtype in DEFAULTS else f"{dtype.short}({items[0]})"


def write_plain(value: Any) -> str:
    """A Python number as text that ``parse`` reads back as the same type."""
    return f"complex({value.real!r}, {value.imag!r})" if isinstance(value, complex) else repr(value)


class LiteralTable:
    """What a text cannot hold: big constants by digest, callables and foreign objects by name.

    Attributes:
        entries: key -> NumPy array, HostFn or object; ``parse(text, entries)`` puts them back.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}
        self._keys: dict[int, str] = {}

    def const(self, const: Const) -> str:
        """The text of a constant; its data are kept when they do not fit."""
        text = write_const(const)
        if not is_inline(const):
            self.entries[digest(const)] = const.data
        return text

    def key(self, value: Any, name: str) -> str:
        """A key of its own for every object: ``hook``, ``hook#2`` ..."""
        found = self._keys.get(id(value))
        if found is None:
            found, n = name, 1
            while found in self.entries:
                n += 1
                found = f"{name}#{n}"
            self._keys[id(value)] = found
            self.entries[found] = value
        return found


def write_attr(value: Any, table: LiteralTable) -> str:
    """A static attribute as text; ``table`` keeps what has no text."""
    if value is None or type(value) in (bool, int, float, complex):
        return write_plain(value)
    if isinstance(value, str):
        return write_string(value)
    if isinstance(value, tuple):
        return f"({', '.join(write_attr(v, table) for v in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, slice):
        return f"slice({', '.join(write_attr(v, table) for v in (value.start, value.stop, value.step))})"
    return "..." if value is Ellipsis else _write_object(value, table)


def _write_object(value: Any, table: LiteralTable) -> str:
    if isinstance(value, dtypes.DType):
        return value.short
    if isinstance(value, (TensorType, StackType, TokenType, HostType)):
        return write_type(value)
    if isinstance(value, Dim):
        return f"dim({write_size(value)})"
    if isinstance(value, Const):
        text = table.const(value)
        return text if text.startswith("const ") else f"const {text}"
    if isinstance(value, HostFn):
        return f"host({write_string(table.key(value, value.name))})"
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    return f"object({write_string(table.key(value, name))})"
