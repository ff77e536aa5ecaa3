"""How the kernels are cut, by the number of features: what registers and shared memory allow.

A multiprocessor has 65536 registers and at most 255 for a thread: 256 threads with all of them, in one block or two. A
warp's sums of 16 rows and d features are d / 2 registers in each lane, its scores with 64 others 32.

    forward     32 queries a warp, two bands: out d, scores 64, queries d / 2 while d <= 64
    keys        16 keys a warp: dk and dv d / 2 each, S^T and dP^T 32 each
    queries     16 queries a warp: dq, q and dy together d, S and dP 32 each
"""

from __future__ import annotations

from msnb.devices.gpu.kernels.attention.attention_case import AttentionCase, Tiling
from msnb.devices.gpu.kernels.attention.shared_tile import ELEMENT

LARGEST = 128
"""Rows of the largest tile."""


def forward(case: AttentionCase, shared: int) -> Tiling:
    """Of the forward kernel, for a block that may have so many bytes of shared memory."""
    return Tiling(own=128, other=64, warps=4, blocks=2, held=case.features <= 64)


def keys(case: AttentionCase, shared: int) -> Tiling:
    """Of the kernel of dk and dv."""
    small = Tiling(own=64, other=64, warps=4, blocks=2)
    found = Tiling(own=128, other=64, warps=8, blocks=1)
    return found if key_bytes(case, found) <= shared else small


def queries(case: AttentionCase, shared: int) -> Tiling:
    """Of the kernel of dq."""
    return Tiling(own=128, other=64, warps=8, blocks=1, held=True)


def key_bytes(case: AttentionCase, tiling: Tiling) -> int:
    """Shared memory of the kernel of dk and dv: two tiles of its own, two pairs that pass by, and their numbers."""
    return 2 * ELEMENT * case.features * (tiling.own + 2 * tiling.other) + 16 * tiling.other
