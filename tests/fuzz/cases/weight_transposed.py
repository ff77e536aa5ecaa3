# A pullback finds a weight that is read transposed.
import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, ops

F = np.float64
q = Parameter(Tensor(np.arange(9.0).reshape(3, 3) / 7), name="q")


def f(x):
    return ops.dense(x, q)


def main(x, y, t):
    out, pull = ms.vjp(f, x, weights=[q])
    return pull(ops.cos(out))


def state():
    return {"q": q}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
