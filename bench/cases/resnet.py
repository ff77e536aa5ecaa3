"""Residual networks, momentum: ResNet-18 on 32 x 32 images (batch 32), ResNet-50 on 224 x 224 (batch 4).

The small one has a 3 x 3 stem without pooling, as usual for such images. Batch norms train: the statistics of the
batch normalise, the running ones follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.case import Case, Seeded, norm, several
from bench.cases.conv import MINDSPORE


@dataclass(frozen=True)
class Form:
    """What tells one residual network from another."""

    name: str
    repeats: tuple[int, ...]
    deep: bool  # blocks of three convolutions (1, 3, 1) instead of two
    classes: int
    side: int
    batch: int
    rate: float

    @property
    def small(self) -> bool:
        return self.side == 32

    @property
    def stem(self) -> tuple[int, int, int]:
        """Kernel, stride, padding."""
        return (3, 1, 1) if self.small else (7, 2, 3)

    def blocks(self) -> list[tuple[int, int, int, int]]:
        """(channels in, inside, out, stride) of every block."""
        found, before = [], 64
        for stage, count in enumerate(self.repeats):
            inside = 64 << stage
            out = inside * (4 if self.deep else 1)
            for number in range(count):
                found.append((before, inside, out, 2 if number == 0 and stage else 1))
                before = out
        return found

    def convs(self, block: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
        """(channels in, out, kernel, stride) of a block's convolutions; the shortcut's comes last if there is one."""
        before, inside, out, stride = block
        if self.deep:
            found = [(before, inside, 1, 1), (inside, inside, 3, stride), (inside, out, 1, 1)]
        else:
            found = [(before, inside, 3, stride), (inside, out, 3, 1)]
        return found + ([(before, out, 1, stride)] if stride > 1 or before != out else [])

    def parted(self, block: tuple[int, int, int, int]) -> tuple[Any, Any]:
        """The convolutions of the way through a block, and that of its shortcut, if any."""
        convs, inner = self.convs(block), 3 if self.deep else 2
        return convs[:inner], convs[inner:]

    def weights(self) -> list[Any]:
        seeded = Seeded(0)
        found = seeded.conv(3, 64, self.stem[0]) + norm(64)
        for block in self.blocks():
            for inputs, outputs, kernel, _ in self.convs(block):
                found += seeded.conv(inputs, outputs, kernel) + norm(outputs)
        return found + seeded.dense(self.blocks()[-1][2], self.classes)

    def parameters(self) -> int:
        """How many numbers are trained."""
        kernel, last = self.stem[0], self.blocks()[-1][2]
        convs = [(3, 64, kernel, 1), *(conv for block in self.blocks() for conv in self.convs(block))]
        return sum(i * o * k * k + 2 * o for i, o, k, _ in convs) + (last + 1) * self.classes

    def batches(self) -> list[Any]:
        def images(seeded: Seeded) -> tuple[Any, ...]:
            return seeded.normal(self.batch, 3, self.side, self.side), seeded.labels(self.classes, self.batch)

        return several(images)()

    def flops(self) -> float:
        """Of all convolutions and the dense layer: forward, weight gradient, and the data's but for the stem."""
        kernel, stride, _ = self.stem
        size = self.side // stride
        total = 2 * 2.0 * size * size * 64 * 3 * kernel * kernel
        size = size if self.small else size // 2
        for block in self.blocks():
            inside = size // block[3]
            for number, (inputs, outputs, kernel, _) in enumerate(self.convs(block)):
                at = size if self.deep and number == 0 else inside
                total += 3 * 2.0 * at * at * inputs * outputs * kernel * kernel
            size = inside
        return self.batch * (total + 3 * 2.0 * self.blocks()[-1][2] * self.classes)


# --------------------------------------------------------------------------- PyTorch


def _torch(form: Form, side: Any) -> Any:
    functional = side.torch.nn.functional
    net = side.load(_torch_net(form, side.torch))
    last = side.torch.channels_last
    if side.variant == "channels_last":
        net = net.to(memory_format=last)
        loss = lambda x, y: functional.cross_entropy(net(x.contiguous(memory_format=last)), y.long())
    else:
        loss = lambda x, y: functional.cross_entropy(net(x), y.long())
    return side.train(loss, side.momentum(net.parameters(), form.rate))


def _torch_block(form: Form, nn: Any, block: tuple[int, int, int, int]) -> Any:
    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            made = [
                nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o))
                for i, o, k, s in form.convs(block)
            ]
            inner = 3 if form.deep else 2
            self.inner = nn.ModuleList(made[:inner])
            self.shortcut = nn.Sequential(*made[inner:])

        def forward(self, x: Any) -> Any:
            y = x
            for layer in self.inner[:-1]:
                y = nn.functional.relu(layer(y))
            return nn.functional.relu(self.inner[-1](y) + self.shortcut(x))

    return Block()


