"""Multi-head attention written with einsum, as papers write it: 8 heads of 32, 64 tokens, batch 8; a training step."""

from __future__ import annotations

from typing import Any

from bench.case import Case, Seeded, dense_flops, several

BATCH, TOKENS, WIDTH, HEADS, SIZE, RATE = 8, 64, 256, 8, 32, 1e-2
ROWS = BATCH * TOKENS
SCORES = 2.0 * BATCH * HEADS * TOKENS * TOKENS * SIZE * 2  # scores and their use


def _weights() -> list[Any]:
    seeded = Seeded(0)
    heads = [seeded.normal(WIDTH, HEADS, SIZE, scale=WIDTH**-0.5) for _ in range(3)]
    return [*heads, seeded.normal(HEADS, SIZE, WIDTH, scale=WIDTH**-0.5)]


def _pair(seeded: Seeded) -> tuple[Any, ...]:
    return seeded.normal(BATCH, TOKENS, WIDTH), seeded.normal(BATCH, TOKENS, WIDTH)


def _loss(einsum: Any, softmax: Any, p: Any, x: Any, y: Any) -> Any:
    q, k, v = (einsum("btd,dhe->bhte", x, w) for w in p[:3])
    a = softmax(einsum("bhte,bhse->bhts", q, k) * SIZE**-0.5, -1)
    return ((einsum("bthe,hed->btd", einsum("bhts,bhse->bthe", a, v), p[3]) - y) ** 2).mean()


def _torch(side: Any) -> Any:
    torch, p = side.torch, side.parameters()
    loss = lambda x, y: _loss(torch.einsum, torch.softmax, p, x, y)
    return side.train(loss, torch.optim.SGD(p, RATE, fused=True))


def _jax(side: Any) -> Any:
    import optax

    loss = lambda p, x, y: _loss(side.jnp.einsum, side.jax.nn.softmax, p, x, y)
    return side.train(loss, optax.sgd(RATE))


def _msnb(side: Any) -> Any:
    ms, ops = side.ms, side.ops
    p = [ms.Parameter(ms.Tensor(w), name=f"w{i}") for i, w in enumerate(side.case.initial(side.variant))]

    def loss(x: Any, y: Any) -> Any:
        return _loss(ops.einsum, ops.softmax, p, x, y)

    return side.train(loss, side.nn.SGD(p, RATE))


CASES = [
    Case(
        "einsum_attention_step",
        "attention by einsum, training step",
        {"msnb": _msnb, "torch": _torch, "jax": _jax},
        several(_pair),
        _weights,
        flops=dense_flops(ROWS, WIDTH, 3 * WIDTH) + dense_flops(ROWS, WIDTH, WIDTH, data=True) + 3 * SCORES,
    )
]
