# A Jacobian by two inputs runs its function once.
import numpy as np

import msnb as ms

F = np.float64


def f(x, z):
    print("once", z)
    return x * z


def main(x, y, t):
    return ms.jacfwd(f, (0, 1))(y, y * 2.0)


def state():
    return {}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
