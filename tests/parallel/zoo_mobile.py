"""Vision networks for phones, as people write them with ``nn``: depthwise convolutions, few channels.

Sources: Howard et al. 2017 and 2019 (MobileNet v1, v3), Sandler et al. 2018 (v2), Tan and Le 2019 (EfficientNet-B0).
"""

from __future__ import annotations

from typing import Any

from zoo_vision import ConvNorm

from msnb import nn, ops


class Separable(nn.Cell):
    """MobileNet v1's block: depthwise, then 1x1."""

    def __init__(self, cin: int, out: int, stride: int) -> None:
        super().__init__()
        self.a, self.b = ConvNorm(cin, cin, 3, stride, ops.relu6, cin), ConvNorm(cin, out, act=ops.relu6)

    def construct(self, x: Any) -> Any:
        return self.b(self.a(x))


class MobileNetV1(nn.Cell):
    def __init__(self, classes: int = 1001) -> None:
        super().__init__()
        sizes = (32, 64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024)
        halved = (2, 4, 6, 12)  # blocks with stride 2, counted from 1
        self.stem = ConvNorm(3, 32, 3, 2, ops.relu6)
        self.blocks = nn.SequentialCell(
            [Separable(a, b, 2 if i in halved else 1) for i, (a, b) in enumerate(zip(sizes, sizes[1:]), 1)]
        )
        self.head = nn.Dense(1024, classes)

    def features(self, x: Any) -> list[Any]:
        """What the network sees at strides 8, 16 and 32."""
        x, out = self.stem(x), []
        for i, block in enumerate(self.blocks, 1):
            x = block(x)
            out += [x] if i in (5, 11, 13) else []
        return out

    def construct(self, x: Any, y: Any) -> Any:
        return ops.cross_entropy(self.head(ops.mean(self.features(x)[-1], (2, 3))), y)


class Inverted(nn.Cell):
    """MobileNetV2's block: widen, depthwise, narrow."""

    def __init__(self, cin: int, out: int, stride: int, widen: float) -> None:
        super().__init__()
        mid = round(cin * widen)
        self.a = ConvNorm(cin, mid, act=ops.relu6) if widen != 1 else None
        self.b = ConvNorm(mid, mid, 3, stride, ops.relu6, mid)
        self.c, self.skip = ConvNorm(mid, out, act=None), stride == 1 and cin == out

    def wide(self, x: Any) -> Any:
        """The block's widened input."""
        return x if self.a is None else self.a(x)

    def construct(self, x: Any) -> Any:
        y = self.c(self.b(self.wide(x)))
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

    def features(self, x: Any) -> list[Any]:
        """The widened block 14 at stride 16, and the last layer at stride 32: what a detector reads."""
        x, wide = self.stem(x), None
        for i, block in enumerate(self.blocks, 1):
            if i == 14:
                wide = block.wide(x)
            x = block(x)
        return [wide, self.last(x)]

    def construct(self, x: Any, y: Any) -> Any:
        x = self.last(self.blocks(self.stem(x)))
        return ops.cross_entropy(self.head(ops.mean(x, (2, 3))), y)


class Gate(nn.Cell):
    """Squeeze and excite by 1x1 convolutions."""

    def __init__(self, channels: int, squeezed: int, inner: Any, outer: Any) -> None:
        super().__init__()
        self.down = nn.Conv2d(channels, squeezed, 1, has_bias=True)
        self.up = nn.Conv2d(squeezed, channels, 1, has_bias=True)
        self.inner, self.outer = inner, outer

    def construct(self, x: Any) -> Any:
        return x * self.outer(self.up(self.inner(self.down(ops.mean(x, (2, 3), keep_dims=True)))))


class Mobile(nn.Cell):
    """Widen, depthwise, gate, narrow: the block of MobileNet v3 and of EfficientNet."""

    def __init__(self, cin: int, mid: int, out: int, kernel: int, stride: int, act: Any, squeezed: int,
                 outer: Any) -> None:  # fmt: skip
        super().__init__()
        self.a = ConvNorm(cin, mid, act=act) if mid != cin else None
        self.b = ConvNorm(mid, mid, kernel, stride, act, mid)
        self.gate = Gate(mid, squeezed, ops.relu if outer is ops.hard_sigmoid else act, outer) if squeezed else None
        self.c, self.skip = ConvNorm(mid, out, act=None), stride == 1 and cin == out

    def construct(self, x: Any) -> Any:
        y = self.b(x if self.a is None else self.a(x))
        y = self.c(y if self.gate is None else self.gate(y))
        return x + y if self.skip else y


class MobileNetV3(nn.Cell):
    """The large one."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        h, r = ops.hard_swish, ops.relu
        rows = ((3, 16, 16, False, r, 1), (3, 64, 24, False, r, 2), (3, 72, 24, False, r, 1), (5, 72, 40, True, r, 2),
                (5, 120, 40, True, r, 1), (5, 120, 40, True, r, 1), (3, 240, 80, False, h, 2),
                (3, 200, 80, False, h, 1), (3, 184, 80, False, h, 1), (3, 184, 80, False, h, 1),
                (3, 480, 112, True, h, 1), (3, 672, 112, True, h, 1), (5, 672, 160, True, h, 2),
                (5, 960, 160, True, h, 1), (5, 960, 160, True, h, 1))  # fmt: skip
        blocks, cin = [], 16
        for kernel, mid, out, gated, act, stride in rows:
            blocks.append(Mobile(cin, mid, out, kernel, stride, act, mid // 4 if gated else 0, ops.hard_sigmoid))
            cin = out
        self.stem, self.blocks = ConvNorm(3, 16, 3, 2, h), nn.SequentialCell(blocks)
        self.last, self.wide, self.head = ConvNorm(160, 960, act=h), nn.Dense(960, 1280), nn.Dense(1280, classes)

    def construct(self, x: Any, y: Any) -> Any:
        x = ops.mean(self.last(self.blocks(self.stem(x))), (2, 3))
        return ops.cross_entropy(self.head(ops.hard_swish(self.wide(x))), y)


class EfficientNet(nn.Cell):
    """B0."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        rows = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 3, 80, 2), (6, 5, 3, 112, 1),
                (6, 5, 4, 192, 2), (6, 3, 1, 320, 1))  # fmt: skip
        blocks, cin = [], 32
        for widen, kernel, n, out, stride in rows:
            for j in range(n):
                s = 1 if j else stride
                blocks.append(Mobile(cin, cin * widen, out, kernel, s, ops.silu, max(1, cin // 4), ops.sigmoid))
                cin = out
        self.stem, self.blocks = ConvNorm(3, 32, 3, 2, ops.silu), nn.SequentialCell(blocks)
        self.last, self.drop, self.head = ConvNorm(320, 1280, act=ops.silu), nn.Dropout(p=0.2), nn.Dense(1280, classes)

    def construct(self, x: Any, y: Any) -> Any:
        x = ops.mean(self.last(self.blocks(self.stem(x))), (2, 3))
        return ops.cross_entropy(self.head(self.drop(x)), y)
