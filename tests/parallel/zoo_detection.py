"""Detectors as people write them with ``nn``, each with its loss: SSD on four backbones, YOLO v3.

Sources: Liu et al. 2015 (SSD), Sandler et al. 2018 (its light heads), Lin et al. 2017 (feature pyramid, focal loss),
Huang et al. 2017 (SSD with a pyramid, heads shared by all levels), Redmon and Farhadi 2018 (YOLO v3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zoo_mobile import Inverted, MobileNetV1, MobileNetV2
from zoo_vision import ConvNorm, Plain, ResNet

import msnb as ms
from msnb import nn, ops

CLASSES = 81


def flat(x: Any, width: int) -> Any:
    """[n, anchors * width, rows, columns] as [n, all anchors, width]."""
    return ops.reshape(ops.transpose(x, (0, 2, 3, 1)), (x.shape[0], -1, width))


class Light(nn.Cell):
    """A head: depthwise, then 1x1."""

    def __init__(self, cin: int, out: int) -> None:
        super().__init__()
        self.a, self.b = ConvNorm(cin, cin, 3, act=ops.relu6, group=cin), Plain(cin, out, act=None)

    def construct(self, x: Any) -> Any:
        return self.b(self.a(x))


def focal(logits: Any, label: Any) -> Any:
    """Loss of every class of every anchor; the easy ones count little."""
    hot = ops.one_hot(label, logits.shape[-1])
    p = ops.sigmoid(logits)
    right = hot * p + (1.0 - hot) * (1.0 - p)
    weight = (hot * 0.25 + (1.0 - hot) * 0.75) * ops.square(1.0 - right)
    return ops.sum(weight * ops.binary_cross_entropy_with_logits(logits, hot, reduction="none"))


def box_loss(boxes: Any, scores: Any, places: Any, label: Any, matched: Any) -> Any:
    """Smooth distances of boxes where something is, focal loss everywhere, per box that was matched."""
    mask = ops.expand_dims(ops.cast(label > 0, ms.float32), -1)
    far = ops.sum(ops.smooth_l1_loss(boxes, places, reduction="none") * mask)
    return (far + focal(scores, label)) / ops.sum(matched)


class SSD(nn.Cell):
    """Levels of features, each with a head for boxes and one for classes."""

    def __init__(self, backbone: nn.Cell, channels: Sequence[int], extras: Sequence[nn.Cell], heads: Any) -> None:
        super().__init__()
        self.backbone, self.extras = backbone, nn.CellList(list(extras))
        anchors = (3, *(6,) * (len(channels) - 1))
        self.boxes = nn.CellList([heads(c, 4 * a) for c, a in zip(channels, anchors)])
        self.scores = nn.CellList([heads(c, CLASSES * a) for c, a in zip(channels, anchors)])

    def construct(self, x: Any, places: Any, label: Any, matched: Any) -> Any:
        levels = self.backbone.features(x)
        for extra in self.extras:
            levels.append(extra(levels[-1]))
        boxes = ops.concat([flat(head(y), 4) for head, y in zip(self.boxes, levels)], 1)
        scores = ops.concat([flat(head(y), CLASSES) for head, y in zip(self.scores, levels)], 1)
        return box_loss(boxes, scores, places, label, matched)


class Shrink(nn.Cell):
    """An extra level of SSD300: 1x1, then 3x3 with stride 2."""

    def __init__(self, cin: int, mid: int, out: int, stride: int = 2) -> None:
        super().__init__()
        self.a, self.b = Plain(cin, mid), Plain(mid, out, 3, stride)

    def construct(self, x: Any) -> Any:
        return self.b(self.a(x))


class VGGFeatures(nn.Cell):
    """VGG16 for 300x300, its dense layers as convolutions: levels of 38 and 19 rows."""

    def __init__(self) -> None:
        super().__init__()
        parts, cin = [], 3
        for width, n in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
            cells = [Plain(cin if j == 0 else width, width, 3) for j in range(n)]
            parts.append(nn.SequentialCell(cells))
            cin = width
        self.parts, self.pool = nn.CellList(parts), nn.MaxPool2d(2, 2, pad_mode="same")
        self.last = nn.SequentialCell(
            nn.MaxPool2d(3, 1, pad_mode="same"), nn.Conv2d(512, 1024, 3, dilation=6, has_bias=True), nn.ReLU(),
            nn.Dropout(p=0.5), Plain(1024, 1024), nn.Dropout(p=0.5),
        )  # fmt: skip

    def features(self, x: Any) -> list[Any]:
        """Two levels."""
        out = []
        for part in self.parts:
            x = part(self.pool(out[-1]) if out else x)
            out.append(x)
        return [out[3], self.last(x)]


class Pyramid(nn.Cell):
    """From the levels of a backbone to five of 256 channels: top down, then two by stride."""

    def __init__(self, backbone: nn.Cell, channels: Sequence[int]) -> None:
        super().__init__()
        self.backbone = backbone
        self.across = nn.CellList([nn.Conv2d(c, 256, 1, has_bias=True) for c in channels])
        self.smooth = nn.CellList([ConvNorm(256, 256, 3, act=ops.relu6) for _ in channels])
        self.down = nn.CellList([ConvNorm(256, 256, 3, 2, ops.relu6) for _ in range(2)])

    def features(self, x: Any) -> list[Any]:
        """Five levels."""
        levels = [cell(y) for cell, y in zip(self.across, self.backbone.features(x)[-3:])]
        for i in (1, 0):
            levels[i] = levels[i] + ops.interpolate(levels[i + 1], levels[i].shape[2:], mode="bilinear")
        levels = [cell(y) for cell, y in zip(self.smooth, levels)]
        for cell in self.down:
            levels.append(cell(levels[-1]))
        return levels


class Tower(nn.Cell):
    """Four convolutions shared by all levels, each level with norms of its own, then the head."""

    def __init__(self, levels: int, out: int) -> None:
        super().__init__()
        self.convs = nn.CellList([nn.Conv2d(256, 256, 3, has_bias=True) for _ in range(4)])
        self.norms = nn.CellList([nn.CellList([nn.BatchNorm2d(256) for _ in range(4)]) for _ in range(levels)])
        self.head = nn.Conv2d(256, out, 3, has_bias=True)

    def construct(self, levels: Any) -> Any:
        out = []
        for x, norms in zip(levels, self.norms):
            for conv, norm in zip(self.convs, norms):
                x = ops.relu6(norm(conv(x)))
            out.append(self.head(x))
        return out


class RetinaSSD(nn.Cell):
    """A pyramid, and two towers shared by its levels; six anchors per place."""

    def __init__(self, pyramid: nn.Cell) -> None:
        super().__init__()
        self.pyramid, self.boxes, self.scores = pyramid, Tower(5, 24), Tower(5, 6 * CLASSES)

    def construct(self, x: Any, places: Any, label: Any, matched: Any) -> Any:
        levels = self.pyramid.features(x)
        boxes = ops.concat([flat(y, 4) for y in self.boxes(levels)], 1)
        scores = ops.concat([flat(y, CLASSES) for y in self.scores(levels)], 1)
        return box_loss(boxes, scores, places, label, matched)


def ssd_mobile() -> nn.Cell:
    """SSD300 on MobileNetV2 with light heads: 1917 anchors."""
    sizes = ((1280, 512, 0.2), (512, 256, 0.25), (256, 256, 0.5), (256, 128, 0.25))
    extras = [Inverted(cin, out, 2, widen) for cin, out, widen in sizes]
    return SSD(MobileNetV2(), (576, 1280, 512, 256, 256, 128), extras, Light)


def ssd_vgg() -> nn.Cell:
    """SSD300 on VGG16: 7308 anchors."""
    extras = [Shrink(1024, 256, 512), Shrink(512, 128, 256), Shrink(256, 128, 256), Shrink(256, 128, 256, 2)]
    return SSD(VGGFeatures(), (512, 1024, 512, 256, 256, 256), extras, lambda cin, out: Plain(cin, out, 3, act=None))


def ssd_resnet() -> nn.Cell:
    """640x640 on ResNet-50 with a pyramid."""
    return RetinaSSD(Pyramid(ResNet(), (512, 1024, 2048)))


def ssd_mobile_pyramid() -> nn.Cell:
    """640x640 on MobileNetV1 with a pyramid."""
    return RetinaSSD(Pyramid(MobileNetV1(), (256, 512, 1024)))


def anchors_of(rows: Sequence[int], first: int = 6) -> int:
    """Anchors of levels of so many rows and columns: six each, ``first`` in the first."""
    return sum(n * n * (6 if i else first) for i, n in enumerate(rows))


def scenes(n: int, size: int, anchors: int) -> tuple[Any, ...]:
    """A batch for a detector, without values."""
    blank = ms.parallel.blank
    return (blank((n, 3, size, size)), blank((n, anchors, 4)), blank((n, anchors), ms.int32), blank((n,)))


class Darknet(nn.Cell):
    """YOLO v3's backbone: 52 convolutions."""

    def __init__(self) -> None:
        super().__init__()
        stages, cin = [], 32
        for n in (1, 2, 8, 8, 4):
            stages.append(nn.SequentialCell(leaky(cin, 2 * cin, 3, 2), *(Rest(2 * cin) for _ in range(n))))
            cin *= 2
        self.stem, self.stages = leaky(3, 32, 3), nn.CellList(stages)

    def features(self, x: Any) -> list[Any]:
        """Strides 8, 16 and 32."""
        x, out = self.stem(x), []
        for stage in self.stages:
            x = stage(x)
            out.append(x)
        return out[2:]


