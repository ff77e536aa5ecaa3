# The error under a branch comes before the one behind it.
import numpy as np

import msnb as ms

F = np.float64


def f(x):
    if x.sum() > 0.5:
        raise ValueError("stop 1")
    raise ValueError("stop 2")


def main(x, y, t):
    return ms.jit(f)(y)


def state():
    return {}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
