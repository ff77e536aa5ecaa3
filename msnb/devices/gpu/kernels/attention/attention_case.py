"""One case of attention: sizes, where the operands lie, and how the work is cut into tiles."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace

from msnb.core import dtypes

Strides = tuple[int, int, int]
WARP = 32
LOG2E = math.log2(math.e)


@dataclass(frozen=True)
class Rows:
    """Rows of ``features`` neighbouring elements: [batch, heads, count] of them.

    Args:
        strides: of batch, head and row, in elements.
        offset: elements before the first one.
    """

    heads: int
    count: int
    strides: Strides
    offset: int = 0


@dataclass(frozen=True)
class AttentionCase:
    """What a kernel is made for.

    Args:
        batch, features: sizes.
        q, k, v, dy: how they lie; dy only for gradients.
        dtype: bfloat16 or float16.
        scale: of the scores.
        causal: query i sees the keys 0 to i.
    """

    batch: int
    features: int
    q: Rows
    k: Rows
    v: Rows
    dtype: dtypes.DType
    scale: float
    causal: bool
    dy: Rows | None = None

    @property
    def group(self) -> int:
        """How many query heads share a head of keys."""
        return self.q.heads // self.k.heads

    def with_dy(self, dy: Rows | None) -> AttentionCase:
        """The case of the gradient; None: that of the forward pass."""
        return replace(self, dy=dy)

    def symbol(self, kind: str, tiling: Tiling) -> str:
        """The name of a kernel for it: equal for equal cases."""
        return f"{kind}_{hashlib.sha256(f'{self} {tiling}'.encode()).hexdigest()[:16]}"


@dataclass(frozen=True)
class Tiling:
    """How a kernel is cut.

    Args:
        own: rows that a block owns (queries, or keys).
        other: rows of each tile that passes by.
        warps: of a block; each owns ``own / warps`` rows, a multiple of 16.
        blocks: that should fit on a multiprocessor.
        held: a warp keeps its own rows in registers, else it reads them from shared memory for every tile.
    """

    own: int
    other: int
    warps: int
    blocks: int
    held: bool = False

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return WARP * self.warps

    @property
    def bands(self) -> int:
        """Bands of 16 rows that a warp owns."""
        return self.own // (16 * self.warps)


FEATURES = (32, 64, 96, 128)
DTYPES = (dtypes.bfloat16, dtypes.float16)
