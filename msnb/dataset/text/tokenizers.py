"""A string to its tokens.

    WhitespaceTokenizer     words                        UnicodeCharTokenizer     characters
    UnicodeScriptTokenizer  runs of one script           RegexTokenizer           what stands between matches
    PythonTokenizer         a function of one's own      Jieba, SentencePiece     packages of their own

Source: the pages of these classes in `mindspore.dataset.text`.
"""

from __future__ import annotations

import enum
import importlib
import io
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from re import Pattern
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.dataset.pipeline import Array, check_count, flag, to_array
from msnb.dataset.text.text_transform import Span, TextTransform, Tokenizer

__all__ = [
    "JiebaMode", "JiebaTokenizer", "PythonTokenizer", "RegexTokenizer", "SPieceTokenizerLoadType",
    "SPieceTokenizerOutType", "SentencePieceModel", "SentencePieceTokenizer", "SentencePieceVocab",
    "UnicodeCharTokenizer", "UnicodeScriptTokenizer", "WhitespaceTokenizer",
]  # fmt: skip


class WhitespaceTokenizer(Tokenizer):
    """A string to its words.

    Args:
        with_offsets: see `Tokenizer`.

    Examples:
        >>> [part.tolist() for part in WhitespaceTokenizer(True)(" ab c")]
        [['ab', 'c'], [1, 4], [3, 5]]
    """

    def spans(self, string: str) -> Iterable[Span]:
        return (found.span() for found in re.finditer(r"\S+", string))


class UnicodeCharTokenizer(Tokenizer):
    """A string to its characters; ``with_offsets`` as in `Tokenizer`."""

    def spans(self, string: str) -> Iterable[Span]:
        return ((i, i + 1) for i in range(len(string)))


class UnicodeScriptTokenizer(Tokenizer):
    """A string to runs of characters of one script: Latin, Han, Cyrillic, digits and marks ...

    Args:
        keep_whitespace: runs of blanks are tokens too. with_offsets: see `Tokenizer`.

    Examples:
        >>> UnicodeScriptTokenizer()("Welcome to 北京!").tolist()
        ['Welcome', 'to', '北京', '!']
    """

    def __init__(self, keep_whitespace: bool = False, with_offsets: bool = False) -> None:
        super().__init__(with_offsets)
        self.keep: bool = flag(keep_whitespace)

    def spans(self, string: str) -> Iterable[Span]:
        at = 0
        for kind, run in groupby(string, _script):
            size = len(list(run))
            if kind or self.keep:
                yield at, at + size
            at += size


def _script(char: str) -> str:
    """The script of a character, by its name; "" for blanks, "COMMON" for digits and marks."""
    if char.isspace():
        return ""
    if unicodedata.category(char)[0] not in "LM":
        return "COMMON"
    words = unicodedata.name(char, "COMMON").split()
    first = words[1] if words[0] in ("FULLWIDTH", "HALFWIDTH") and len(words) > 1 else words[0]
    return "HAN" if first == "CJK" else first


def compiled(pattern: Any, what: str) -> re.Pattern[str]:
    """A regular expression, or a sentence on what is wrong with it."""
    if not isinstance(pattern, str):
        raise ArgumentError(f"{what} is a regular expression, got {type(pattern).__name__} {pattern!r}")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise AttributeValueError(f"{what} {pattern!r} is no regular expression: {error}") from None


class RegexTokenizer(Tokenizer):
    """A string to what stands between the matches of a regular expression.

    Args:
        delim_pattern: the expression, in Python's language of them.
        keep_delim_pattern: matches that this one matches too are tokens; default: none is.
        with_offsets: see `Tokenizer`.

    Examples:
        >>> RegexTokenizer("[ ,]+", ",")("a b,c").tolist()
        ['a', 'b', ',', 'c']
    """

    kept: Pattern[str] | None

    def __init__(self, delim_pattern: str, keep_delim_pattern: str = "", with_offsets: bool = False) -> None:
        super().__init__(with_offsets)
        self.between: Pattern[str] = compiled(delim_pattern, "RegexTokenizer: delim_pattern")
        self.kept = compiled(keep_delim_pattern, "RegexTokenizer: keep_delim_pattern") if keep_delim_pattern else None

    def spans(self, string: str) -> Iterable[Span]:
        at = 0
        for found in self.between.finditer(string):
            start, stop = found.span()
            if start == stop:
                continue
            if at < start:
                yield at, start
            if self.kept is not None and self.kept.fullmatch(found.group()):
                yield start, stop
            at = stop
        if at < len(string):
            yield at, len(string)


class PythonTokenizer(TextTransform):
    """A string to what a function `tokenizer(str) -> list of str` makes of it."""

    def __init__(self, tokenizer: Callable[[str], Sequence[str]]) -> None:
        if not callable(tokenizer):
            raise ArgumentError(f"PythonTokenizer takes a function of a string, got {tokenizer!r}")
        self.tokenizer = tokenizer

    def text(self, value: Array) -> Array:
        return to_array(self.tokenizer(self.one(value)))


# ---- packages of their own ----


