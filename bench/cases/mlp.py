"""Three dense layers (784, 512, 512, 10), batch 128, Adam: the whole training step; and the same where every batch has
another size, so that the first round over the data meets 100 of them."""

from __future__ import annotations

from typing import Any

from bench.case import Case, Seeded, dense_flops, several

WIDTHS = (784, 512, 512, 10)
BATCH, RATE = 128, 1e-3
PARAMETERS = sum(i * o + o for i, o in zip(WIDTHS, WIDTHS[1:]))


def _weights() -> list[Any]:
    seeded = Seeded(0)
    return [w for i, o in zip(WIDTHS, WIDTHS[1:]) for w in seeded.dense(i, o)]


def _digits(seeded: Seeded) -> tuple[Any, ...]:
    return seeded.normal(BATCH, WIDTHS[0]), seeded.labels(WIDTHS[-1], BATCH)


def _other_batches() -> list[Any]:
    seeded = Seeded(1)
    return [(seeded.normal(n, WIDTHS[0]), seeded.labels(WIDTHS[-1], n)) for n in seeded.rng.permutation(range(28, 128))]


def _torch(side: Any) -> Any:
    nn = side.torch.nn
    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    net = side.load(nn.Sequential(*layers))
    loss = lambda x, y: nn.functional.cross_entropy(net(x), y.long())
    return side.train(loss, side.adam(net.parameters(), RATE))


def _jax(side: Any) -> Any:
    import optax

    relu = side.jax.nn.relu

    def loss(p: Any, x: Any, y: Any) -> Any:
        x = relu(side.dense(relu(side.dense(x, *p[:2])), *p[2:4]))
        return side.cross_entropy(side.dense(x, *p[4:]), y)

    return side.train(loss, optax.adam(RATE))


def _ms(side: Any) -> Any:
    nn = side.nn
    layers = [nn.Dense(784, 512), nn.ReLU(), nn.Dense(512, 512), nn.ReLU(), nn.Dense(512, 10)]
    net, entropy = side.load(nn.SequentialCell(*layers)), nn.CrossEntropyLoss()

    def loss(x: Any, y: Any) -> Any:
        return entropy(net(x), y)

    return side.train(loss, nn.Adam(net.trainable_params(), RATE))


CASES = [
    Case(
        "mlp_step",
        "MLP training step",
        {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax},
        several(_digits),
        _weights,
        flops=dense_flops(BATCH, *WIDTHS),
        bytes=4.0 * 6 * PARAMETERS,  # parameters and both moments, read and written
    ),
    Case(
        "mlp_sizes_step",
        "MLP training step, 100 batch sizes",
        {"msnb": _ms, "torch": _torch},
        _other_batches,
        _weights,
        flops=dense_flops(78, *WIDTHS),
        bytes=4.0 * 6 * PARAMETERS,
    ),
]
