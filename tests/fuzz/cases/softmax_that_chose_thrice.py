# The third derivative where softmax has chosen one element: products with a weight inside keep their order too.
import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, ops

F = np.float64
w = Parameter(Tensor(np.array([-0.00629, -0.71629, 1.05371], F)), name="w")


def f(x):
    a = ops.softmax(w * 1e9, -1) * w * 6.0 + w
    d = ops.where(x > a, x, a) - x[2:1:2].sum()
    return ops.cumsum(ops.stack([a, w, w]) @ d, 0) * d.sum()


second = ms.grad(ms.grad(f, None, [w]), (0,))


def third(x):
    out, pull = ms.vjp(second, x, weights=[w])
    return pull((ops.cos(out[0]),))


def main(x):
    return third(x)


def state():
    return [w]


CALLS = [([0.59, 0.57, -0.27],), ([-0.43, 0.29, 1.7],)]
