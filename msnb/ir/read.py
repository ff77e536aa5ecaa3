"""The words of IR text: tokens, types, attributes and constants. ``msnb.ir.parse`` reads the sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb.core import dtypes
from msnb.core.errors import MsnbError
from msnb.core.types import HOST, TOKEN, WEAK, Dim, Size, StackType, TensorType, Type, tensor_type
from msnb.ir.builder import Const
from msnb.ir.control import HostFn

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


class ParseError(MsnbError, ValueError):
    """Text that is not IR."""


@dataclass(frozen=True)
class Token:
    """A word of the text: what it is, how it is written, what it means, and its line."""

    kind: str
    text: str
    value: str
    line: int


def tokens(text: str) -> list[Token]:
    """All words; spaces left out, comments and line ends kept."""
    out: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        found = _TOKENS.match(text, at)
        if found is None:
            raise ParseError(f"line {line}: {text[at : at + 10]!r} is not IR text.")
        kind, word = str(found.lastgroup), found.group()
        if kind != "space":
            out.append(Token(kind, word, _meaning(kind, word), line))
        line += kind == "newline"
        at = found.end()
    return out


def _meaning(kind: str, word: str) -> str:
    if kind == "quoted":
        return re.sub(r"\\(u0060|n|r|\\)", lambda m: {"u0060": "`", "n": "\n", "r": "\r"}.get(m[1], "\\"), word[1:-1])
    return word


class Reader:
    """A cursor over the tokens of a text.

    Args:
        text: IR text.
        constants: what the text names only (see ``msnb.ir.text.constants_of``).
    """

    def __init__(self, text: str, constants: Mapping[str, Any]) -> None:
        self._all = tokens(text)
        self._tokens = [t for t in self._all if t.kind != "comment"]
        self._comments = {t.line: t.text[1:].strip() for t in self._all if t.kind == "comment"}
        self._at = 0
        self._constants = constants
        self._hosts: dict[str, HostFn] = {}
        self._end = Token("end", "", "", self._all[-1].line if self._all else 1)

    # ---- moving --------------------------------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> Token:
        """The next token, or the one ``ahead`` of it."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else self._end

    def next(self) -> Token:
        """The next token, and go on."""
        token = self.peek()
        self._at += 1
        return token

    def accept(self, text: str) -> bool:
        """Go past ``text`` if it stands here."""
        if self.peek().text != text:
            return False
        self._at += 1
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
            self._at += 1

    def line_ends(self) -> bool:
        """True at the end of a statement."""
        return self.peek().text in ("\n", ";") or self.at_end()

    def at_end(self) -> bool:
        """True when all is read."""
        return self._at >= len(self._tokens)

    def line_comment(self) -> str:
        """The comment on the line of the token that was read last."""
        return self._comments.get(self._tokens[max(self._at - 1, 0)].line, "")

    def error(self, what: str) -> ParseError:
        """An error at the token that was read last."""
        line = self._tokens[min(self._at, len(self._tokens) - 1)].line if self._tokens else 1
        return ParseError(f"line {line}: {what}.")

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
        element = self.type()
        self.expect(">")
        if not isinstance(element, (TensorType, StackType)):
            raise self.error("a stack holds tensors or stacks")
        return StackType(element)

    def _size(self) -> Size:
        token = self.next()
        if token.kind == "number":
            return int(token.text)
        return Dim(token.text, int(self.next().text) if self.accept("<=") else None)

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
        return Const(np.asarray(value, dtype.numpy), tensor_type((), dtype))

    def _array(self) -> Const:
        type_ = self.type()
        assert isinstance(type_, TensorType)
        if self.peek().kind == "digest":
            return Const(self._stored(self.next().text[1:-1], "constant"), type_)
        self.expect("{")
        if self.accept("all"):
            filled = np.full(type_.ints(), self.number(), type_.dtype.numpy)
            self.expect("}")
            return Const(filled, type_)
        items: list[Any] = []
        while not self.accept("}"):
            items.append(self.number())
            self.accept(",")
        return Const(np.array(items, type_.dtype.numpy).reshape(type_.ints()), type_)

    def number(self) -> Any:
        """A Python number."""
        token = self.next()
        if token.text in ("True", "False"):
            return token.text == "True"
        if token.text == "complex":
            return self._complex()
        if token.kind != "number":
            raise self.error(f"expected a number, found {token.text!r}")
        return int(token.text) if re.fullmatch(r"-?\d+", token.text) else float(token.text)

    def _complex(self) -> complex:
        self.expect("(")
        real = self.number()
        self.expect(",")
        imag = self.number()
        self.expect(")")
        return complex(real, imag)

    def _stored(self, key: str, what: str) -> Any:
        if key not in self._constants:
            raise self.error(f"the {what} {key!r} is not in the text; pass constants=constants_of(graph)")
        return self._constants[key]

    # ---- attributes ----------------------------------------------------------------------------------------------

    def attr(self) -> Any:
        """The value of a static attribute."""
        token = self.peek()
        if token.kind == "string":
            return json.loads(self.next().text)
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
        while not self.accept(end):
            out.append(self.attr())
            self.accept(",")
        return tuple(out)

    def _typed(self, token: Token) -> Any:
        calls = self.peek(1).text == "("
        if token.text in ("slice", "dim", "host", "object") and calls:
            self._at += 2
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
            return slice(*items)
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
