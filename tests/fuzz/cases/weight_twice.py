# One weight named twice has its gradient twice.
import numpy as np

import msnb as ms
from msnb import Parameter, Tensor

F = np.float64
w = Parameter(Tensor(np.array([0.5, -1.25, 2.0], F)), name="w")


def f(x):
    return (x * x * w * w).sum()


def main(x, y, t):
    return ms.grad(f, None, [w, w])(y)


def state():
    return {"w": w}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
