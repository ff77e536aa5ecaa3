"""One example at a time through dense layers (784, 512, 512, 10): what a server runs. Products with a vector."""

from __future__ import annotations

from typing import Any

from bench.case import Case, Seeded, several

WIDTHS = (784, 512, 512, 10)
PARAMETERS = sum(i * o + o for i, o in zip(WIDTHS, WIDTHS[1:]))


def _weights() -> list[Any]:
    seeded = Seeded(0)
    return [w for i, o in zip(WIDTHS, WIDTHS[1:]) for w in seeded.dense(i, o)]


def _torch(side: Any) -> Any:
    nn = side.torch.nn
    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10), nn.Softmax(-1)]
    return side.forward(side.made(side.load(nn.Sequential(*layers))))


def _jax(side: Any) -> Any:
    p, relu = side.parameters(), side.jax.nn.relu

    def net(p: Any, x: Any) -> Any:
        x = relu(side.dense(relu(side.dense(x, *p[:2])), *p[2:4]))
        return side.jax.nn.softmax(side.dense(x, *p[4:]), -1)

    run = side.made(net)
    return side.over(lambda x: run(p, x))


def _ms(side: Any) -> Any:
    nn = side.nn
    layers = [nn.Dense(784, 512), nn.ReLU(), nn.Dense(512, 512), nn.ReLU(), nn.Dense(512, 10), nn.Softmax(-1)]
    net = side.load(nn.SequentialCell(*layers))
    return side.forward(lambda x: net(x))


CASES = [
    Case(
        "mlp_inference",
        "MLP, one example",
        {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax},
        several(lambda seeded: (seeded.normal(1, 784),)),
        _weights,
        flops=2.0 * PARAMETERS,
    )
]
