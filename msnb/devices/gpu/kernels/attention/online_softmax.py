"""The softmax of rows that come piece by piece.

A row's softmax needs its maximum and its sum, and both can be had on the way. Of the pieces so far, with m the largest
score, keep o = sum(exp(s - m) v) and z = sum(exp(s - m)). A new piece with a larger maximum m' makes all of that too
large by exp(m' - m), which is one factor for the row:

    o := o exp(m - m') + sum over the piece of exp(s - m') v        z the same, with 1 in the place of v

In the end the row is o / z, and log(sum(exp(s))) = m + log(z). Exponentials are of base 2, for which there is an
instruction: exp(scale s - scale m) = 2^(c s - c m) with c = scale log2(e), one fused multiplication and addition each.

z is kept by each lane for its own columns and added up at the end; the factors are the same in all lanes of a row.
Source: the idea is Milakov and Gimelshein 2018 (online softmax), with products Dao et al. 2022 (FlashAttention).
"""

from __future__ import annotations

from dataclasses import dataclass

from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter
from msnb.devices.gpu.kernels.attention.warp_product import Sums

LEAST = "0xFFF0000000000000"
"""Minus infinity."""


@dataclass
class RowState:
    """For each of a lane's rows (two in a band): the largest score so far, and this lane's part of the sum."""

    most: list[str]
    sums: list[str]

    @staticmethod
    def empty(bands: int) -> RowState:
        """Nothing has been seen."""
        return RowState([LEAST] * (2 * bands), ["0.0"] * (2 * bands))


def _row(scores: Sums, row: int) -> list[str]:
    return [x for eight in scores[row // 2] for x in eight[2 * (row % 2) : 2 * (row % 2) + 2]]


def _tree(e: TileEmitter, op: str, values: list[str]) -> str:
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2])
        made = [e.maximum(a, b) if op == "max" else e.f32(op, a, b) for a, b in pairs]
        values = made + values[len(values) & ~1 :]
    return values[0]


class OnlineSoftmax:
    """The step for one tile of scores.

    Args:
        e: of the kernel.
        scale: of the scores, times log2(e).
    """

    def __init__(self, e: TileEmitter, scale: float) -> None:
        self.e: TileEmitter = e
        self.scale: str = e.number(scale)

    def step(self, scores: Sums, state: RowState) -> tuple[Sums, RowState, list[str]]:
        """Weights of a tile.

        Returns:
            (the weights, less than they are by the largest score so far; the rows with this tile; the factor of each
            row for what was summed before).
        """
        weights: Sums = [[list(eight) for eight in row] for row in scores]
        found, factors = RowState([], []), list[str]()
        for row, (most, total) in enumerate(zip(state.most, state.sums)):
            here = _row(scores, row)
            now = self.e.maximum(most, self.e.over_quad("max", _tree(self.e, "max", here)))
            made, factor = self._weights(here, most, now)
            _put(weights, row, made)
            found.most.append(now)
            found.sums.append(self.e.fma(total, factor, _tree(self.e, "fadd", made)))
            factors.append(factor)
        return weights, found, factors

    def _weights(self, scores: list[str], before: str, now: str) -> tuple[list[str], str]:
        """2^(c s - c m) of a row's scores, and the factor; a row of which all is minus infinity has weights of 0."""
        e = self.e
        none = e.ins(f"fcmp oeq float {now}, {LEAST}")
        shift = e.f32("fmul", e.ins(f"select i1 {none}, float 0.0, float {now}"), self.scale)
        down = e.ins(f"fneg float {shift}")
        made = [e.exp2(e.fma(s, self.scale, down)) for s in scores]
        return made, e.exp2(e.fma(before, self.scale, down))

    def totals(self, state: RowState) -> tuple[list[str], list[str]]:
        """1 / z and log(sum(exp)) of each row, when all tiles have passed."""
        e, inverse, logs = self.e, list[str](), list[str]()
        for most, part in zip(state.most, state.sums):
            total = e.over_quad("fadd", part)
            inverse.append(e.inverse(total))
            base2 = e.fma(most, self.scale, e.log2(total))
            logs.append(e.f32("fmul", base2, e.number(0.6931471805599453)))
        return inverse, logs


def _put(sums: Sums, row: int, values: list[str]) -> None:
    for n, eight in enumerate(sums[row // 2]):
        eight[2 * (row % 2) : 2 * (row % 2) + 2] = values[2 * n : 2 * n + 2]


def times_rows(e: TileEmitter, sums: Sums, factors: list[str]) -> Sums:
    """Sums with each row times its factor."""
    return [
        [[e.f32("fmul", x, factors[2 * band + k // 2]) for k, x in enumerate(eight)] for eight in row]
        for band, row in enumerate(sums)
    ]
