"""Vocabularies and transforms of text."""

from __future__ import annotations

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.base.errors import MsnbError
from msnb.dataset import text, transforms

WORDS = ["the cat sat", "the dog", "a cat"]


def words():
    return ds.NumpySlicesDataset(WORDS, ["text"], shuffle=False)


def test_from_words_to_padded_numbers():
    vocab = text.Vocab.from_list(["the", "cat", "dog"], special_tokens=["<unk>", "<pad>"], special_first=False)
    pad = transforms.PadEnd([4], pad_value=vocab.tokens_to_ids("<pad>"))
    steps = [text.WhitespaceTokenizer(), text.Lookup(vocab, unknown_token="<unk>"), pad]
    rows = next(words().map(steps, "text").batch(3).create_tuple_iterator(output_numpy=True))[0]
    assert rows.dtype == np.int32 and rows.tolist() == [[0, 1, 3, 4], [0, 2, 4, 4], [3, 1, 4, 4]]


def test_a_vocabulary_out_of_a_dataset():
    tokens = words().map(text.PythonTokenizer(str.split), "text")
    vocab = text.Vocab.from_dataset(tokens, "text", freq_range=(1, None), top_k=3, special_tokens=["<unk>"])
    assert vocab.vocab() == {"<unk>": 0, "cat": 1, "the": 2, "a": 3}
    assert text.Vocab.from_dataset(tokens, freq_range=(2, None)).vocab() == {"cat": 0, "the": 1}


def test_a_vocabulary_out_of_a_file(tmp_path):
    (tmp_path / "words.txt").write_text("the,3\ncat,2\ndog,1\n", encoding="utf-8")
    vocab = text.Vocab.from_file(tmp_path / "words.txt", ",", 2, ["<unk>"], special_first=False)
    assert vocab.vocab() == {"the": 0, "cat": 1, "<unk>": 2} and len(vocab) == 3
    assert vocab.ids_to_tokens([2, 0, 9]) == ["<unk>", "the", ""] and vocab.ids_to_tokens(1) == "cat"
    assert text.Vocab.from_dict({"a": 7}).tokens_to_ids(["a", "b"]) == [7, -1]


def test_transforms_of_text():
    assert text.UnicodeCharTokenizer()("abc").tolist() == ["a", "b", "c"]
    assert text.CaseFold()(["Cat", "DOG"]).tolist() == ["cat", "dog"]
    assert text.RegexReplace("[0-9]", "#")("a1b2").item() == "a#b#"
    assert text.RegexReplace("[0-9]", "#", replace_all=False)("a1b2").item() == "a#b2"
    assert text.ToNumber("float32")(["1.5", "2"]).tolist() == [1.5, 2.0]
    assert text.ToNumber("int8")("7").dtype == np.int8
    assert text.Truncate(2)([5, 6, 7]).tolist() == [5, 6]


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: text.Vocab.from_list(["a", "a"]), "'a' comes twice"),
    (lambda: text.Vocab.from_dict({"a": 1, "b": 1}), "same number"),
    (lambda: text.Lookup(["a"]), "takes a Vocab"),
    (lambda: text.Lookup(text.Vocab.from_list(["a"]), "<unk>"), "'<unk>' is not in the vocabulary"),
    (lambda: text.Lookup(text.Vocab.from_list(["a"]))("b"), "gives one number to all of these"),
    (lambda: text.CaseFold()(3), "expects text"),
    (lambda: text.WhitespaceTokenizer()(["a", "b"]), "one string per row"),
    (lambda: text.PythonTokenizer("split"), "a function of a string"),
    (lambda: text.ToNumber("int32")("x"), "ToNumber"),
])  # fmt: skip
def test_wrong_uses(wrong, sentence):
    with pytest.raises(MsnbError, match=sentence):
        wrong()


def test_rows_in_the_order_of_numbers_by_position():
    class Order:
        def __getitem__(self, i):
            return [2, 0, 2][i]

        def __len__(self):
            return 3

    rows = ds.NumpySlicesDataset(["a", "b", "c"], ["x"], sampler=Order())
    assert [str(row[0]) for row in rows.create_tuple_iterator(output_numpy=True)] == ["c", "a", "c"]
