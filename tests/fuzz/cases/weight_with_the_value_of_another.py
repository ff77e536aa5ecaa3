# A weight was given the value of another tensor: the gradient by the one does not count the uses of the other.
import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, ops

F = np.float64
w = Parameter(Tensor(np.array([0.89, -0.28, 0.8], F)), name="w")
other = Tensor(np.array([0.97, 1.32, 0.59], F))


def f(x):
    return (other * x).sum()


def main(x):
    ops.assign(w, other)
    return ms.value_and_grad(f, 0, w)(x)


def state():
    return [w]


CALLS = [([0.5, -1.0, 2.0],), ([1.5, 0.25, -2.0],)]