def _torch_net(form: Form, torch: Any) -> Any:
    nn = torch.nn
    stem = [nn.Conv2d(3, 64, *form.stem, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    if not form.small:
        stem.append(nn.MaxPool2d(3, 2, 1))
    blocks = [_torch_block(form, nn, block) for block in form.blocks()]
    tail = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(form.blocks()[-1][2], form.classes)]
    return nn.Sequential(*stem, *blocks, *tail)


# --------------------------------------------------------------------------- JAX


def _jax(form: Form, side: Any) -> Any:
    import optax

    axes, lax, relu = (0, 1, 2) if side.nhwc else (0, 2, 3), side.jax.lax, side.jax.nn.relu

    def batch_norm(x: Any, scale: Any, shift: Any) -> Any:
        apart = x - x.mean(axes, keepdims=True)
        root = lax.rsqrt((apart**2).mean(axes, keepdims=True) + 1e-5)
        return apart * root * side.channels(scale) + side.channels(shift)

    def conv(given: Any, x: Any, kernel: int, stride: int) -> Any:
        x = side.conv(x, next(given), stride, kernel // 2)
        return batch_norm(x, next(given), next(given))

    def residual(given: Any, x: Any, block: Any) -> Any:
        (*inner, last), shortcut = form.parted(block)
        y = x
        for _, _, kernel, stride in inner:
            y = relu(conv(given, y, kernel, stride))
        y = conv(given, y, *last[2:])
        for _, _, kernel, stride in shortcut:
            x = conv(given, x, kernel, stride)
        return relu(y + x)

    def logits(p: Any, x: Any) -> Any:
        given = iter(p)
        x = relu(conv(given, x, *form.stem[:2]))
        x = x if form.small else side.max_pool(x, 3, 2, 1)
        for block in form.blocks():
            x = residual(given, x, block)
        return side.dense(x.mean(axes[1:]), next(given), next(given))

    loss = lambda p, x, y: side.cross_entropy(logits(p, x), y)
    return side.train(loss, optax.sgd(form.rate, momentum=0.9))


# --------------------------------------------------------------------------- msnb, MindSpore


def _ms(form: Form, side: Any) -> Any:
    nn = side.nn
    net, entropy = side.load(_ms_net(form, nn)), nn.CrossEntropyLoss()

    def loss(x: Any, y: Any) -> Any:
        return entropy(net(x), y)

    return side.train(loss, nn.Momentum(net.trainable_params(), form.rate, 0.9))


def _ms_conv(nn: Any, inputs: int, outputs: int, kernel: int, stride: int) -> Any:
    conv = nn.Conv2d(inputs, outputs, kernel, stride, pad_mode="pad", padding=kernel // 2)
    return nn.SequentialCell(conv, nn.BatchNorm2d(outputs))


def _ms_block(form: Form, nn: Any, block: tuple[int, int, int, int]) -> Any:
    made = [_ms_conv(nn, *conv) for conv in form.convs(block)]
    inner = 3 if form.deep else 2
    layers: list[Any] = [made[0]]
    for layer in made[1:inner]:
        layers += [nn.ReLU(), layer]

    class Block(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.SequentialCell(*layers)
            self.has_shortcut = len(made) > inner
            if self.has_shortcut:
                self.shortcut = made[-1]
            self.relu = nn.ReLU()

        def construct(self, x: Any) -> Any:
            y = self.inner(x)
            if self.has_shortcut:
                x = self.shortcut(x)
            return self.relu(y + x)

    return Block()


def _ms_net(form: Form, nn: Any) -> Any:
    class ResNet(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.stem = _ms_conv(nn, 3, 64, *form.stem[:2])
            self.relu, self.small = nn.ReLU(), form.small
            self.pool = nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)
            self.blocks = nn.SequentialCell(*[_ms_block(form, nn, block) for block in form.blocks()])
            self.head = nn.Dense(form.blocks()[-1][2], form.classes)

        def construct(self, x: Any) -> Any:
            x = self.relu(self.stem(x))
            if not self.small:
                x = self.pool(x)
            return self.head(self.blocks(x).mean((2, 3)))

    return ResNet()


def _case(form: Form, share: float, tolerance: float) -> Case:
    bound = {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax}
    programs = {name: (lambda side, program=program: program(form, side)) for name, program in bound.items()}
    return Case(
        f"{form.name}_step",
        f"{form.name} training step, {form.side} x {form.side}, batch {form.batch}",
        programs,
        form.batches,
        form.weights,
        flops=form.flops(),
        bytes=4.0 * 4 * form.parameters(),
        tolerance=tolerance,
        variants={"jax": ("nchw", "nhwc"), "torch": ("contiguous", "channels_last")},
        environment=MINDSPORE,
        share=share,
    )


RESNET18 = Form("resnet18", (2, 2, 2, 2), False, 10, 32, 32, 1e-2)
RESNET50 = Form("resnet50", (3, 4, 6, 3), True, 1000, 224, 4, 1e-3)

# statistics over four images in fifty layers: PyTorch eager, compiled and JAX differ by 3e-3 to 6e-3 among themselves
CASES = [_case(RESNET18, 3, 1e-3), _case(RESNET50, 4, 1e-2)]
