"""A GRU (32 -> 64) on batches of other sizes and lengths: 7 batch sizes by 30 lengths, of which the first round over
the data meets 100."""

from __future__ import annotations

from typing import Any

from bench.case import Case, Seeded

INPUTS, HIDDEN, RATE, PAIRS = 32, 64, 1e-2, 100
SIZES, LENGTHS = (4, 6, 8, 10, 12, 14, 16), range(5, 35)


def _weights() -> list[Any]:
    seeded, bound = Seeded(0), HIDDEN**-0.5
    shapes = ((3 * HIDDEN, INPUTS), (3 * HIDDEN, HIDDEN), (3 * HIDDEN,), (3 * HIDDEN,))
    return [seeded.uniform(-bound, bound, *shape) for shape in shapes]


def _batches() -> list[Any]:
    seeded = Seeded(1)
    pairs = seeded.rng.permutation([(n, t) for n in SIZES for t in LENGTHS])[:PAIRS]
    return [(seeded.normal(int(t), int(n), INPUTS), seeded.normal(int(t), int(n), HIDDEN)) for n, t in pairs]


def _torch(side: Any) -> Any:
    torch = side.torch
    net = side.load(torch.nn.GRU(INPUTS, HIDDEN))
    return side.train(lambda x, y: ((net(x)[0] - y) ** 2).mean(), torch.optim.SGD(net.parameters(), RATE, fused=True))


def _ms(side: Any) -> Any:
    nn = side.nn
    net = side.load(nn.GRU(INPUTS, HIDDEN))
    return side.train(lambda x, y: ((net(x)[0] - y) ** 2).mean(), nn.SGD(net.trainable_params(), RATE))


CASES = [
    Case(
        "gru_sizes_step",
        "GRU training step, 100 sizes and lengths",
        {"msnb": _ms, "torch": _torch},
        _batches,
        _weights,
        flops=2.0 * 20 * 10 * 3 * HIDDEN * (2 * INPUTS + 3 * HIDDEN),
        bytes=4.0 * 20 * 10 * (INPUTS + HIDDEN),
    )
]