def _package(name: str, what: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ModuleNotFoundError(f"{what} takes the package {name}: pip install {name}") from None


class JiebaMode(enum.Enum):
    """How `JiebaTokenizer` cuts words: by its dictionary (MP), by a hidden Markov model (HMM), or both (MIX)."""

    MIX = 0
    MP = 1
    HMM = 2


class JiebaTokenizer(Tokenizer):
    """A Chinese sentence to its words, by the package jieba.

    Args:
        hmm_path: accepted; the package brings its own model. mp_path: the dictionary's file; None: the package's own.
        mode: a JiebaMode. with_offsets: see `Tokenizer`.

    Raises:
        ModuleNotFoundError: jieba is not installed.
    """

    def __init__(
        self, hmm_path: str | None = None, mp_path: str | None = None, mode: JiebaMode = JiebaMode.MIX,
        with_offsets: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(with_offsets)
        if not isinstance(mode, JiebaMode):
            raise ArgumentError(f"JiebaTokenizer: mode is a JiebaMode, got {mode!r}")
        if hmm_path is not None and not os.path.isfile(hmm_path):
            raise FileNotFoundError(f"JiebaTokenizer: there is no file {hmm_path!r}")
        jieba = _package("jieba", "JiebaTokenizer")
        self.mode: JiebaMode = mode
        self.machine: Any = jieba.Tokenizer(mp_path) if mp_path else jieba.Tokenizer()

    def add_word(self, word: str, freq: int | None = None) -> None:
        """One more word; ``freq``: how frequent it is."""
        self.machine.add_word(word, freq)

    def add_dict(self, user_dict: Any) -> None:
        """More words: a file of them, or a dict (word -> frequency)."""
        if isinstance(user_dict, dict):
            for word, freq in user_dict.items():
                self.add_word(word, freq)
        else:
            self.machine.load_userdict(user_dict)

    def spans(self, string: str) -> Iterable[Span]:
        return ((a, b) for _, a, b in self.machine.tokenize(string, HMM=self.mode is not JiebaMode.MP))


class SentencePieceModel(enum.Enum):
    """Kinds of models of `SentencePieceVocab`."""

    UNIGRAM = 0
    BPE = 1
    CHAR = 2
    WORD = 3


class SPieceTokenizerOutType(enum.Enum):
    """What `SentencePieceTokenizer` gives: pieces or their numbers."""

    STRING = 0
    INT = 1


class SPieceTokenizerLoadType(enum.Enum):
    """Where `SentencePieceTokenizer` has its model from."""

    FILE = 0
    MODEL = 1


class SentencePieceVocab:
    """A model of pieces of words, trained by the package sentencepiece.

    Raises:
        ModuleNotFoundError: sentencepiece is not installed.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model

    @classmethod
    def from_file(
        cls, file_path: Sequence[str], vocab_size: int, character_coverage: float, model_type: SentencePieceModel,
        params: dict[str, str],
    ) -> SentencePieceVocab:  # fmt: skip
        """A model of the sentences in files.

        Args:
            file_path: the files. vocab_size: how many pieces. character_coverage: the part of characters that it knows.
            model_type: a SentencePieceModel. params: more of the trainer's arguments.
        """
        return cls._trained(vocab_size, character_coverage, model_type, params, input=",".join(map(str, file_path)))

    @classmethod
    def from_dataset(
        cls, dataset: Any, col_names: Sequence[str], vocab_size: int, character_coverage: float,
        model_type: SentencePieceModel, params: dict[str, str],
    ) -> SentencePieceVocab:  # fmt: skip
        """A model of the sentences in columns of a data set; arguments as in ``from_file``."""
        rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
        sentences = (str(text) for row in rows for name in col_names for text in np.ravel(row[name]))
        return cls._trained(vocab_size, character_coverage, model_type, params, sentence_iterator=sentences)

    @classmethod
    def _trained(
        cls, vocab_size: int, coverage: float, kind: SentencePieceModel, params: dict[str, str], **source: Any
    ) -> SentencePieceVocab:
        package = _package("sentencepiece", "SentencePieceVocab")
        stream = io.BytesIO()
        package.SentencePieceTrainer.train(
            model_writer=stream, vocab_size=check_count(vocab_size, "vocab_size"), character_coverage=coverage,
            model_type=kind.name.lower(), **source, **params,
        )  # fmt: skip
        return cls(stream.getvalue())

    @classmethod
    def save_model(cls, vocab: SentencePieceVocab, path: str, filename: str) -> None:
        """Write a model into a folder."""
        with open(os.path.join(path, filename), "wb") as file:
            file.write(vocab.model)


class SentencePieceTokenizer(TextTransform):
    """A string to pieces of words, by the package sentencepiece.

    Args:
        mode: a SentencePieceVocab, or the file of a model. out_type: a SPieceTokenizerOutType.

    Raises:
        ModuleNotFoundError: sentencepiece is not installed.
    """

    def __init__(self, mode: Any, out_type: SPieceTokenizerOutType) -> None:
        package = _package("sentencepiece", "SentencePieceTokenizer")
        trained = isinstance(mode, SentencePieceVocab)
        source = {"model_proto": mode.model} if trained else {"model_file": os.fspath(mode)}
        self.machine: Any = package.SentencePieceProcessor(**source)
        self.kind: SPieceTokenizerOutType = out_type

    def text(self, value: Array) -> Array:
        kind = str if self.kind is SPieceTokenizerOutType.STRING else int
        return np.array(self.machine.encode(self.one(value), out_type=kind))
