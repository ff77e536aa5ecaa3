"""Types, constants and attributes of IR text, read from its words.

Texts come from files: what nests is counted, and what a few characters can make large (a constant of equal elements)
has a budget.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from msnb.base import MsnbError
from msnb.base.files.bounded_reader import fits_memory
from msnb.core import dtypes
from msnb.core.types import HOST, TOKEN, WEAK, Dim, Size, StackType, TensorType, Type, tensor_type
from msnb.ir.builder import Const
from msnb.ir.control_flow import HostFn
from msnb.ir.text.lexer import Token, TokenReader

_SHORT = {t.short: t for t in dtypes.ALL}
MOST_FILLED = 64 << 20  # bytes of all constants of a text that are written as ``{all x}``


class LiteralReader:
    """What stands between the names of a text.

    Args:
        words: of the text.
        constants: what the text names only (see ``msnb.ir.text.printer.constants_of``).
    """

    def __init__(self, words: TokenReader, constants: Mapping[str, Any]) -> None:
        self.words, self._constants = words, constants
        self._hosts: dict[str, HostFn] = {}
        self._filled: dict[tuple[Type, str], Const] = {}
        self._budget = MOST_FILLED

    # ---- types ----

    def type(self) -> Type:
        """A type."""
        weak = self.words.accept("~")
        word = self.words.next().text
        if word == "token":
            return TOKEN
        if word == "host":
            return HOST
        if word == "stack":
            return self._stack()
        if word not in _SHORT:
            raise self.words.error(f"{word!r} is not a type")
        self.words.expect("[")
        shape: list[Size] = []
        while not self.words.accept("]"):
            shape.append(self._size())
            self.words.accept(",")
        return tensor_type(tuple(shape), _SHORT[word], weak)

    def _stack(self) -> StackType:
        self.words.expect("<")
        with self.words.deeper("stacks"):
            element = self.type()
        self.words.expect(">")
        if not isinstance(element, (TensorType, StackType)):
            raise self.words.error("a stack holds tensors or stacks")
        return StackType(element)

    def _size(self) -> Size:
        token = self.words.peek()
        if token.kind == "number":
            return self._count()
        if token.kind not in ("word", "quoted"):
            raise self.words.error(f"expected a size, found {token.text or 'the end'!r}")
        return Dim(self.words.next().value, self._count() if self.words.accept("<=") else None)

    def _count(self) -> int:
        token = self.words.next()
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 19:
            raise self.words.error(f"expected a size, 0 or more, found {token.text!r}")
        return int(token.text)

    # ---- constants ----

    def starts_literal(self) -> bool:
        """True where a constant stands, not a name."""
        return self.words.peek().text in ("True", "False", "const", "complex") or self.words.peek().text in _SHORT

    def const(self) -> Const:
        """A constant, inline or by digest."""
        self.words.accept("const")
        if self.words.accept("~"):
            value = self.number()
            return Const(value, WEAK[type(value)])
        word = self.words.peek().text
        if word in _SHORT and self.words.peek(1).text == "[":
            return self._array()
        if word in _SHORT:
            self.words.next()
            self.words.expect("(")
            const = self._scalar(self.number(), _SHORT[word])
            self.words.expect(")")
            return const
        value = self.number()
        return self._scalar(value, dtypes.as_dtype(type(value)))

    def _scalar(self, value: Any, dtype: dtypes.DType) -> Const:
        return Const(self._elements([value], dtype).reshape(()), tensor_type((), dtype))

    def _elements(self, values: list[Any], dtype: dtypes.DType) -> Any:
        """Numbers as they stand in an array of this dtype; none is changed by that."""
        legal = {dtypes.BOOL: bool, dtypes.INT: int, dtypes.FLOAT: (int, float)}.get(dtype.category, object)
        for value in values:
            if not isinstance(value, legal) or (isinstance(value, bool) and legal is not bool):  # type: ignore[arg-type]
                raise self.words.error(f"{value!r} is no element of {dtype.short}")
        with np.errstate(over="ignore"):
            found = self.words.made(lambda: np.array(values, dtype.numpy), f"an array of {dtype.short}")
        if dtype.is_float and any(math.isfinite(v) != np.isfinite(f) for v, f in zip(values, found)):
            raise self.words.error(f"a number is too large for {dtype.short}")
        return found

    def _array(self) -> Const:
        type_ = self.type()
        if not isinstance(type_, TensorType) or type_.weak or not type_.is_static:
            raise self.words.error(f"a constant is a tensor of known sizes, and not {type_}")
        if self.words.peek().kind == "digest":
            data = self._stored(self.words.next().text[1:-1], "constant")
            if not isinstance(data, np.ndarray) or data.shape != type_.shape or data.dtype != type_.dtype.numpy:
                raise self.words.error(f"the stored constant is no {type_!r}")
            return Const(data, type_)
        self.words.expect("{")
        if self.words.accept("all"):
            return self._filled_with(type_)
        items: list[Any] = []
        while not self.words.accept("}"):
            items.append(self.number())
            self.words.accept(",")
        if len(items) != type_.size:
            raise self.words.error(f"{type_!r} has {type_.size} elements, {len(items)} are written")
        return Const(self._elements(items, type_.dtype).reshape(type_.ints()), type_)

    def _filled_with(self, type_: TensorType) -> Const:
        """A constant of equal elements; the same one wherever it is written."""
        number = self.number()
        self.words.expect("}")
        key = type_, repr(number)
        if key not in self._filled:
            self._budget -= type_.nbytes
            if self._budget < 0 or not fits_memory(type_.ints(), 1):
                raise self.words.error(f"the constants of equal elements take more than {MOST_FILLED >> 20} MB")
            element = self._elements([number], type_.dtype)[0]
            self._filled[key] = Const(np.full(type_.ints(), element, type_.dtype.numpy), type_)
        return self._filled[key]

    def number(self) -> Any:
        """A Python number."""
        if self.words.peek().text != "complex":
            return self._real()
        self.words.next()
        self.words.expect("(")
        real = self._real()
        self.words.expect(",")
        imag = self._real()
        self.words.expect(")")
        return self.words.made(lambda: complex(real, imag), "a complex number")

    def _real(self) -> bool | int | float:
        token = self.words.next()
        if token.text in ("True", "False"):
            return token.text == "True"
        if token.kind != "number":
            raise self.words.error(f"expected a number, found {token.text!r}")
        whole = re.fullmatch(r"-?\d+", token.text)
        return self.words.made(lambda: int(token.text) if whole else float(token.text), "a number")

    def _stored(self, key: str, what: str) -> Any:
        if key not in self._constants:
            raise self.words.error(f"the {what} {key!r} is not in the text; pass constants=constants_of(graph)")
        return self._constants[key]

    # ---- attributes ----

    def attr(self) -> Any:
        """The value of a static attribute."""
        token = self.words.peek()
        if token.kind == "string":
            return self.words.made(lambda: json.loads(self.words.next().text), "a string")
        if token.kind == "number" or token.text in ("True", "False", "complex"):
            return self.number()
        if self.words.accept("None"):
            return None
        if self.words.accept("..."):
            return Ellipsis
        if self.words.accept("("):
            return self._items(")")
        return self.const() if token.text == "const" else self._typed(token)

    def _items(self, end: str) -> tuple[Any, ...]:
        out = []
        with self.words.deeper("attributes"):
            while not self.words.accept(end):
                out.append(self.attr())
                self.words.accept(",")
        return tuple(out)

    def _typed(self, token: Token) -> Any:
        calls = self.words.peek(1).text == "("
        if token.text in ("slice", "dim", "host", "object") and calls:
            self.words.next()
            self.words.next()
            return self._called(token.text)
        if token.text in _SHORT and self.words.peek(1).text != "[":
            return _SHORT[self.words.next().text]
        return self.type()

    def _called(self, word: str) -> Any:
        if word == "dim":
            size = self._size()
            self.words.expect(")")
            return size
        items = self._items(")")
        if word == "slice":
            if len(items) != 3:
                raise self.words.error(f"a slice has a start, a stop and a step, and not {len(items)} parts")
            return slice(*items)
        if len(items) != 1 or not isinstance(items[0], str):
            raise self.words.error(f"{word}(...) holds one name")
        return self._host(items[0]) if word == "host" else self._stored(items[0], "object")

    def _host(self, name: str) -> HostFn:
        """The callable of that name; without one, a slot that says so when it is called."""
        if name not in self._hosts:
            stored = self._constants.get(name)
            self._hosts[name] = stored if isinstance(stored, HostFn) else HostFn(_absent(name), name)
        return self._hosts[name]


def _absent(name: str) -> Any:
    def absent(*tensors: Any) -> Any:
        raise MsnbError(f"this program was read from text: its Python function {name!r} was not given.")

    return absent
