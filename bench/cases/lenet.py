"""LeNet-5 on 32 x 32 images, momentum: the whole training step at batch 32 and 256, and at 100 sizes in turn."""

from __future__ import annotations

from typing import Any

from bench.case import Case, Seeded, dense_flops, several
from bench.cases.conv import MINDSPORE

RATE = 1e-2
CONV_FLOPS = 2.0 * 28 * 28 * 6 * 25 * 2 + 2.0 * 10 * 10 * 16 * 6 * 25 * 3  # per image; no gradient of the image


def _weights() -> list[Any]:
    seeded = Seeded(0)
    convs = seeded.conv(1, 6, 5, True) + seeded.conv(6, 16, 5, True)
    return convs + seeded.dense(400, 120) + seeded.dense(120, 84) + seeded.dense(84, 10)


def _torch(side: Any) -> Any:
    nn = side.torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    side.load(net)
    loss = lambda x, y: nn.functional.cross_entropy(net(x), y.long())
    return side.train(loss, side.momentum(net.parameters(), RATE))


def _jax(side: Any) -> Any:
    import optax

    relu = side.jax.nn.relu

    def features(p: Any, x: Any) -> Any:
        x = side.max_pool(relu(side.conv(x, p[0]) + side.channels(p[1])), 2, 2)
        x = side.max_pool(relu(side.conv(x, p[2]) + side.channels(p[3])), 2, 2)
        x = x.transpose(0, 3, 1, 2) if side.nhwc else x  # the dense weights are the others'
        return x.reshape(x.shape[0], -1)

    def loss(p: Any, x: Any, y: Any) -> Any:
        x = relu(side.dense(relu(side.dense(features(p, x), *p[4:6])), *p[6:8]))
        return side.cross_entropy(side.dense(x, *p[8:]), y)

    return side.train(loss, optax.sgd(RATE, momentum=0.9))


def _ms(side: Any) -> Any:
    nn = side.nn

    class LeNet5(nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
            self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
            self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
            self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

        def construct(self, x: Any) -> Any:
            x = self.pool(self.relu(self.conv1(x)))
            x = self.flatten(self.pool(self.relu(self.conv2(x))))
            return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))

    net, entropy = side.load(LeNet5()), nn.CrossEntropyLoss()

    def loss(x: Any, y: Any) -> Any:
        return entropy(net(x), y)

    return side.train(loss, nn.Momentum(net.trainable_params(), RATE, 0.9))


def _case(size: int) -> Case:
    def digits(seeded: Seeded) -> tuple[Any, ...]:
        return seeded.normal(size, 1, 32, 32), seeded.labels(10, size)

    return Case(
        f"lenet_step_{size}",
        f"LeNet-5 training step, batch {size}",
        {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax},
        several(digits),
        _weights,
        flops=size * CONV_FLOPS + dense_flops(size, 400, 120, 84, 10, data=True),
        bytes=4.0 * 4 * 61706,
        variants={"jax": ("nchw", "nhwc")},
        environment=MINDSPORE,
    )


def _other_batches() -> list[Any]:
    seeded = Seeded(1)
    return [(seeded.normal(n, 1, 32, 32), seeded.labels(10, n)) for n in seeded.rng.permutation(range(8, 108))]


CASES = [
    _case(32),
    _case(256),
    Case(
        "lenet_sizes_step",
        "LeNet-5 training step, 100 batch sizes",
        {"msnb": _ms, "torch": _torch},
        _other_batches,
        _weights,
        flops=58 * CONV_FLOPS + dense_flops(58, 400, 120, 84, 10, data=True),
        bytes=4.0 * 4 * 61706,
    ),
]
