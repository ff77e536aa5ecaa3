"""The columns of a Jacobian share a vector and a matrix: both operands of the product repeat."""

import numpy as np

import msnb as ms
from msnb import Tensor, ops

F = np.float64
W = Tensor(np.array([[-1.15, 1.09, 0.01], [0.11, 0.56, 1.01], [-0.28, 0.39, -0.77]], F))


def layer(x):
    s = ops.sin(x).sum()
    return ops.sin(ops.dense(ops.stack([s, s, s * 0.5]), W))


third = ms.grad(ms.grad(ms.jacfwd(layer)))


def main(x):
    return third(x)


def state():
    return {}


CALLS = [([[0.77, -0.1, 0.62], [-1.17, 0.51, 0.22]],)]
