"""The words of IR text: tokens, types, attributes and constants. ``msnb.ir.text.parser`` reads the sentences.

Texts come from files, so every loop here ends: each of its rounds takes a token, and behind the last one ``next`` is an
error. What nests is counted, and what a few characters can make large (a constant of equal elements) has a budget.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from msnb.base.errors import MsnbError
from msnb.base.files.bounded_reader import fits_memory
from msnb.core import dtypes
from msnb.core.types import HOST, TOKEN, WEAK, Dim, Size, StackType, TensorType, Type, tensor_type
from msnb.ir.builder import Const
from msnb.ir.control_flow import HostFn

_TOKENS = re.compile(
    r"""(?P<space>[ \t]+)
      | (?P<comment>\#[^\n]*)
      | (?P<newline>\n)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<quoted>`[^`\n]*`)
      | (?P<value>%[A-Za-z0-9_.]+)
      | (?P<number>-?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf\b|nan\b))
      | (?P<digest>\{[0-9a-f]{16}\})
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)
      | (?P<sign>->|<=|\.\.\.|[-(){}\[\]<>,:;=~])""",
    re.VERBOSE,
)
_SHORT = {t.short: t for t in dtypes.ALL}
MOST_LINE, MOST_LEVELS = 1 << 20, 100
MOST_FILLED = 64 << 20  # bytes of all constants of a text that are written as ``{all x}``
_T = TypeVar("_T")


class ParseError(MsnbError, ValueError):
    """Text that is not IR."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text: what it is, how it is written, what it means, and its line."""

    kind: str
    text: str
    value: str
    line: int


def lines(text: str) -> Iterator[list[Token]]:
    """The words of one line after the other; spaces left out, comments and line ends kept."""
    start, number = 0, 1
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        if end - start > MOST_LINE:
            raise ParseError(f"line {number}: it has {end - start} characters; at most {MOST_LINE} are read.")
        yield list(_words(text, start, end, number))
        start, number = end, number + 1


def _words(text: str, at: int, end: int, line: int) -> Iterator[Token]:
    while at < end:
        found = _TOKENS.match(text, at)
        if found is None:
            raise ParseError(f"line {line}: {text[at : at + 10]!r} is not IR text.")
        kind, word = str(found.lastgroup), found.group()
        if kind != "space":
            yield Token(kind, word, _meaning(kind, word), line)
        at = found.end()


def _meaning(kind: str, word: str) -> str:
    if kind == "quoted":
        return re.sub(r"\\(u0060|n|r|\\)", lambda m: {"u0060": "`", "n": "\n", "r": "\r"}.get(m[1], "\\"), word[1:-1])
    return word


