"""Text in the rows of a data set: as MindSpore's Tensors of dtype String, it can be shown, compared and read.

Nothing computes with it. ``asnumpy`` gives the words; ``output_numpy=True`` gives them from the start.

Source: `mindspore.dtype`
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base import DTypeError


class StringType:
    """The dtype of text, ``mindspore.string``."""

    name = "string"

    def __repr__(self) -> str:
        return "String"


string: StringType = StringType()


class StringTensor:
    """Words of a data set in an array.

    Args:
        words: a NumPy array of text or bytes, of any shape.

    Attributes:
        dtype: ``string``; shape, ndim, size: as of any array.

    Examples:
        >>> import numpy as np
        >>> StringTensor(np.array(["a.jpg", "b.jpg"]))[0]
        Tensor(shape=[], dtype=String, value= 'a.jpg')
    """

    dtype = string
    __array_ufunc__ = None  # NumPy leaves `words == tensor` to __eq__
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, words: Any) -> None:
        self._words = np.asarray(words)

    shape = property(lambda self: tuple(self._words.shape))
    ndim = property(lambda self: int(self._words.ndim))
    size = property(lambda self: int(self._words.size))

    def asnumpy(self) -> NDArray[Any]:
        """The words as a NumPy array."""
        return self._words

    def tolist(self) -> Any:
        """The words as lists, a single one as text."""
        return self._words.tolist()

    def item(self) -> str | bytes:
        """The only word.

        Raises:
            ValueError: there are several, or none.
        """
        return self._words.item()  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[StringTensor]:
        return (StringTensor(part) for part in self._words)

    def __getitem__(self, index: Any) -> StringTensor:
        return StringTensor(self._words[index])

    def __eq__(self, other: object) -> Any:
        return self._words == (other.asnumpy() if isinstance(other, StringTensor) else other)

    def __ne__(self, other: object) -> Any:
        return self._words != (other.asnumpy() if isinstance(other, StringTensor) else other)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._words if dtype is None else self._words.astype(dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise DTypeError(
            f"a Tensor of text has no {name}: text can be shown, compared and read, not computed with",
            hint=".asnumpy() gives the words; msnb.dataset.text makes numbers of them in the data set",
        )

    def __str__(self) -> str:
        return str(self._words)

    def __repr__(self) -> str:
        shown = repr(self._words.tolist()) if self.ndim else repr(self._words.item())
        return f"Tensor(shape={list(self.shape)}, dtype=String, value= {shown})"
