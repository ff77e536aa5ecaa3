"""A hook on a tensor of the program, and then the gradient by that tensor."""

import numpy as np

import msnb as ms

F = np.float64


def main(y):
    y.register_hook(lambda g: g * -1.0)
    return ms.grad(lambda v: (v * v).sum())(y)


def state():
    return {}


CALLS = [([0.1, -0.5, 0.3],), ([0.2, 0.7, -0.4],)]