def leaky(cin: int, out: int, kernel: int = 1, stride: int = 1) -> nn.Cell:
    """Convolution, norm, leaky ReLU."""
    return ConvNorm(cin, out, kernel, stride, lambda x: ops.leaky_relu(x, 0.1))


class Rest(nn.Cell):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.a, self.b = leaky(channels, channels // 2), leaky(channels // 2, channels, 3)

    def construct(self, x: Any) -> Any:
        return x + self.b(self.a(x))


class Yolo(nn.Cell):
    """Three scales, three anchors each; per anchor a box, whether something is there, and what."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone, out = Darknet(), 3 * 85
        bodies, heads, up = [], [], []
        for cin, c in ((1024, 512), (768, 256), (384, 128)):
            bodies.append(nn.SequentialCell(leaky(cin, c), leaky(c, 2 * c, 3), leaky(2 * c, c), leaky(c, 2 * c, 3),
                                            leaky(2 * c, c)))  # fmt: skip
            heads.append(nn.SequentialCell(leaky(c, 2 * c, 3), Plain(2 * c, out, act=None)))
            up.append(leaky(c, c // 2))
        self.bodies, self.heads, self.up = nn.CellList(bodies), nn.CellList(heads), nn.CellList(up[:2])

    def construct(self, x: Any, places: Any, label: Any, here: Any) -> Any:
        levels, out, carried = self.backbone.features(x), [], None
        for i, (body, head) in enumerate(zip(self.bodies, self.heads)):
            x = levels[2 - i]
            if carried is not None:
                x = ops.concat([ops.interpolate(self.up[i - 1](carried), scale_factor=2), x], 1)
            carried = body(x)
            out.append(flat(head(carried), 85))
        y = ops.concat(out, 1)
        hot = ops.one_hot(label, 80)
        classes = ops.binary_cross_entropy_with_logits(y[:, :, 5:], hot, reduction="none")
        there = ops.binary_cross_entropy_with_logits(y[:, :, 4:5], here, reduction="none")
        far = ops.square(ops.sigmoid(y[:, :, 0:4]) - places)
        return ops.sum(here * (classes + ops.sum(far, -1, keepdims=True))) + ops.sum(there)


def yolo_scenes(n: int, size: int = 416) -> tuple[Any, ...]:
    """A batch for ``Yolo``, without values."""
    count = 3 * sum((size // s) ** 2 for s in (8, 16, 32))
    blank = ms.parallel.blank
    return (blank((n, 3, size, size)), blank((n, count, 4)), blank((n, count), ms.int32), blank((n, count, 1)))
