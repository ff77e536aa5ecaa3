"""Inception v3 and v4 as people write them with ``nn``, with their losses.

Sources: Szegedy et al. 2015 (v3, with its second classifier), Szegedy et al. 2016 (v4).

A block is a table: rows of (output channels, kernel, stride) beside each other; a number alone is a pooling followed by
a 1x1 convolution, "max" a pooling that halves rows and columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zoo_vision import ConvNorm

from msnb import nn, ops

Row = tuple[int, Any] | tuple[int, Any, int]


def row(cin: int, parts: Any) -> nn.Cell:
    """One branch of a block."""
    if parts == "max":
        return nn.MaxPool2d(3, 2)
    if isinstance(parts, int):
        return nn.SequentialCell(nn.AvgPool2d(3, 1, pad_mode="same"), ConvNorm(cin, parts))
    cells: list[nn.Cell] = []
    for out, kernel, *stride in parts:
        halving = bool(stride)
        cells.append(ConvNorm(cin, out, kernel, 2 if halving else 1, pad_mode="valid" if halving else "same"))
        cin = out
    return nn.SequentialCell(cells)


class Block(nn.Cell):
    """Branches beside each other, joined by channels."""

    def __init__(self, cin: int, branches: Sequence[Any]) -> None:
        super().__init__()
        self.branches = nn.CellList([row(cin, parts) for parts in branches])

    def construct(self, x: Any) -> Any:
        return ops.concat([branch(x) for branch in self.branches], 1)


class Forked(nn.Cell):
    """The widest block: two of its branches fork at their end into 1x3 and 3x1."""

    def __init__(self, cin: int, one: int, ways: Sequence[Any], fork: int, pooled: int) -> None:
        super().__init__()
        self.one, self.pooled = ConvNorm(cin, one), row(cin, pooled)
        self.ways = nn.CellList([row(cin, parts) for parts in ways])
        ends = [parts[-1][0] for parts in ways]
        self.left = nn.CellList([ConvNorm(end, fork, (1, 3)) for end in ends])
        self.right = nn.CellList([ConvNorm(end, fork, (3, 1)) for end in ends])

    def construct(self, x: Any) -> Any:
        out = [self.one(x), self.pooled(x)]
        for way, left, right in zip(self.ways, self.left, self.right):
            y = way(x)
            out += [left(y), right(y)]
        return ops.concat(out, 1)


def v3_blocks() -> list[tuple[int, nn.Cell]]:
    """Channels that come in, and the block."""
    blocks: list[tuple[int, nn.Cell]] = []
    for cin, pooled in ((192, 32), (256, 64), (288, 64)):
        three = [(64, 1), (96, 3), (96, 3)]
        blocks.append((cin, Block(cin, [[(64, 1)], [(48, 1), (64, 5)], three, pooled])))
    blocks.append((288, Block(288, [[(384, 3, 2)], [(64, 1), (96, 3), (96, 3, 2)], "max"])))
    for c in (128, 160, 160, 192):
        long = [(c, 1), (c, (7, 1)), (c, (1, 7)), (c, (7, 1)), (192, (1, 7))]
        blocks.append((768, Block(768, [[(192, 1)], [(c, 1), (c, (1, 7)), (192, (7, 1))], long, 192])))
    seven = [(192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2)]
    blocks.append((768, Block(768, [[(192, 1), (320, 3, 2)], seven, "max"])))
    for cin in (1280, 2048):
        blocks.append((cin, Forked(cin, 320, [[(384, 1)], [(448, 1), (384, 3)]], 384, 192)))
    return blocks


class Second(nn.Cell):
    """The second classifier, which reads the middle of the network."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.pool, self.a = nn.AvgPool2d(5, 3), nn.Conv2d(768, 128, 1)
        self.b, self.head = nn.Conv2d(128, 768, 5, pad_mode="valid"), nn.Dense(768, classes)

    def construct(self, x: Any) -> Any:
        x = self.b(self.a(self.pool(x)))
        return self.head(ops.reshape(x, (x.shape[0], -1)))


class InceptionV3(nn.Cell):
    """Images of 299 rows and columns."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.SequentialCell(
            ConvNorm(3, 32, 3, 2, pad_mode="valid"), ConvNorm(32, 32, 3, pad_mode="valid"), ConvNorm(32, 64, 3),
            nn.MaxPool2d(3, 2), ConvNorm(64, 80), ConvNorm(80, 192, 3, pad_mode="valid"), nn.MaxPool2d(3, 2),
        )  # fmt: skip
        blocks = [block for _, block in v3_blocks()]
        self.early, self.late = nn.SequentialCell(blocks[:8]), nn.SequentialCell(blocks[8:])
        self.second, self.drop, self.head = Second(classes), nn.Dropout(p=0.2), nn.Dense(2048, classes)

    def construct(self, x: Any, y: Any) -> Any:
        x = self.early(self.stem(x))
        aside = self.second(x)
        x = self.drop(ops.mean(self.late(x), (2, 3)))
        return ops.cross_entropy(self.head(x), y) + 0.2 * ops.cross_entropy(aside, y)


class InceptionV4(nn.Cell):
    """Images of 299 rows and columns."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.SequentialCell(
            ConvNorm(3, 32, 3, 2, pad_mode="valid"), ConvNorm(32, 32, 3, pad_mode="valid"), ConvNorm(32, 64, 3),
            Block(64, ["max", [(96, 3, 2)]]),
        )  # fmt: skip
        self.mixed = nn.CellList([
            nn.SequentialCell(ConvNorm(160, 64), ConvNorm(64, 96, 3, pad_mode="valid")),
            nn.SequentialCell(ConvNorm(160, 64), ConvNorm(64, 64, (1, 7)), ConvNorm(64, 64, (7, 1)),
                              ConvNorm(64, 96, 3, pad_mode="valid")),
        ])  # fmt: skip
        a = [[(96, 1)], [(64, 1), (96, 3)], [(64, 1), (96, 3), (96, 3)], 96]
        b = [[(384, 1)], [(192, 1), (224, (1, 7)), (256, (7, 1))],
             [(192, 1), (192, (7, 1)), (224, (1, 7)), (224, (7, 1)), (256, (1, 7))], 128]  # fmt: skip
        self.blocks = nn.SequentialCell(
            Block(192, ["max", [(192, 3, 2)]]), *(Block(384, a) for _ in range(4)),
            Block(384, [[(384, 3, 2)], [(192, 1), (224, 3), (256, 3, 2)], "max"]), *(Block(1024, b) for _ in range(7)),
            Block(1024, [[(192, 1), (192, 3, 2)], [(256, 1), (256, (1, 7)), (320, (7, 1)), (320, 3, 2)], "max"]),
            *(Forked(1536, 256, [[(384, 1)], [(384, 1), (448, (1, 3)), (512, (3, 1))]], 256, 256) for _ in range(3)),
        )  # fmt: skip
        self.drop, self.head = nn.Dropout(p=0.2), nn.Dense(1536, classes)

    def construct(self, x: Any, y: Any) -> Any:
        x = self.stem(x)
        x = self.blocks(ops.concat([way(x) for way in self.mixed], 1))
        return ops.cross_entropy(self.head(self.drop(ops.mean(x, (2, 3)))), y)
