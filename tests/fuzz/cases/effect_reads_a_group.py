# What only a print or an error reads is made before it.
import numpy as np

import msnb as ms
from msnb import ops

F = np.float64


def f(x, t):
    if t * 2.0 + 1.0 > 5.0:
        raise ValueError("stop 1")
    print("p", ops.sin(t) * 2.0 + 1.0)
    return (x @ x.T)[0, 0] * 2.0 + 1.0 > 5.0


def main(x, y, t):
    return ms.jit(f)(x, t)


def state():
    return {}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
