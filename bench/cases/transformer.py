"""A small GPT: 4 layers, 256 wide, 4 heads, 128 tokens, batch 8, a vocabulary of 1000, AdamW: the training step.

`graph_size` asks for the first call of the same program with 4 and with 8 layers: time to compile should follow the
size of the program, not its square, and a repeated layer might even be compiled once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench.case import Case, Seeded, norm, several

RATE, DECAY = 3e-4, 0.01


@dataclass(frozen=True)
class Form:
    """The sizes of a GPT."""

    layers: int = 4
    width: int = 256
    heads: int = 4
    tokens: int = 128
    batch: int = 8
    vocabulary: int = 1000

    @property
    def per_layer(self) -> int:
        """Weights of the four dense layers of a block."""
        return 12 * self.width * self.width

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        outside = self.vocabulary * self.width * 2 + self.tokens * self.width + 2 * self.width
        return outside + self.layers * (self.per_layer + 13 * self.width)

    def weights(self, layers: int = 0) -> list[Any]:
        seeded, width = Seeded(0), self.width
        found = [seeded.normal(n, width, scale=0.02) for n in (self.vocabulary, self.tokens)]
        for _ in range(layers or self.layers):
            found += norm(width) + seeded.dense(width, 3 * width) + seeded.dense(width, width)
            found += norm(width) + seeded.dense(width, 4 * width) + seeded.dense(4 * width, width)
        return found + norm(width) + seeded.dense(width, self.vocabulary, bias=False)

    def words(self, seeded: Seeded) -> tuple[Any, ...]:
        """A batch: tokens, and the ones that follow."""
        return (
            seeded.labels(self.vocabulary, self.batch, self.tokens),
            seeded.labels(self.vocabulary, self.batch * self.tokens),
        )

    def flops(self) -> float:
        """Of a training step: products of the dense layers, scores and their use; half of these is masked, nobody's
        gain here."""
        rows = self.batch * self.tokens
        attention = 2.0 * rows * self.tokens * self.width * 2
        products = self.layers * (2.0 * rows * self.per_layer + attention / 2)
        return 3 * (products + 2.0 * rows * self.width * self.vocabulary)


def _layers(form: Form, side: Any) -> int:
    return int(side.variant or form.layers)


# --------------------------------------------------------------------------- PyTorch


def _torch(form: Form, side: Any) -> Any:
    nn = side.torch.nn
    net = side.load(_torch_net(form, side.torch, _layers(form, side)))
    loss = lambda x, y: nn.functional.cross_entropy(net(x), y.long())
    return side.train(loss, side.adamw(net.parameters(), RATE, DECAY))


def _torch_block(form: Form, torch: Any) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.qkv = nn.LayerNorm(form.width), nn.Linear(form.width, 3 * form.width)
            self.proj, self.norm2 = nn.Linear(form.width, form.width), nn.LayerNorm(form.width)
            self.up, self.down = nn.Linear(form.width, 4 * form.width), nn.Linear(4 * form.width, form.width)

        def forward(self, x: Any) -> Any:
            b, t, d = x.shape
            heads = (
                z.view(b, t, form.heads, d // form.heads).transpose(1, 2) for z in self.qkv(self.norm1(x)).split(d, 2)
            )
            y = functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
            return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))

    return Block()


def _torch_net(form: Form, torch: Any, layers: int) -> Any:
    nn = torch.nn

    class GPT(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(form.vocabulary, form.width), nn.Embedding(form.tokens, form.width)
            self.blocks = nn.Sequential(*[_torch_block(form, torch) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(form.width), nn.Linear(form.width, form.vocabulary, bias=False)
            self.register_buffer("places", torch.arange(form.tokens))

        def forward(self, x: Any) -> Any:
            x = self.blocks(self.token(x) + self.place(self.places))
            return self.head(self.norm(x)).flatten(0, 1)

    return GPT()


# --------------------------------------------------------------------------- JAX


def _jax(form: Form, side: Any) -> Any:
    import optax

    jnp, nn = side.jnp, side.jax.nn

    def block(x: Any, p: Any) -> Any:
        b, t, d = x.shape
        qkv = side.dense(side.layer_norm(x, *p[:2]), *p[2:4])
        q, k, v = (z.reshape(b, t, form.heads, d // form.heads) for z in jnp.split(qkv, 3, 2))
        y = nn.dot_product_attention(q, k, v, is_causal=True).reshape(b, t, d)
        x = x + side.dense(y, *p[4:6])
        return x + side.dense(nn.gelu(side.dense(side.layer_norm(x, *p[6:8]), *p[8:10]), approximate=True), *p[10:])

    def loss(p: Any, x: Any, y: Any) -> Any:
        x = p[0][x] + p[1]
        for start in range(2, len(p) - 3, 12):
            x = block(x, p[start : start + 12])
        logits = side.dense(side.layer_norm(x, p[-3], p[-2]), p[-1])
        return side.cross_entropy(logits.reshape(-1, form.vocabulary), y)

    return side.train(loss, optax.adamw(RATE, weight_decay=DECAY))


# --------------------------------------------------------------------------- msnb, MindSpore


def _ms(form: Form, side: Any) -> Any:
    nn = side.nn
    net, entropy = side.load(_ms_net(form, side, _layers(form, side))), nn.CrossEntropyLoss()

    def loss(x: Any, y: Any) -> Any:
        return entropy(net(x), y)

    parameters = net.trainable_params()
    if side.theirs:  # what comes nearest
        optimizer = nn.AdamWeightDecay(parameters, RATE, weight_decay=DECAY)
    else:
        optimizer = nn.AdamW(parameters, RATE, weight_decay=DECAY)
    return side.train(loss, optimizer)


def _ms_block(form: Form, side: Any) -> Any:
    nn, ops = side.nn, side.ops

    class Block(nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.qkv = nn.LayerNorm((form.width,), epsilon=1e-5), nn.Dense(form.width, 3 * form.width)
            self.proj, self.norm2 = nn.Dense(form.width, form.width), nn.LayerNorm((form.width,), epsilon=1e-5)
            self.up, self.down = nn.Dense(form.width, 4 * form.width), nn.Dense(4 * form.width, form.width)
            self.gelu = nn.GELU(approximate=True)
            self.mask = side.ms.Tensor(np.triu(np.full((form.tokens, form.tokens), -1e9, np.float32), 1))
            self.scale = float((form.width // form.heads) ** -0.5)
            self.one_function = bool(getattr(side, "attention_is_one_function", False))

        def construct(self, x: Any) -> Any:
            b, t, d = x.shape
            qkv = self.qkv(self.norm1(x)).reshape(b, t, 3, form.heads, d // form.heads).transpose(2, 0, 3, 1, 4)
            q, k, v = qkv[0], qkv[1], qkv[2]
            if self.one_function:
                y = ops.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                y = ops.matmul(ops.softmax(ops.matmul(q * self.scale, k.swapaxes(-1, -2)) + self.mask, -1), v)
            x = x + self.proj(y.transpose(0, 2, 1, 3).reshape(b, t, d))
            return x + self.down(self.gelu(self.up(self.norm2(x))))

    return Block()


def _ms_net(form: Form, side: Any, layers: int) -> Any:
    nn = side.nn

    class GPT(nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(form.vocabulary, form.width), nn.Embedding(form.tokens, form.width)
            self.blocks = nn.SequentialCell(*[_ms_block(form, side) for _ in range(layers)])
            self.norm, self.head = (
                nn.LayerNorm((form.width,), epsilon=1e-5),
                nn.Dense(form.width, form.vocabulary, has_bias=False),
            )
            self.places = side.ms.Tensor(np.arange(form.tokens, dtype=np.int32))

        def construct(self, x: Any) -> Any:
            x = self.blocks(self.token(x) + self.place(self.places))
            return self.head(self.norm(x)).reshape(-1, form.vocabulary)

    return GPT()


BOUND = {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax}


def step_case(form: Form, name: str = "transformer_step", **options: Any) -> Case:
    """The training step of a GPT of these sizes."""
    return Case(
        name,
        "transformer training step",
        {name: (lambda side, program=program: program(form, side)) for name, program in BOUND.items()},
        several(form.words),
        lambda layers=0: form.weights(layers),
        flops=form.flops(),
        bytes=4.0 * 6 * form.parameters,
        **options,
    )


DRIFTS = {"mindspore": "its AdamWeightDecay does not correct the moments"}
CASES = [
    step_case(Form(), drifts=DRIFTS, share=2),
    replace(
        step_case(Form(), "graph_size"),
        title="first call of a transformer step, 4 and 8 layers",
        flops=0.0,
        bytes=0.0,
        sizes=(4, 8),
        only=("msnb graph", "jax jit", "mindspore graph"),
        cannot={"torch compile": "left out: two compilations of it take a minute"},
    ),
]
