# The pullback of a Jacobian computes tanh again: by code of its own, whose last bit is not that of the least element.
import numpy as np

import msnb as ms
from msnb import ops

F = np.float64


def least(v):
    return ops.ReduceMin(keep_dims=False)(ops.tanh(v), 0).sum() + v.sum()


def main(x, y, t):
    out, pull = ms.vjp(ms.jacfwd(least), x)
    return pull(ops.cos(out))[0], ms.grad(lambda v: ms.jit(least)(v) * t)(x)


def state():
    return {}


CALLS = [
    ([[-0.25629, 1.43371, 0.43371], [-0.46629, 1.30371, 1.03371]], [-0.17629, 0.39371, 0.75371], 0.07371),
    ([[0.87371, -0.75629, 1.27371], [0.59371, 1.16371, -0.40629]], [0.14371, 0.89371, 0.37371], 0.17371),
]
