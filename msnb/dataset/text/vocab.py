"""Words as numbers: a vocabulary, and transforms of columns of text.

    "the cat sat"  --WhitespaceTokenizer-->  ["the", "cat", "sat"]  --Lookup(vocab)-->  [0, 1, 2]

A column of text holds NumPy strings: one per row, or a row of tokens.
Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.dataset.transforms.html (text)
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.base.files.bounded_reader import read_text
from msnb.core import as_dtype
from msnb.dataset.pipeline.rows import Array, check_count
from msnb.dataset.text.text_transform import TextTransform

__all__ = ["Lookup", "Vocab"]


class Vocab:
    """Tokens and their numbers.

    Examples:
        >>> vocab = Vocab.from_list(["the", "cat"], special_tokens=["<pad>"])
        >>> vocab.tokens_to_ids(["cat", "<pad>"]), vocab.ids_to_tokens(1), vocab.tokens_to_ids("dog")
        ([2, 0], 'the', -1)
    """

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = dict(numbers)
        self._tokens = {number: token for token, number in self._numbers.items()}
        if len(self._tokens) != len(self._numbers):
            raise AttributeValueError("Vocab: two tokens have the same number.")

    @classmethod
    def from_list(
        cls, word_list: Iterable[str], special_tokens: Iterable[str] | None = None, special_first: bool = True
    ) -> Vocab:
        """Numbers in the order of a list.

        Args:
            word_list: tokens, each once.
            special_tokens: tokens such as "<unk>" that get numbers too.
            special_first: these come first; else last.

        Raises:
            ValueError: a token comes twice.
        """
        words, special = list(word_list), list(special_tokens or ())
        tokens = [*special, *words] if special_first else [*words, *special]
        twice = next((token for token, count in Counter(tokens).items() if count > 1), None)
        if twice is not None:
            raise AttributeValueError(f"Vocab: the token {twice!r} comes twice.")
        return cls({token: number for number, token in enumerate(tokens)})

    @classmethod
    def from_dict(cls, word_dict: Mapping[str, int]) -> Vocab:
        """The numbers that a dict gives."""
        return cls(word_dict)

    @classmethod
    def from_file(
        cls, file_path: str | os.PathLike[str], delimiter: str = "", vocab_size: int | None = None,
        special_tokens: Iterable[str] | None = None, special_first: bool = True,
    ) -> Vocab:  # fmt: skip
        """The tokens of a text file, one per line; what stands behind ``delimiter`` is left out.

        Raises:
            FileNotFoundError: there is none. DatasetError: it is no text. ValueError: a token comes twice.
        """

        def refuse(why: str, hint: str = "") -> DatasetError:
            return DatasetError(f"Vocab: {os.fspath(file_path)!r} cannot be read: {why}.", hint=hint)

        lines = read_text(file_path, refuse).splitlines()
        words = [line.split(delimiter)[0] if delimiter else line for line in lines]
        return cls.from_list(words[:vocab_size], special_tokens, special_first)

    @classmethod
    def from_dataset(
        cls, dataset: Any, columns: str | Sequence[str] | None = None,
        freq_range: tuple[int | None, int | None] | None = None, top_k: int | None = None,
        special_tokens: Iterable[str] | None = None, special_first: bool = True,
    ) -> Vocab:  # fmt: skip
        """The tokens of columns of text, frequent ones first, equally frequent ones in alphabetical order.

        Args:
            dataset: rows. columns: which columns; default: all.
            freq_range: (least, most) occurrences; None: no bound.
            top_k: so many tokens at most.
            special_tokens, special_first: as in ``from_list``.
        """
        names = [columns] if isinstance(columns, str) else columns or dataset.get_col_names()
        counts: Counter[str] = Counter()
        for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True):
            for name in names:
                counts.update(map(str, np.ravel(row[name])))
        least, most = freq_range or (None, None)
        chosen = [t for t, n in counts.items() if (least is None or n >= least) and (most is None or n <= most)]
        # by frequency, ties by the alphabet: the order of rows does not matter
        ordered = sorted(chosen, key=lambda token: (-counts[token], token))
        return cls.from_list(ordered[:top_k], special_tokens, special_first)

    def tokens_to_ids(self, tokens: Any) -> Any:
        """The number of a token, or the numbers of a list of them; -1 where there is none."""
        if isinstance(tokens, str):
            return self._numbers.get(tokens, -1)
        return [self._numbers.get(str(token), -1) for token in tokens]

    def ids_to_tokens(self, ids: Any) -> Any:
        """The token of a number, or the tokens of a list of them; "" where there is none."""
        if np.ndim(ids) == 0:
            return self._tokens.get(check_count(np.asarray(ids)[()], "ids", least=0), "")
        return [self._tokens.get(check_count(number, "ids", least=0), "") for number in ids]

    def vocab(self) -> dict[str, int]:
        """All tokens with their numbers."""
        return dict(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class Lookup(TextTransform):
    """Tokens to their numbers.

    Args:
        vocab: a Vocab.
        unknown_token: the token that stands for all others; None: another token is an error.
        data_type: of the numbers.

    Examples:
        >>> Lookup(Vocab.from_list(["a", "b"]), unknown_token="a")(["b", "c"]).tolist()
        [1, 0]
    """

    def __init__(self, vocab: Vocab, unknown_token: str | None = None, data_type: Any = "int32") -> None:
        if not isinstance(vocab, Vocab):
            raise ArgumentError(f"Lookup takes a Vocab, got {type(vocab).__name__}", hint="text.Vocab.from_list([...])")
        self.vocab: Vocab = vocab
        self.unknown: Any = -1
        self.dtype: np.dtype[Any] = as_dtype(data_type).numpy
        if unknown_token is not None:
            self.unknown = vocab.tokens_to_ids(unknown_token)
            if self.unknown < 0:
                raise AttributeValueError(f"Lookup: unknown_token {unknown_token!r} is not in the vocabulary")

    def text(self, value: Array) -> Array:
        numbers = np.array([self._number(str(token)) for token in value.ravel()], self.dtype)
        return numbers.reshape(value.shape)

    def _number(self, token: str) -> int:
        found = self.vocab.tokens_to_ids(token)
        if found < 0 and self.unknown < 0:
            raise DatasetError(
                f"Lookup: the token {token!r} is not in the vocabulary of {len(self.vocab)}",
                hint="unknown_token='<unk>' gives one number to all of these",
            )
        return int(found if found >= 0 else self.unknown)
