# Where softmax has chosen one element, its gradient is a difference of equals: zero, whatever comes before it.
import numpy as np

import msnb as ms
from msnb import Tensor, ops

F = np.float32
w = Tensor(np.array([0.84371, -0.84629, -0.51629], F))


def f(x):
    return (w * ops.sin(ops.softmax(x * 1e9, -1)) * x.sum()).sum()


def main(x):
    return ms.grad(f)(x)


def state():
    return {}


CALLS = [([[-0.52629, 0.31371, -1.07629], [-1.20629, -1.17629, -0.08629]],), ([[1.3, -1.4, -0.9], [0.75, 0.4, -0.8]],)]
