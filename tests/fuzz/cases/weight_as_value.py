# A weight that is the value of a differentiated function: the value stays when the weight is written afterwards.
import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, ops

F = np.float64
w = Parameter(Tensor(np.array([0.5, -1.25, 2.0], F)), name="w")


def f(x):
    return w


def main(x):
    found = ms.value_and_grad(f, None, w)(x)
    value, pull = ms.vjp(f, x, weights=w)
    ops.assign_add(w, w)
    return found, value


def state():
    return [w]


CALLS = [([0.5, -1.0, 2.0],), ([1.5, 0.25, -2.0],)]
