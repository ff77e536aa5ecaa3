"""The words of IR text. ``msnb.ir.text.literal_reader`` reads types and constants, ``parser`` the sentences.

Texts come from files, so every loop here ends: each of its rounds takes a token, and behind the last one ``next`` is an
error. What nests is counted.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from msnb.base import MsnbError

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
MOST_LINE, MOST_LEVELS = 1 << 20, 100
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


class TokenReader:
    """A place in the tokens of IR text, which goes on with what is read."""

    def __init__(self, text: str) -> None:
        self._lines = lines(text)
        self._coming: deque[Token] = deque()
        self._comments: dict[int, str] = {}
        self._line = 1  # of the token that was read last
        self._end = Token("end", "", "", text.count("\n") + 1)
        self._levels = 0

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
