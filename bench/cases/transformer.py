"""A small GPT: 4 layers, 256 wide, 4 heads, 128 tokens, batch 8, a vocabulary of 1000, AdamW: the training step.

`graph_size` asks for the first call of the same program with 4 and with 8 layers: time to compile should follow the
size of the program, not its square, and a repeated layer might even be compiled once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.case import Case, Seeded, norm, several

VOCABULARY, WIDTH, HEADS, TOKENS, BATCH, LAYERS = 1000, 256, 4, 128, 8, 4
RATE, DECAY = 3e-4, 0.01
PER_LAYER = 12 * WIDTH * WIDTH
PARAMETERS = VOCABULARY * WIDTH * 2 + TOKENS * WIDTH + LAYERS * (PER_LAYER + 13 * WIDTH) + 2 * WIDTH


def _weights(layers: int = LAYERS) -> list[Any]:
    seeded = Seeded(0)
    found = [seeded.normal(VOCABULARY, WIDTH, scale=0.02), seeded.normal(TOKENS, WIDTH, scale=0.02)]
    for _ in range(layers):
        found += norm(WIDTH) + seeded.dense(WIDTH, 3 * WIDTH) + seeded.dense(WIDTH, WIDTH)
        found += norm(WIDTH) + seeded.dense(WIDTH, 4 * WIDTH) + seeded.dense(4 * WIDTH, WIDTH)
    return found + norm(WIDTH) + seeded.dense(WIDTH, VOCABULARY, bias=False)


def _layers(side: Any) -> int:
    return int(side.variant or LAYERS)


def _tokens(seeded: Seeded) -> tuple[Any, ...]:
    return seeded.labels(VOCABULARY, BATCH, TOKENS), seeded.labels(VOCABULARY, BATCH * TOKENS)


# --------------------------------------------------------------------------- PyTorch


def _torch(side: Any) -> Any:
    nn = side.torch.nn
    net = side.load(_torch_net(side.torch, _layers(side)))
    loss = lambda x, y: nn.functional.cross_entropy(net(x), y.long())
    return side.train(loss, side.adamw(net.parameters(), RATE, DECAY))


def _torch_block(torch: Any) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.qkv = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
            self.proj, self.norm2 = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            b, t, d = x.shape
            heads = (z.view(b, t, HEADS, d // HEADS).transpose(1, 2) for z in self.qkv(self.norm1(x)).split(d, 2))
            y = functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
            return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))

    return Block()


def _torch_net(torch: Any, layers: int) -> Any:
    nn = torch.nn

    class GPT(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
            self.blocks = nn.Sequential(*[_torch_block(torch) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
            self.register_buffer("places", torch.arange(TOKENS))

        def forward(self, x: Any) -> Any:
            x = self.blocks(self.token(x) + self.place(self.places))
            return self.head(self.norm(x)).flatten(0, 1)

    return GPT()


# --------------------------------------------------------------------------- JAX


def _jax(side: Any) -> Any:
    import optax

    jnp, nn = side.jnp, side.jax.nn

    def block(x: Any, p: Any) -> Any:
        b, t, d = x.shape
        qkv = side.dense(side.layer_norm(x, *p[:2]), *p[2:4])
        q, k, v = (z.reshape(b, t, HEADS, d // HEADS) for z in jnp.split(qkv, 3, 2))
        y = nn.dot_product_attention(q, k, v, is_causal=True).reshape(b, t, d)
        x = x + side.dense(y, *p[4:6])
        return x + side.dense(nn.gelu(side.dense(side.layer_norm(x, *p[6:8]), *p[8:10]), approximate=True), *p[10:])

    def loss(p: Any, x: Any, y: Any) -> Any:
        x = p[0][x] + p[1]
        for start in range(2, len(p) - 3, 12):
            x = block(x, p[start : start + 12])
        logits = side.dense(side.layer_norm(x, p[-3], p[-2]), p[-1])
        return side.cross_entropy(logits.reshape(-1, VOCABULARY), y)

    return side.train(loss, optax.adamw(RATE, weight_decay=DECAY))


# --------------------------------------------------------------------------- msnb, MindSpore


def _ms(side: Any) -> Any:
    nn = side.nn
    net, entropy = side.load(_ms_net(side, _layers(side))), nn.CrossEntropyLoss()

    def loss(x: Any, y: Any) -> Any:
        return entropy(net(x), y)

    parameters = net.trainable_params()
    if side.theirs:  # what comes nearest
        optimizer = nn.AdamWeightDecay(parameters, RATE, weight_decay=DECAY)
    else:
        optimizer = nn.AdamW(parameters, RATE, weight_decay=DECAY)
    return side.train(loss, optimizer)


def _ms_block(side: Any) -> Any:
    nn, ops = side.nn, side.ops

    class Block(nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.qkv = nn.LayerNorm((WIDTH,), epsilon=1e-5), nn.Dense(WIDTH, 3 * WIDTH)
            self.proj, self.norm2 = nn.Dense(WIDTH, WIDTH), nn.LayerNorm((WIDTH,), epsilon=1e-5)
            self.up, self.down = nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)
            self.gelu = nn.GELU(approximate=True)
            self.mask = side.ms.Tensor(np.triu(np.full((TOKENS, TOKENS), -1e9, np.float32), 1))
            self.scale = float((WIDTH // HEADS) ** -0.5)

        def construct(self, x: Any) -> Any:
            b, t, d = x.shape
            qkv = self.qkv(self.norm1(x)).reshape(b, t, 3, HEADS, d // HEADS).transpose(2, 0, 3, 1, 4)
            q, k, v = qkv[0], qkv[1], qkv[2]
            a = ops.softmax(ops.matmul(q * self.scale, k.swapaxes(-1, -2)) + self.mask, -1)
            x = x + self.proj(ops.matmul(a, v).transpose(0, 2, 1, 3).reshape(b, t, d))
            return x + self.down(self.gelu(self.up(self.norm2(x))))

    return Block()


def _ms_net(side: Any, layers: int) -> Any:
    nn = side.nn

    class GPT(nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
            self.blocks = nn.SequentialCell(*[_ms_block(side) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm((WIDTH,), epsilon=1e-5), nn.Dense(WIDTH, VOCABULARY, has_bias=False)
            self.places = side.ms.Tensor(np.arange(TOKENS, dtype=np.int32))

        def construct(self, x: Any) -> Any:
            x = self.blocks(self.token(x) + self.place(self.places))
            return self.head(self.norm(x)).reshape(-1, VOCABULARY)

    return GPT()


PROGRAMS = {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax}
ROWS = BATCH * TOKENS
ATTENTION = 2.0 * BATCH * TOKENS * TOKENS * WIDTH * 2  # scores and their use; half of it is masked, nobody's gain here

CASES = [
    Case(
        "transformer_step",
        "transformer training step",
        PROGRAMS,
        several(_tokens),
        _weights,
        flops=3 * (LAYERS * (2.0 * ROWS * PER_LAYER + ATTENTION / 2) + 2.0 * ROWS * WIDTH * VOCABULARY),
        bytes=4.0 * 6 * PARAMETERS,
        drifts={"mindspore": "its AdamWeightDecay does not correct the moments"},
        share=2,
    ),
    Case(
        "graph_size",
        "first call of a transformer step, 4 and 8 layers",
        PROGRAMS,
        several(_tokens),
        _weights,
        sizes=(4, 8),
        only=("msnb graph", "jax jit", "mindspore graph"),
        cannot={"torch compile": "left out: two compilations of it take a minute"},
    ),
]