class Reader:
    """A cursor over the tokens of a text.

    Args:
        text: IR text.
        constants: what the text names only (see ``msnb.ir.text.printer.constants_of``).
    """

    def __init__(self, text: str, constants: Mapping[str, Any]) -> None:
        self._lines = lines(text)
        self._coming: deque[Token] = deque()
        self._comments: dict[int, str] = {}
        self._line = 1  # of the token that was read last
        self._end = Token("end", "", "", text.count("\n") + 1)
        self._constants = constants
        self._hosts: dict[str, HostFn] = {}
        self._filled: dict[tuple[Type, str], Const] = {}
        self._budget = MOST_FILLED
        self._levels = 0

    # ---- moving --------------------------------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> Token:
        """The next token, or the one ``ahead`` of it."""
        while len(self._coming) <= ahead:
            line = next(self._lines, None)
            if line is None:
                return self._end
            self._comments.pop(line[0].line - 8 if line else 0, None)
            for token in line:
                if token.kind == "comment":
                    self._comments[token.line] = token.text[1:].strip()
                else:
                    self._coming.append(token)
        return self._coming[ahead]

    def next(self) -> Token:
        """The next token, and go on. At the end of the text there is none, which is an error."""
        token = self.peek()
        if token is self._end:
            raise self.error("the text ends in the middle of a statement")
        self._line = token.line
        return self._coming.popleft()

    @contextmanager
    def deeper(self, what: str) -> Iterator[None]:
        """One level of nesting."""
        self._levels += 1
        if self._levels > MOST_LEVELS:
            raise self.error(f"{what} are nested more than {MOST_LEVELS} levels deep")
        yield
        self._levels -= 1

    def accept(self, text: str) -> bool:
        """Go past ``text`` if it stands here."""
        if self.peek().text != text:
            return False
        self.next()
        return True

    def expect(self, text: str) -> None:
        """Go past ``text``, which must stand here."""
        if not self.accept(text):
            raise self.error(f"expected {text!r}, found {self.peek().text or 'the end'!r}")

    def name(self) -> str:
        """A name, plain or between backquotes."""
        token = self.next()
        if token.kind not in ("word", "quoted"):
            raise self.error(f"expected a name, found {token.text!r}")
        return token.value

    def skip_newlines(self) -> None:
        """Go to the next statement."""
        while self.peek().text in ("\n", ";"):
            self.next()

    def line_ends(self) -> bool:
        """True at the end of a statement."""
        return self.peek().text in ("\n", ";") or self.at_end()

    def at_end(self) -> bool:
        """True when all is read."""
        return self.peek() is self._end

    def line_comment(self) -> str:
        """The comment on the line of the token that was read last."""
        return self._comments.get(self._line, "")

    def error(self, what: str) -> ParseError:
        """An error at the token that comes next."""
        line = self._coming[0].line if self._coming else max(self._line, self._end.line - 1)
        return ParseError(f"line {line}: {what}.")

    def made(self, make: Callable[[], _T], what: str) -> _T:
        """What ``make`` gives; where the numbers that were read are none that it takes, the text is wrong."""
        try:
            return make()
        except (ValueError, TypeError, OverflowError, MemoryError) as error:
            said = error.sentence if isinstance(error, MsnbError) else str(error)
            raise self.error(f"{what} cannot be made: {said.rstrip('.')}") from None

    # ---- types ---------------------------------------------------------------------------------------------------

    def type(self) -> Type:
        """A type."""
        weak = self.accept("~")
        word = self.next().text
        if word == "token":
            return TOKEN
        if word == "host":
            return HOST
        if word == "stack":
            return self._stack()
        if word not in _SHORT:
            raise self.error(f"{word!r} is not a type")
        self.expect("[")
        shape: list[Size] = []
        while not self.accept("]"):
            shape.append(self._size())
            self.accept(",")
        return tensor_type(tuple(shape), _SHORT[word], weak)

    def _stack(self) -> StackType:
        self.expect("<")
        with self.deeper("stacks"):
            element = self.type()
        self.expect(">")
        if not isinstance(element, (TensorType, StackType)):
            raise self.error("a stack holds tensors or stacks")
        return StackType(element)

    def _size(self) -> Size:
        token = self.peek()
        if token.kind == "number":
            return self._count()
        if token.kind not in ("word", "quoted"):
            raise self.error(f"expected a size, found {token.text or 'the end'!r}")
        return Dim(self.next().value, self._count() if self.accept("<=") else None)

    def _count(self) -> int:
        token = self.next()
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 19:
            raise self.error(f"expected a size, 0 or more, found {token.text!r}")
        return int(token.text)

    # ---- constants -----------------------------------------------------------------------------------------------

    def starts_literal(self) -> bool:
        """True where a constant stands, not a name."""
        return self.peek().text in ("True", "False", "const", "complex") or self.peek().text in _SHORT

    def const(self) -> Const:
        """A constant, inline or by digest."""
        self.accept("const")
        if self.accept("~"):
            value = self.number()
            return Const(value, WEAK[type(value)])
        word = self.peek().text
        if word in _SHORT and self.peek(1).text == "[":
            return self._array()
        if word in _SHORT:
            self.next()
            self.expect("(")
            const = self._scalar(self.number(), _SHORT[word])
            self.expect(")")
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
                raise self.error(f"{value!r} is no element of {dtype.short}")
        with np.errstate(over="ignore"):
            found = self.made(lambda: np.array(values, dtype.numpy), f"an array of {dtype.short}")
        if dtype.is_float and any(math.isfinite(v) != np.isfinite(f) for v, f in zip(values, found)):
            raise self.error(f"a number is too large for {dtype.short}")
        return found

    def _array(self) -> Const:
        type_ = self.type()
        if not isinstance(type_, TensorType) or type_.weak or not type_.is_static:
            raise self.error(f"a constant is a tensor of known sizes, and not {type_}")
        if self.peek().kind == "digest":
            data = self._stored(self.next().text[1:-1], "constant")
            if not isinstance(data, np.ndarray) or data.shape != type_.shape or data.dtype != type_.dtype.numpy:
                raise self.error(f"the stored constant is no {type_!r}")
            return Const(data, type_)
        self.expect("{")
        if self.accept("all"):
            return self._filled_with(type_)
        items: list[Any] = []
        while not self.accept("}"):
            items.append(self.number())
            self.accept(",")
        if len(items) != type_.size:
            raise self.error(f"{type_!r} has {type_.size} elements, {len(items)} are written")
        return Const(self._elements(items, type_.dtype).reshape(type_.ints()), type_)

    def _filled_with(self, type_: TensorType) -> Const:
        """A constant of equal elements; the same one wherever it is written."""
        number = self.number()
        self.expect("}")
        key = type_, repr(number)
        if key not in self._filled:
            self._budget -= type_.nbytes
            if self._budget < 0 or not fits_memory(type_.ints(), 1):
                raise self.error(f"the constants of equal elements take more than {MOST_FILLED >> 20} MB")
            element = self._elements([number], type_.dtype)[0]
            self._filled[key] = Const(np.full(type_.ints(), element, type_.dtype.numpy), type_)
        return self._filled[key]

    def number(self) -> Any:
        """A Python number."""
        if self.peek().text != "complex":
            return self._real()
        self.next()
        self.expect("(")
        real = self._real()
        self.expect(",")
        imag = self._real()
        self.expect(")")
        return self.made(lambda: complex(real, imag), "a complex number")

    def _real(self) -> bool | int | float:
        token = self.next()
        if token.text in ("True", "False"):
            return token.text == "True"
        if token.kind != "number":
            raise self.error(f"expected a number, found {token.text!r}")
        whole = re.fullmatch(r"-?\d+", token.text)
        return self.made(lambda: int(token.text) if whole else float(token.text), "a number")

    def _stored(self, key: str, what: str) -> Any:
        if key not in self._constants:
            raise self.error(f"the {what} {key!r} is not in the text; pass constants=constants_of(graph)")
        return self._constants[key]

    # ---- attributes ----------------------------------------------------------------------------------------------

    def attr(self) -> Any:
        """The value of a static attribute."""
        token = self.peek()
        if token.kind == "string":
            return self.made(lambda: json.loads(self.next().text), "a string")
        if token.kind == "number" or token.text in ("True", "False", "complex"):
            return self.number()
        if self.accept("None"):
            return None
        if self.accept("..."):
            return Ellipsis
        if self.accept("("):
            return self._items(")")
        if token.text == "const":
            return self.const()
        return self._typed(token)

    def _items(self, end: str) -> tuple[Any, ...]:
        out = []
        with self.deeper("attributes"):
            while not self.accept(end):
                out.append(self.attr())
                self.accept(",")
        return tuple(out)

    def _typed(self, token: Token) -> Any:
        calls = self.peek(1).text == "("
        if token.text in ("slice", "dim", "host", "object") and calls:
            self.next()
            self.next()
            return self._called(token.text)
        if token.text in _SHORT and self.peek(1).text != "[":
            return _SHORT[self.next().text]
        return self.type()

    def _called(self, word: str) -> Any:
        if word == "dim":
            size = self._size()
            self.expect(")")
            return size
        items = self._items(")")
        if word == "slice":
            if len(items) != 3:
                raise self.error(f"a slice has a start, a stop and a step, and not {len(items)} parts")
            return slice(*items)
        if len(items) != 1 or not isinstance(items[0], str):
            raise self.error(f"{word}(...) holds one name")
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
