"""Vision networks as people write them with ``nn``, each with its loss: the material of the validation of predictions.

Sources: He et al. 2015 (ResNet, stride in the 3x3), He et al. 2018 (its stem of three 3x3), Hu et al. 2017 (squeeze and
excite), Simonyan and Zisserman 2014 (VGG), Szegedy et al. 2014 (GoogLeNet), Huang et al. 2016 (DenseNet), Iandola et
al. 2016 (SqueezeNet). The networks for phones, the inceptions and the detectors are in files of their own.
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
    """With ``pooled``, a maximum of 2x2 halves rows and columns, behind the 3x3 and before the short way's 1x1."""

    def __init__(self, cin: int, mid: int, stride: int, excite: bool, pooled: bool = False) -> None:
        super().__init__()
        out, step = 4 * mid, 1 if pooled else stride
        half = [nn.MaxPool2d(2, 2, pad_mode="same")] if pooled and stride != 1 else []
        self.a, self.b = ConvNorm(cin, mid), nn.SequentialCell(ConvNorm(mid, mid, 3, step), *half)
        self.c = ConvNorm(mid, out, act=None)
        self.excite = Excite(out, 4 if pooled else 16) if excite else None
        down = stride != 1 or cin != out
        self.down = nn.SequentialCell(*half, ConvNorm(cin, out, 1, step, None)) if down else None

    def construct(self, x: Any) -> Any:
        y = self.c(self.b(self.a(x)))
        if self.excite is not None:
            y = self.excite(y)
        return ops.relu(y + (x if self.down is None else self.down(x)))


def stem(kind: str) -> nn.Cell:
    """From an image to 64 channels: one 7x7, or the three 3x3 that cost as much and see more ("deep")."""
    if kind == "deep":
        return nn.SequentialCell(ConvNorm(3, 32, 3, 2), ConvNorm(32, 32, 3), ConvNorm(32, 64, 3))
    return ConvNorm(3, 64, 7, 2)


class ResNet(nn.Cell):
    """50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3).

    With the deep stem, all is as MindSpore's SE-ResNet has it: halved by maxima, the last block of the last two stages
    excited.
    """

    def __init__(self, layers: tuple[int, ...] = (3, 4, 6, 3), classes: int = 1001, excite: bool = False,
                 first: str = "7x7") -> None:  # fmt: skip
        super().__init__()
        self.stem, self.pool = stem(first), nn.MaxPool2d(3, 2, pad_mode="same")
        blocks, cin = [], 64
        for i, n in enumerate(layers):
            for j in range(n):
                here = excite and (first != "deep" or (i > 1 and j == n - 1))
                blocks.append(Bottleneck(cin, 64 << i, 2 if i and not j else 1, here, first == "deep"))
                cin = 256 << i
        self.blocks, self.head = nn.SequentialCell(blocks), nn.Dense(cin, classes)
        self.ends = [sum(layers[: i + 1]) - 1 for i in range(len(layers))]

    def features(self, x: Any) -> list[Any]:
        """What the stages give, at strides 4, 8, 16 and 32."""
        x, out = self.pool(self.stem(x)), []
        for i, block in enumerate(self.blocks):
            x = block(x)
            out += [x] if i in self.ends else []
        return out

    def construct(self, x: Any, y: Any) -> Any:
        return ops.cross_entropy(self.head(ops.mean(self.features(x)[-1], (2, 3))), y)


class Plain(nn.Cell):
    """A convolution with bias, without norm."""

    def __init__(self, cin: int, cout: int, kernel: Any = 1, stride: int = 1, act: Any = ops.relu,
                 pad_mode: str = "same") -> None:  # fmt: skip
        super().__init__()
        self.conv, self.act = nn.Conv2d(cin, cout, kernel, stride, pad_mode=pad_mode, has_bias=True), act

    def construct(self, x: Any) -> Any:
        x = self.conv(x)
        return x if self.act is None else self.act(x)


