# Moving statistics are written once, whatever derivative is asked for.
import numpy as np

import msnb as ms
from msnb import nn, ops

F = np.float64

norm = nn.BatchNorm1d(3, dtype=ms.float64)
norm.set_train()


def f(x):
    return ops.sin(norm(x)).sum()


def main(x, y, t):
    return ms.hessian(f)(x), ms.grad(f, 0, [norm.gamma])(x)


def state():
    return {"mean": norm.moving_mean, "variance": norm.moving_variance}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
