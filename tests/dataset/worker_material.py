"""Sources and functions of the tests of worker processes, in a module that workers can import."""

from __future__ import annotations

import os

import numpy as np

from msnb.dataset.pipeline.epoch_rng import draws


class Rows:
    """Rows by number; each draws, from the pipeline's stream and from NumPy's global one."""

    def __init__(self, n=12, size=5):
        self.table = np.arange(n * size, dtype=np.float64).reshape(n, size)

    def __len__(self):
        return len(self.table)

    def __getitem__(self, i):
        return self.table[i], np.int64(i), draws().random()


def jitter(x):
    return x + draws().random(x.shape)


def from_global(x):
    import random

    import msnb as ms

    return np.array([np.random.rand(), random.random(), float(ms.ops.rand(1).asnumpy()[0])])  # noqa: NPY002


def whose(x):
    return np.int64(os.getpid())


def pairs(xs, info):
    return [x * 2 + info.get_batch_num() for x in xs], [np.float64(draws().random()) for _ in xs]


def fails_at_three(x):
    table = {}
    if x == 3:
        return table["three"]
    return x


def says_bye(x):
    if x == 3:
        os._exit(7)
    return x


def leaves(x):
    raise SystemExit(4)


def prints(x):
    print("row", int(x))
    return x


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def raises_odd(x):
    raise Odd(1, 2)
