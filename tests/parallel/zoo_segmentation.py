"""Networks that say of every pixel what it shows, as people write them with ``nn``, each with its loss.

Sources: Ronneberger et al. 2015 (UNet), with the biases and the poolings of ModelZoo's official/cv/Unet.
"""

from __future__ import annotations

from typing import Any

import msnb as ms
from msnb import nn, ops

EDGE = 184  # pixels that convolutions without padding take from a side of 572


def twice(cin: int, out: int) -> nn.Cell:
    """Two convolutions without padding."""
    layers = [(nn.Conv2d(c, out, 3, pad_mode="valid", has_bias=True), nn.ReLU()) for c in (cin, out)]
    return nn.SequentialCell([layer for pair in layers for layer in pair])


class UNet(nn.Cell):
    """Down four times, up again, and on the way up what was seen on the way down, its edges cut off."""

    def __init__(self, width: int = 64, classes: int = 2) -> None:
        super().__init__()
        sizes = [width << i for i in range(5)]
        self.down = nn.CellList([twice(cin, c) for cin, c in zip((1, *sizes), sizes)])
        self.grow = nn.CellList([nn.Conv2dTranspose(2 * c, c, 2, 2) for c in sizes[-2::-1]])
        self.up = nn.CellList([twice(2 * c, c) for c in sizes[-2::-1]])
        self.pool, self.head = nn.MaxPool2d(2, 2), nn.Conv2d(width, classes, 1, has_bias=True)

    def construct(self, x: Any, y: Any) -> Any:
        seen = []
        for i, layer in enumerate(self.down):
            x = layer(self.pool(x) if i else x)
            seen.append(x)
        for grow, layer, before in zip(self.grow, self.up, seen[-2::-1]):
            x = ops.relu(grow(x))
            edge, side = (before.shape[2] - x.shape[2]) // 2, x.shape[2]
            x = layer(ops.concat([x, before[:, :, edge : edge + side, edge : edge + side]], 1))
        x = ops.transpose(self.head(x), (0, 2, 3, 1))
        return ops.cross_entropy(ops.reshape(x, (-1, x.shape[-1])), ops.reshape(y, (-1,)))


def slides(n: int, size: int = 572) -> tuple[Any, ...]:
    """A batch for ``UNet``, without values; ``size`` is 572 and more or less by multiples of 16."""
    return ms.parallel.blank((n, 1, size, size)), ms.parallel.blank((n, size - EDGE, size - EDGE), ms.int32)
