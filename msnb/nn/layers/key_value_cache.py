"""Keys and values of the tokens so far, for generation: each step adds a token and attends to all of them.

    keys, values  [batch, length, heads, size]        row i of the batch is filled up to lengths[i]

    step    q [b, h, n, d]   k, v [b, h, n, d]   ->   written at lengths[i] .. lengths[i] + n - 1, lengths += n,
            softmax(q keys^T / sqrt(d), only what is filled and not later than the query) values   [b, h, n, d]

Under ``jit`` a step writes into the cache where it lies: nothing is copied, however long the cache is.
"""

from __future__ import annotations

import math
from typing import Any

from msnb import ops
from msnb.base import ShapeError
from msnb.core import Parameter, dtypes
from msnb.nn.cells.cell import Cell
from msnb.nn.layers.basic import positive_int


class KeyValueCache(Cell):
    """Attention to a growing past, one layer's part of it.

    Args:
        batch: rows of the batch; each has its own length, so prompts may differ in theirs.
        length: the most tokens of a row.
        heads, size: of keys and values.
        dtype: in which they are kept.

    Inputs:
        query, key, value: [batch, heads, n, size], of the ``n`` newest tokens of every row.
        valid: [batch], how many of the ``n`` count in each row (the first ones; default: all). The others are written
            too, and over-written by the next call.

    Returns:
        [batch, heads, n, size]. Rows of tokens that do not count are meaningless.

    Raises:
        IndexOutOfRange: a row has no room for ``n`` more; nothing is written then.
        ShapeError: operands of another shape.

    Examples:
        >>> import msnb as ms
        >>> cache = ms.nn.KeyValueCache(batch=1, length=8, heads=2, size=4)
        >>> x = ms.ops.ones((1, 2, 3, 4))
        >>> cache(x, x, x).shape, cache.lengths.tolist()
        ((1, 2, 3, 4), [3])
    """

    lengths: Parameter

    def __init__(self, batch: int, length: int, heads: int, size: int, dtype: Any = dtypes.float32) -> None:
        super().__init__()
        self.batch: int = positive_int("batch", batch)
        self.length: int = positive_int("length", length)
        self.heads: int = positive_int("heads", heads)
        self.size: int = positive_int("size", size)
        shape = (batch, length, heads, size)
        self.keys: Parameter = Parameter(ops.zeros(shape, dtype=dtype), name="keys", requires_grad=False)
        self.values: Parameter = Parameter(ops.zeros(shape, dtype=dtype), name="values", requires_grad=False)
        self.lengths = Parameter(ops.zeros((batch,), dtype=dtypes.int64), name="lengths", requires_grad=False)

    def construct(self, query: Any, key: Any, value: Any, valid: Any = None) -> Any:
        """Add tokens, and attend."""
        n = self._new_tokens(query, key, value)
        steps = ops.arange(n)
        places = ops.reshape(self.lengths, (self.batch, 1)) + steps  # [b, n]
        rows = ops.reshape(ops.arange(self.batch), (self.batch, 1))
        self.keys[rows, places] = ops.transpose(key, (0, 2, 1, 3)).astype(self.keys.dtype)
        self.values[rows, places] = ops.transpose(value, (0, 2, 1, 3)).astype(self.values.dtype)
        ops.assign(self.lengths, self.lengths + (n if valid is None else valid))
        scores = ops.matmul(query, ops.transpose(self.keys, (0, 2, 3, 1)).astype(query.dtype)) / math.sqrt(self.size)
        seen = ops.arange(self.length) <= ops.reshape(places, (self.batch, 1, n, 1))
        weights = ops.softmax(ops.where(seen, scores, -math.inf), -1)
        return ops.matmul(weights, ops.transpose(self.values, (0, 2, 1, 3)).astype(query.dtype))

    def reset(self) -> None:
        """Forget all tokens."""
        ops.assign(self.lengths, ops.zeros_like(self.lengths))

    def _new_tokens(self, *operands: Any) -> int:
        shape = operands[0].shape
        wanted = (self.batch, self.heads, "n", self.size)
        if len(shape) != 4 or any(t.shape != shape for t in operands) or shape != (*wanted[:2], shape[2], self.size):
            raise ShapeError(
                f"KeyValueCache takes query, key and value of shape {list(wanted)}, got "
                f"{', '.join(str(list(t.shape)) for t in operands)}.",
                hint="split the heads first: reshape to [batch, n, heads, size], then transpose.",
            )
        return int(shape[2])

    def extend_repr(self) -> str:
        """The arguments, for printing."""
        return f"batch={self.batch}, length={self.length}, heads={self.heads}, size={self.size}"
