"""BERT's tokenizers: words, punctuation and Chinese characters, then words cut into pieces that a vocabulary knows.

    "Unaffable, hello"  --Basic-->  unaffable , hello  --Wordpiece-->  un ##aff ##able , hello

Source: Devlin et al. 2018 (arXiv:1810.04805); Wu et al. 2016 (arXiv:1609.08144); `mindspore.dataset.text`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from msnb.base import ArgumentError
from msnb.dataset.pipeline import Array, check_count, flag
from msnb.dataset.text.string_transforms import NormalizeForm, check_form, normalized
from msnb.dataset.text.text_transform import Span, TextTransform, Tokenizer, tokens_of
from msnb.dataset.text.vocab import Vocab

__all__ = ["BasicTokenizer", "BertTokenizer", "WordpieceTokenizer"]

_SPECIAL = re.compile(r"\[(CLS|SEP|UNK|PAD|MASK|unused\d+)\]")
_HAN = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF), (0xF900, 0xFAFF),
        (0x2F800, 0x2FA1F))  # fmt: skip
Found = Sequence[tuple[str, Span]]


class BasicTokenizer(Tokenizer):
    """A string to words, marks and Chinese characters.

    Args:
        lower_case: small letters without accents; normalization_form is then of no use.
        keep_whitespace: runs of blanks are tokens too.
        normalization_form: a NormalizeForm.
        preserve_unused_token: [CLS], [SEP], [UNK], [PAD], [MASK] and [unused1] ... stay whole.
        with_offsets: see `Tokenizer`; places are those in the string that was changed.

    Examples:
        >>> BasicTokenizer(lower_case=True)("Hello, 我 [CLS]").tolist()
        ['hello', ',', '我', '[CLS]']
    """

    def __init__(
        self, lower_case: bool = False, keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE, preserve_unused_token: bool = True,
        with_offsets: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(with_offsets)
        self.lower: bool = flag(lower_case)
        self.keep: bool = flag(keep_whitespace)
        self.form: NormalizeForm = check_form(normalization_form, "BasicTokenizer")
        self.whole: bool = flag(preserve_unused_token)

    def split(self, string: str) -> tuple[str, Found]:
        plain, at, found = "", 0, []
        specials = _SPECIAL.finditer(string) if self.whole else iter(())
        for special in specials:
            plain, words = self._words(plain, string[at : special.start()])
            found += [*words, (special.group(), (len(plain), len(plain) + len(special.group())))]
            plain, at = plain + special.group(), special.end()
        plain, words = self._words(plain, string[at:])
        return plain, found + words

    def _words(self, before: str, part: str) -> tuple[str, list[tuple[str, Span]]]:
        """The string so far with this part, and the tokens of the part."""
        if self.lower:
            part = "".join(c for c in unicodedata.normalize("NFD", part.casefold()) if unicodedata.category(c) != "Mn")
        else:
            part = normalized(part, self.form)
        part = "".join(c for c in part if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf"))
        found, start = [], 0
        kinds = [*map(_kind, part), "end"]
        for i in range(1, len(kinds)):
            if kinds[i] != kinds[i - 1] or kinds[i] == "alone":
                if kinds[i - 1] != "blank" or self.keep:
                    found.append((part[start:i], (len(before) + start, len(before) + i)))
                start = i
        return before + part, found


def _kind(char: str) -> str:
    if char.isspace():
        return "blank"
    code = ord(char)
    mark = unicodedata.category(char)[0] == "P" or (code < 128 and not char.isalnum())
    return "alone" if mark or any(low <= code <= high for low, high in _HAN) else "word"


class _Pieces:
    """Words to pieces, the longest piece that a vocabulary knows first."""

    def __init__(self, name: str, vocab: Any, indicator: str, most: int, unknown: str) -> None:
        if not isinstance(vocab, Vocab):
            raise ArgumentError(f"{name} takes a Vocab, got {type(vocab).__name__}", hint="text.Vocab.from_list([...])")
        self.known, self.indicator = vocab.vocab(), indicator
        self.most, self.unknown = check_count(most, "max_bytes_per_token", least=0), unknown

    def of(self, word: str, at: int) -> list[tuple[str, Span]]:
        if len(word.encode("utf-8", "surrogatepass")) > self.most:
            return self._strange(word, at)
        found, start = [], 0
        while start < len(word):
            mark = self.indicator if start else ""
            stop = next((s for s in range(len(word), start, -1) if mark + word[start:s] in self.known), start)
            if stop == start:
                return self._strange(word, at)
            found.append((mark + word[start:stop], (at + start, at + stop)))
            start = stop
        return found

    def _strange(self, word: str, at: int) -> list[tuple[str, Span]]:
        return [(self.unknown or word, (at, at + len(word)))]


class WordpieceTokenizer(TextTransform):
    """Words to pieces of words.

    Args:
        vocab: a Vocab of pieces. suffix_indicator: what stands before pieces inside a word.
        max_bytes_per_token: longer words are unknown.
        unknown_token: the piece of unknown words; "": they stay as they are.
        with_offsets: give three columns, see `Tokenizer`; for one word per row.

    Examples:
        >>> WordpieceTokenizer(Vocab.from_list(["un", "##able", "[UNK]"]))(["unable", "x"]).tolist()
        ['un', '##able', '[UNK]']
    """

    pieces: _Pieces

    def __init__(
        self, vocab: Vocab, suffix_indicator: str = "##", max_bytes_per_token: int = 100, unknown_token: str = "[UNK]",
        with_offsets: bool = False,
    ) -> None:  # fmt: skip
        self.pieces = _Pieces("WordpieceTokenizer", vocab, suffix_indicator, max_bytes_per_token, unknown_token)
        self.with_offsets: bool = flag(with_offsets)

    def text(self, value: Array) -> Any:
        words = [str(word) for word in value.ravel()]
        found, at = [], 0
        for word in words:  # places go on from word to word
            found += self.pieces.of(word, at)
            at += len(word)
        return tokens_of("".join(words), found, self.with_offsets)


class BertTokenizer(BasicTokenizer):
    """`BasicTokenizer`, then `WordpieceTokenizer`; arguments as there.

    Examples:
        >>> BertTokenizer(Vocab.from_list(["un", "##able", "[UNK]"]), lower_case=True)("Unable [UNK]").tolist()
        ['un', '##able', '[UNK]']
    """

    def __init__(
        self, vocab: Vocab, suffix_indicator: str = "##", max_bytes_per_token: int = 100, unknown_token: str = "[UNK]",
        lower_case: bool = False, keep_whitespace: bool = False, normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True, with_offsets: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(lower_case, keep_whitespace, normalization_form, preserve_unused_token, with_offsets)
        self.pieces: _Pieces = _Pieces("BertTokenizer", vocab, suffix_indicator, max_bytes_per_token, unknown_token)

    def split(self, string: str) -> tuple[str, Found]:
        plain, words = super().split(string)
        return plain, [piece for word, (start, _) in words for piece in self._of(word, start)]

    def _of(self, word: str, start: int) -> list[tuple[str, Span]]:
        if self.whole and _SPECIAL.fullmatch(word):
            return [(word, (start, start + len(word)))]
        return self.pieces.of(word, start)