class VGG16(nn.Cell):
    """With batch norm, or as in the paper: with biases and dropout."""

    def __init__(self, classes: int = 10, norm: bool = True) -> None:
        super().__init__()
        layers: list[Any] = []
        cin = 3
        for width, n in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
            for _ in range(n):
                layers.append((ConvNorm if norm else Plain)(cin, width, 3))
                cin = width
            layers.append(nn.MaxPool2d(2, 2))
        self.layers, self.drop = nn.SequentialCell(layers), nn.Identity() if norm else nn.Dropout(p=0.5)
        self.a, self.b, self.c = nn.Dense(25088, 4096), nn.Dense(4096, 4096), nn.Dense(4096, classes)

    def construct(self, x: Any, y: Any) -> Any:
        x = self.layers(x)
        x = self.drop(ops.relu(self.a(ops.reshape(x, (x.shape[0], -1)))))
        return ops.cross_entropy(self.c(self.drop(ops.relu(self.b(x)))), y)


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


class DenseLayer(nn.Cell):
    """Norm first; what it gives is appended to what it reads."""

    def __init__(self, cin: int, growth: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(cin), nn.BatchNorm2d(4 * growth)
        self.conv1, self.conv2 = nn.Conv2d(cin, 4 * growth, 1), nn.Conv2d(4 * growth, growth, 3)

    def construct(self, x: Any) -> Any:
        y = self.conv1(ops.relu(self.norm1(x)))
        return ops.concat([x, self.conv2(ops.relu(self.norm2(y)))], 1)


class Transition(nn.Cell):
    """Half the channels, half the rows and columns."""

    def __init__(self, cin: int) -> None:
        super().__init__()
        self.norm, self.conv, self.pool = nn.BatchNorm2d(cin), nn.Conv2d(cin, cin // 2, 1), nn.AvgPool2d(2, 2)

    def construct(self, x: Any) -> Any:
        return self.pool(self.conv(ops.relu(self.norm(x))))


class DenseNet(nn.Cell):
    """121: (6, 12, 24, 16)."""

    def __init__(self, layers: tuple[int, ...] = (6, 12, 24, 16), growth: int = 32, classes: int = 1000) -> None:
        super().__init__()
        blocks, cin = [], 64
        for i, n in enumerate(layers):
            for _ in range(n):
                blocks.append(DenseLayer(cin, growth))
                cin += growth
            if i < len(layers) - 1:
                blocks.append(Transition(cin))
                cin //= 2
        self.stem, self.pool = ConvNorm(3, 64, 7, 2), nn.MaxPool2d(3, 2, pad_mode="same")
        self.blocks, self.norm, self.head = nn.SequentialCell(blocks), nn.BatchNorm2d(cin), nn.Dense(cin, classes)

    def construct(self, x: Any, y: Any) -> Any:
        x = ops.relu(self.norm(self.blocks(self.pool(self.stem(x)))))
        return ops.cross_entropy(self.head(ops.mean(x, (2, 3))), y)


class Fire(nn.Cell):
    def __init__(self, cin: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = Plain(cin, squeeze)
        self.one, self.three = Plain(squeeze, expand), Plain(squeeze, expand, 3)

    def construct(self, x: Any) -> Any:
        x = self.squeeze(x)
        return ops.concat([self.one(x), self.three(x)], 1)


class SqueezeNet(nn.Cell):
    """Version 1.0."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        fires = [Fire(*sizes) for sizes in ((96, 16, 64), (128, 16, 64), (128, 32, 128), (256, 32, 128), (256, 48, 192),
                                            (384, 48, 192), (384, 64, 256), (512, 64, 256))]  # fmt: skip
        pool = nn.MaxPool2d(3, 2)
        first = Plain(3, 96, 7, 2, pad_mode="valid")
        self.layers = nn.SequentialCell(first, pool, *fires[:3], pool, *fires[3:7], pool, fires[7])
        self.drop, self.last = nn.Dropout(p=0.5), Plain(512, classes)

    def construct(self, x: Any, y: Any) -> Any:
        return ops.cross_entropy(ops.mean(self.last(self.drop(self.layers(x))), (2, 3)), y)
