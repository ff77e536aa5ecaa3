"""Vision networks as people write them with ``nn``, each with its loss: the material of the validation of predictions.

Sources: He et al. 2015 (ResNet, stride in the 3x3), Hu et al. 2017 (squeeze and excite), Simonyan and Zisserman 2014
(VGG, with batch norm), Szegedy et al. 2014 and 2015 (GoogLeNet, Inception v3), Sandler et al. 2018 (MobileNetV2),
Liu et al. 2015 (SSD).
"""

from __future__ import annotations

from typing import Any

import msnb as ms
from msnb import nn, ops


def images(n: int, size: int = 224) -> tuple[Any, Any]:
    """A batch of n images and labels, without values."""
    return ms.parallel.blank((n, 3, size, size)), ms.parallel.blank((n,), ms.int32)


class ConvNorm(nn.Cell):
    def __init__(self, cin: int, cout: int, kernel: Any = 1, stride: int = 1, act: Any = ops.relu, group: int = 1,
                 pad_mode: str = "same") -> None:  # fmt: skip
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, kernel, stride, pad_mode=pad_mode, group=group)
        self.norm, self.act = nn.BatchNorm2d(cout), act

    def construct(self, x: Any) -> Any:
        x = self.norm(self.conv(x))
        return x if self.act is None else self.act(x)


class Excite(nn.Cell):
    """Squeeze and excite."""

    def __init__(self, channels: int, ratio: int = 16) -> None:
        super().__init__()
        self.down, self.up = nn.Dense(channels, channels // ratio), nn.Dense(channels // ratio, channels)

    def construct(self, x: Any) -> Any:
        s = ops.sigmoid(self.up(ops.relu(self.down(ops.mean(x, (2, 3))))))
        return x * ops.reshape(s, (*s.shape, 1, 1))


class Bottleneck(nn.Cell):
    def __init__(self, cin: int, mid: int, stride: int, excite: bool) -> None:
        super().__init__()
        out = 4 * mid
        self.a, self.b = ConvNorm(cin, mid), ConvNorm(mid, mid, 3, stride)
        self.c = ConvNorm(mid, out, act=None)
        self.excite = Excite(out) if excite else None
        self.down = ConvNorm(cin, out, 1, stride, None) if stride != 1 or cin != out else None

    def construct(self, x: Any) -> Any:
        y = self.c(self.b(self.a(x)))
        if self.excite is not None:
            y = self.excite(y)
        return ops.relu(y + (x if self.down is None else self.down(x)))


class ResNet(nn.Cell):
    """50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)."""

    def __init__(self, layers: tuple[int, ...] = (3, 4, 6, 3), classes: int = 1001, excite: bool = False) -> None:
        super().__init__()
        self.stem, self.pool = ConvNorm(3, 64, 7, 2), nn.MaxPool2d(3, 2, pad_mode="same")
        blocks, cin = [], 64
        for i, n in enumerate(layers):
            for j in range(n):
                blocks.append(Bottleneck(cin, 64 << i, 2 if i and not j else 1, excite))
                cin = 256 << i
        self.blocks, self.head = nn.SequentialCell(blocks), nn.Dense(cin, classes)

    def construct(self, x: Any, y: Any) -> Any:
        x = self.blocks(self.pool(self.stem(x)))
        return ops.cross_entropy(self.head(ops.mean(x, (2, 3))), y)


class VGG16(nn.Cell):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        layers: list[Any] = []
        cin = 3
        for width, n in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
            for _ in range(n):
                layers.append(ConvNorm(cin, width, 3))
                cin = width
            layers.append(nn.MaxPool2d(2, 2))
        self.layers = nn.SequentialCell(layers)
        self.a, self.b, self.c = nn.Dense(25088, 4096), nn.Dense(4096, 4096), nn.Dense(4096, classes)

    def construct(self, x: Any, y: Any) -> Any:
        x = self.layers(x)
        x = ops.relu(self.a(ops.reshape(x, (x.shape[0], -1))))
        return ops.cross_entropy(self.c(ops.relu(self.b(x))), y)


class Inception(nn.Cell):
    def __init__(self, cin: int, a: int, b: tuple[int, int], c: tuple[int, int], d: int) -> None:
        super().__init__()
        self.a, self.b1, self.b2 = ConvNorm(cin, a), ConvNorm(cin, b[0]), ConvNorm(b[0], b[1], 3)
        self.c1, self.c2, self.d = ConvNorm(cin, c[0]), ConvNorm(c[0], c[1], 3), ConvNorm(cin, d)
        self.pool = nn.MaxPool2d(3, 1, pad_mode="same")

    def construct(self, x: Any) -> Any:
        return ops.concat([self.a(x), self.b2(self.b1(x)), self.c2(self.c1(x)), self.d(self.pool(x))], 1)


class GoogLeNet(nn.Cell):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.SequentialCell(
            ConvNorm(3, 64, 7, 2), nn.MaxPool2d(3, 2, pad_mode="same"), ConvNorm(64, 64), ConvNorm(64, 192, 3),
            nn.MaxPool2d(3, 2, pad_mode="same"),
        )  # fmt: skip
        self.three = nn.SequentialCell(
            Inception(192, 64, (96, 128), (16, 32), 32), Inception(256, 128, (128, 192), (32, 96), 64),
            nn.MaxPool2d(3, 2, pad_mode="same"),
        )  # fmt: skip
        self.four = nn.SequentialCell(
            Inception(480, 192, (96, 208), (16, 48), 64), Inception(512, 160, (112, 224), (24, 64), 64),
            Inception(512, 128, (128, 256), (24, 64), 64), Inception(512, 112, (144, 288), (32, 64), 64),
            Inception(528, 256, (160, 320), (32, 128), 128), nn.MaxPool2d(2, 2, pad_mode="same"),
        )  # fmt: skip
        self.five = nn.SequentialCell(
            Inception(832, 256, (160, 320), (32, 128), 128), Inception(832, 384, (192, 384), (48, 128), 128)
        )
        self.head = nn.Dense(1024, classes)

    def construct(self, x: Any, y: Any) -> Any:
        x = self.five(self.four(self.three(self.stem(x))))
        return ops.cross_entropy(self.head(ops.mean(x, (2, 3))), y)


class Inverted(nn.Cell):
    """MobileNetV2's block: widen, depthwise, narrow."""

    def __init__(self, cin: int, out: int, stride: int, widen: int) -> None:
        super().__init__()
        mid = cin * widen
        self.a = ConvNorm(cin, mid, act=ops.relu6) if widen != 1 else None
        self.b = ConvNorm(mid, mid, 3, stride, ops.relu6, mid)
        self.c, self.skip = ConvNorm(mid, out, act=None), stride == 1 and cin == out

    def construct(self, x: Any) -> Any:
        y = self.c(self.b(x if self.a is None else self.a(x)))
        return x + y if self.skip else y


class MobileNetV2(nn.Cell):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        blocks, cin = [], 32
        for widen, out, n, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                      (6, 160, 3, 2), (6, 320, 1, 1)):  # fmt: skip
            for j in range(n):
                blocks.append(Inverted(cin, out, 1 if j else stride, widen))
                cin = out
        self.stem, self.blocks = ConvNorm(3, 32, 3, 2, ops.relu6), nn.SequentialCell(blocks)
        self.last, self.head = ConvNorm(320, 1280, act=ops.relu6), nn.Dense(1280, classes)

    def construct(self, x: Any, y: Any) -> Any:
        x = self.last(self.blocks(self.stem(x)))
        return ops.cross_entropy(self.head(ops.mean(x, (2, 3))), y)
