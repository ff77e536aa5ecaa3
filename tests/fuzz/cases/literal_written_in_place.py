# A tensor that a program made of numbers, wrote into and gave back: rebuilding it asked for the fields of a Parameter.
import numpy as np

from msnb import Tensor, ops

F = np.float64


def main(x, y, t):
    j = Tensor(np.array([100, 3, -7], np.int8))
    j[::2] += 100
    k = Tensor(np.array([1.0, 2.0], F))
    k[0] = t
    held = [k, {"j": j}]
    return j, k, held, ops.sin(y)


def state():
    return {}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
