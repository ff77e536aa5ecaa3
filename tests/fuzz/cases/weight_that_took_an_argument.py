# A weight that takes the value of a tensor is not that tensor: the gradient by it does not count the tensor's uses.
import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, ops

F = np.float64
w1 = Parameter(Tensor(np.array([-0.21629, 1.25371, 0.40371], F)), name="w1")


def f3(x, y):
    return x


g6 = ms.grad(f3, 1, w1)


def g7(x):
    out, pull = x
    return out


g8 = g7


def main(x, y, t):
    box10 = {"k": ops.dense(y, ops.stack([y, y, w1]))}
    ops.assign(w1, box10["k"])
    r11 = g6(box10, y)
    return r11


def state():
    pass


CALLS = [
    ([[0.29371, -0.45629, 0.21371], [0.53371, -1.38629, 0.78371]], [0.38371, 1.47371, 0.72371], 1.17371),
    ([[-1.37629, 0.67371, -1.24629], [-1.16629, 0.75371, 1.26371]], [-0.67629, 0.12371, 0.37371], -0.86629),
]
