"""Operations along one axis, at index tensors, on matrices, and draws: what programs are made of besides layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.case import Case, Seeded, several

ENTRIES, PLACES = 1_000_000, 100_000


def _positive(n: int, *batch: int) -> Callable[[Seeded], tuple[Any, ...]]:
    def make(seeded: Seeded) -> tuple[Any, ...]:
        a = seeded.normal(*batch, n, n)
        return ((a @ np.swapaxes(a, -1, -2) + n * np.eye(n, dtype=np.float32)).astype(np.float32),)

    return make


def _tensor(*shape: int) -> Callable[[Seeded], tuple[Any, ...]]:
    return lambda seeded: (seeded.normal(*shape),)


def _added(seeded: Seeded) -> tuple[Any, ...]:
    index = (seeded.normal(ENTRIES) * 1e9).astype(np.int64) % PLACES
    return seeded.normal(ENTRIES), index.astype(np.int32)


def _scatter_torch(torch: Any, y: Any, index: Any) -> Any:
    return torch.zeros(PLACES).index_add(0, index, y)


def _solution(torch_like: Any, a: Any) -> Any:
    return torch_like.linalg.solve(a, a[:, :8])


# name, title, batch, bytes, then the work in torch, in JAX (numpy, lax), in msnb
ROWS: tuple[tuple[Any, ...], ...] = (
    ("topk", "the ten largest of 32,000, 256 times", _tensor(256, 32_000), 4.0 * 256 * 32_000,
     lambda t, x: t.topk(x, 10), lambda j, x: j.lax.top_k(x, 10), lambda o, x: tuple(o.topk(x, 10))),
    ("sort", "256 rows of 8,192", _tensor(256, 8192), 16.0 * 256 * 8192,
     lambda t, x: t.sort(x, 1).values, lambda j, x: j.numpy.sort(x, 1), lambda o, x: o.sort(x, 1)[0]),
    ("argmax", "index of the largest, down the columns", _tensor(4096, 4096), 4.0 * 4096**2,
     lambda t, x: t.argmax(x, 0), lambda j, x: j.numpy.argmax(x, 0), lambda o, x: o.argmax(x, 0)),
    ("argmin_rows", "index of the smallest of 16, 20,000 times", _tensor(20_000, 16), 4.0 * 320_000,
     lambda t, x: t.argmin(x, 1), lambda j, x: j.numpy.argmin(x, 1), lambda o, x: o.argmin(x, 1)),
    ("cumsum_rows", "running sums along rows", _tensor(2048, 2048), 8.0 * 2048**2,
     lambda t, x: t.cumsum(x, 1), lambda j, x: j.numpy.cumsum(x, 1), lambda o, x: o.cumsum(x, 1)),
    ("cumsum_columns", "running sums down the columns", _tensor(2048, 2048), 8.0 * 2048**2,
     lambda t, x: t.cumsum(x, 0), lambda j, x: j.numpy.cumsum(x, 0), lambda o, x: o.cumsum(x, 0)),
    ("scatter_add", "a million numbers added at 100,000 places", _added, 8.0 * ENTRIES,
     _scatter_torch, lambda j, y, i: j.numpy.zeros(PLACES).at[i].add(y),
     lambda o, y, i: o.unsorted_segment_sum(y, i, PLACES)),
    ("variance", "variance of 4,096 rows of 1,024", _tensor(4096, 1024), 4.0 * 4096 * 1024,
     lambda t, x: t.var(x, 1, correction=0), lambda j, x: j.numpy.var(x, 1), lambda o, x: o.var(x, 1)),
    ("cholesky", "a matrix of 512", _positive(512), 0.0,
     lambda t, x: t.linalg.cholesky(x), lambda j, x: j.numpy.linalg.cholesky(x), lambda o, x: o.cholesky(x)),
    ("cholesky_batch", "256 matrices of 64", _positive(64, 256), 0.0,
     lambda t, x: t.linalg.cholesky(x), lambda j, x: j.numpy.linalg.cholesky(x), lambda o, x: o.cholesky(x)),
    ("solve", "a matrix of 512, eight right sides", _positive(512), 0.0,
     _solution, lambda j, x: _solution(j.numpy, x), lambda o, x: o.solve(x, x[:, :8])),
    ("eigh", "a matrix of 256", _positive(256), 0.0,
     lambda t, x: t.linalg.eigh(x)[0], lambda j, x: j.numpy.linalg.eigh(x)[0], lambda o, x: o.eigh(x)[0]),
    ("svd_batch", "512 matrices of 16", _tensor(512, 16, 16), 0.0,
     lambda t, x: t.linalg.svd(x)[1], lambda j, x: j.numpy.linalg.svd(x)[1], lambda o, x: o.svd(x)[0]),
)  # fmt: skip


def _case(name: str, title: str, make: Any, size: float, torch: Any, jax: Any, msnb: Any) -> Case:
    return Case(
        f"axis_{name}",
        title,
        {
            "msnb": lambda side: side.forward(lambda *x: msnb(side.ops, *x)),
            "torch": lambda side: side.forward(side.made(lambda *x: torch(side.torch, *x))),
            "jax": lambda side: side.over(side.made(lambda *x: jax(side.jax, *x))),
        },
        several(make),
        bytes=size,
        tolerance=1e-3,
    )


COUNT = 10_000_000


def _draws() -> list[Any]:
    return [(np.array([k], np.int64),) for k in range(4)]


def _torch_draws(side: Any) -> Any:
    return side.forward(side.made(lambda k: (side.torch.randn(COUNT) ** 2).mean()))


def _jax_draws(side: Any) -> Any:
    random = side.jax.random
    return side.over(side.made(lambda k: (random.normal(random.key(k[0]), (COUNT,)) ** 2).mean()))


def _msnb_draws(side: Any) -> Any:
    return side.forward(lambda k: (side.ops.randn(COUNT) ** 2).mean())


CASES = [
    *(_case(*row) for row in ROWS),
    Case(
        "axis_normals",
        "ten million normal numbers, their mean square",
        {"msnb": _msnb_draws, "torch": _torch_draws, "jax": _jax_draws},
        _draws,
        tolerance=5e-3,
    ),
]
