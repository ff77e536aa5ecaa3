# A NumPy array changed in place changes where the tensor decides so, or a sentence says what to do.
# refused: graph O0, graph O1, jit O0, jit O1, eager, native, kernels
import numpy as np

import msnb as ms
from msnb import Tensor

F = np.float64


def f(x):
    n = np.array([0.5, 1.5, 2.5], F)
    if x.sum() > 0.5:
        n += 1.0
    return x + Tensor(n)


def main(x, y, t):
    return ms.jit(f)(y)


def state():
    return {}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
