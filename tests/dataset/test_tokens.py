"""Tokenizers, pieces of words, transforms of rows of tokens, vectors of words. Values: those of MindSpore 2.10."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.base.errors import MsnbError
from msnb.dataset import text

VOCAB = text.Vocab.from_list(["un", "##aff", "##able", "hello", ",", "[UNK]", "我", "a"])


def said(value: Any) -> Any:
    return [v.tolist() for v in value] if isinstance(value, tuple) else value.tolist()


CASES: list[tuple[Any, Any, Any]] = [
    (text.WordpieceTokenizer(VOCAB), ["unaffable", "hello", "zz"], ["un", "##aff", "##able", "hello", "[UNK]"]),
    (text.WordpieceTokenizer(VOCAB, unknown_token=""), "unaffablezz", ["unaffablezz"]),
    (text.WordpieceTokenizer(VOCAB, max_bytes_per_token=4), "hello", ["[UNK]"]),
    (text.WordpieceTokenizer(VOCAB, with_offsets=True), "unaffable", [["un", "##aff", "##able"], [0, 2, 5], [2, 5, 9]]),
    (text.BasicTokenizer(), "Hello, World! 我们 é [CLS]\t x",
     ["Hello", ",", "World", "!", "我", "们", "é", "[CLS]", "x"]),
    (text.BasicTokenizer(True), "Hello, É [CLS]", ["hello", ",", "e", "[CLS]"]),
    (text.BasicTokenizer(preserve_unused_token=False), "[CLS]", ["[", "CLS", "]"]),
    (text.BasicTokenizer(True, True, with_offsets=True), "He  a. é",
     [["he", "  ", "a", ".", " ", "e"], [0, 2, 4, 5, 6, 7], [2, 4, 5, 6, 7, 8]]),
    (text.BertTokenizer(VOCAB, lower_case=True, with_offsets=True), "Unaffable, 我a",
     [["un", "##aff", "##able", ",", "我", "a"], [0, 2, 5, 9, 11, 14], [2, 5, 9, 10, 14, 15]]),
    (text.BertTokenizer(VOCAB, lower_case=True), "Hello zz [UNK]", ["hello", "[UNK]", "[UNK]"]),
    (text.RegexTokenizer(r"\s+"), "a b  c", ["a", "b", "c"]),
    (text.RegexTokenizer(r"\s+", r"\s+", True), "a b  cé",
     [["a", " ", "b", "  ", "cé"], [0, 1, 2, 3, 5], [1, 2, 3, 5, 8]]),
    (text.NormalizeUTF8(), "ṩ ﬁ ①", unicodedata.normalize("NFKC", "ṩ ﬁ ①")),
    (text.Ngram([1, 2], ("_", 1), ("_", 1)), ["a", "b", "c"], ["a", "b", "c", "_ a", "a b", "b c", "c _"]),
    (text.Ngram(3, ("&", 2), ("&", 2), "-"), ["a", "b"], ["&-&-a", "&-a-b", "a-b-&", "b-&-&"]),
    (text.SlidingWindow(2), [1, 2, 3], [[1, 2], [2, 3]]),
    (text.SlidingWindow(2, -1), [[1, 2, 3], [4, 5, 6]], [[[1, 2], [2, 3]], [[4, 5], [5, 6]]]),
    (text.AddToken("T", False), [["a", "b"], ["c", "d"]], [["a", "b", "T"], ["c", "d", "T"]]),
    (text.UnicodeScriptTokenizer(), "Welcome to 北京! x1", ["Welcome", "to", "北京", "!", "x", "1"]),
    (text.UnicodeScriptTokenizer(True, True), "We  to北京 ",
     [["We", "  ", "to", "北京", " "], [0, 2, 4, 6, 12], [2, 4, 6, 12, 13]]),
    (text.WhitespaceTokenizer(True), "  ab c é", [["ab", "c", "é"], [2, 5, 7], [4, 6, 9]]),
    (text.WhitespaceTokenizer(), "  ", [""]),
    (text.UnicodeCharTokenizer(True), "aé b", [["a", "é", " ", "b"], [0, 1, 3, 4], [1, 3, 4, 5]]),
    (text.FilterWikipediaXML(), "{{x}}[[China|The land]] &amp; 10 <b>Dogs</b>", "the land one zero"),
    (text.CaseFold(), "Straße ABC", "strasse abc"),
]  # fmt: skip


@pytest.mark.parametrize(("transform", "given", "wanted"), CASES, ids=[type(c[0]).__name__ for c in CASES])
def test_transforms(transform: Any, given: Any, wanted: Any) -> None:
    assert said(transform(given)) == wanted


@pytest.mark.parametrize(("length", "wanted"), [(4, (2, 2)), (5, (3, 2)), (6, (4, 2)), (9, (5, 2)), (1, (1, 0))])
def test_pairs_are_cut_at_the_longer_one(length: int, wanted: tuple[int, int]) -> None:
    first, second = text.TruncateSequencePair(length)([1, 2, 3, 4, 5], [6, 7])
    assert (len(first), len(second)) == wanted
    a, b = text.TruncateSequencePair(5)([1, 2, 3, 9], [4, 5, 6, 7])
    assert (a.tolist(), b.tolist()) == ([1, 2, 3], [4, 5])


def test_in_a_pipeline_with_offsets() -> None:
    data = ds.NumpySlicesDataset(["a bc", "d"], ["text"], shuffle=False)
    data = data.map(text.WhitespaceTokenizer(True), "text", ["token", "start", "stop"])
    rows = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert [said(tuple(row)) for row in rows] == [[["a", "bc"], [0, 2], [1, 4]], [["d"], [0], [1]]]


def test_vectors(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("ok 0.5 2\n! 0.25 4\n")
    (tmp_path / "f.vec").write_text("2 2\nok 1 2\nno 3 4\n")
    (tmp_path / "c.txt").write_text("1gram-a 1 2\n2gram-ab 3 4\n2gram-#BEGIN#a 5 6\n")
    for kind in (text.Vectors, text.GloVe):
        vectors = kind.from_file(tmp_path / "g.txt")
        assert said(text.ToVectors(vectors, [5, 6], True)(["OK", "z", "!"])) == [[0.5, 2], [5, 6], [0.25, 4]]
        assert said(text.ToVectors(vectors)("z")) == [0, 0] and len(kind.from_file(tmp_path / "g.txt", 1)) == 1
    assert said(text.ToVectors(text.FastText.from_file(tmp_path / "f.vec"))(["no", "zz"])) == [[3, 4], [0, 0]]
    assert said(text.ToVectors(text.CharNGram.from_file(tmp_path / "c.txt"))(["ab", "zz"])) == [[4, 5], [0, 0]]


@pytest.mark.parametrize(("content", "sentence"), [
    (b"a 1 2\nb 1\n", "line 2 is no word and 2 numbers"), (b"a x\n", "line 1 is no word"),
    (b"\xff 1\n", "no text in UTF-8"), (b"", "no vector"), (b"a" * (2 << 20), "line 1 is no word"),
])  # fmt: skip
def test_files_of_vectors_that_are_none(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_bytes(content)
    with pytest.raises(MsnbError, match=sentence):
        text.GloVe.from_file(tmp_path / "g.txt")


def test_bytes_and_text() -> None:
    assert text.to_str(text.to_bytes(np.array(["é", "b"]))).tolist() == ["é", "b"]
    assert text.to_str(np.array(["é", "b"])).tolist() == ["é", "b"]
    with pytest.raises(MsnbError, match="no text in utf8"):
        text.to_str(np.array([b"\xff"]))


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: text.WordpieceTokenizer(["a"]), "takes a Vocab"),
    (lambda: text.BasicTokenizer(normalization_form="NFC"), "NormalizeForm"),
    (lambda: text.RegexTokenizer("("), "no regular expression"),
    (lambda: text.RegexReplace("a", "\\2")("a"), "does not fit"),
    (lambda: text.RegexReplace(3, ""), "is a regular expression"),
    (lambda: text.Ngram(0), "at least 1"),
    (lambda: text.Ngram([]), "n is empty"),
    (lambda: text.Ngram(2, ("a", -1)), "at least 0"),
    (lambda: text.Ngram(3)(["a"]), "no run"),
    (lambda: text.Ngram(2)("a"), "row of tokens"),
    (lambda: text.SlidingWindow(2, 1)([1]), "no axis 1"),
    (lambda: text.AddToken(3), "is a string"),
    (lambda: text.AddToken("a")("b"), "row of tokens"),
    (lambda: text.TruncateSequencePair(2)("a", "b"), "two rows"),
    (lambda: text.ToVectors({}), "takes Vectors"),
    (lambda: text.GloVe.from_file("a.vec"), "reads files .txt"),
    (lambda: text.WhitespaceTokenizer(1), "True or False"),
    (lambda: text.to_bytes([1]), "expects text"),
]


@pytest.mark.parametrize(("wrong", "sentence"), WRONG)
def test_wrong_uses(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(MsnbError, match=sentence):
        wrong()


@pytest.mark.parametrize(("package", "use"), [
    ("jieba", lambda: text.JiebaTokenizer()),
    ("sentencepiece", lambda: text.SentencePieceTokenizer("m", text.SPieceTokenizerOutType.STRING)),
    ("sentencepiece", lambda: text.SentencePieceVocab.from_file(["a"], 10, 0.99, text.SentencePieceModel.BPE, {})),
])  # fmt: skip
def test_packages_that_are_not_installed(package: str, use: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=f"pip install {package}"):
        use()


def test_rows_of_rows_and_short_rows() -> None:
    assert text.Truncate(2)([[1, 2, 3], [4, 5, 6]]).tolist() == [[1, 2], [4, 5]]
    assert text.SlidingWindow(9)(["a", "b"]).shape == (0,)
    vocabulary = text.Vocab.from_list(["a", "b"])
    assert vocabulary.ids_to_tokens(np.array(1)) == "b" and vocabulary.ids_to_tokens([0, 7]) == ["a", ""]
    with pytest.raises(ValueError, match="ids"):
        vocabulary.ids_to_tokens(-1)
