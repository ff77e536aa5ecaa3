# tanh of a sum in half precision, differentiated twice: LLVM called a function that no loaded code has.
import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, ops

F = np.float16
w = Parameter(Tensor(np.array([0.03371, 1.39371, 0.56371], F)), name="w")


def f(x):
    return (w[::-1] + ops.tanh(x.sum())) * x.sum()


def g(x):
    out, slope = ms.jvp(f, (x,), (ops.cos(x),))
    return slope


def main(x, y, t):
    return ms.jacfwd(g)(x.reshape(3, 2).T)


def state():
    return {"w": w}


CALLS = [
    ([[0.44371, 0.64371, 1.02371], [-0.77629, 0.14371, -0.15629]], [-0.46629, 0.03371, 0.55371], 1.28371),
    ([[0.60371, -0.78629, -1.19629], [0.85371, -0.96629, -0.25629]], [1.45371, -1.20629, -1.04629], 0.18371),
]
