# The part of a pullback by weights counts in a gradient around it.
import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, ops

F = np.float64
w = Parameter(Tensor(np.array([0.5, -1.25, 2.0], F)), name="w")


def f(x):
    return w.mean() * ops.sin(x.sum()) + x.sum()


def pulled(x):
    out, pull = ms.vjp(f, x, weights=[w])
    return pull(ops.cos(out))


g = ms.grad(pulled)


def main(x, y, t):
    return g(y)


def state():
    return {"w": w}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
