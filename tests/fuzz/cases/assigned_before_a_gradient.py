# A weight that was assigned, and that the function may assign again under a branch: its gradient goes through both.
import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, nn, ops

F = np.float64


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([[1.2, -0.7, -0.4], [0.1, 0.1, -1.4], [0.05, -0.1, 0.2]], F)), name="w")

    def construct(self, x):
        if ops.relu(x.sum()) < 0.3:
            ops.assign_add(self.w, self.w * 0.5)
        return (x @ self.w.T) * x.sum()


net = Net()


def main(x, y, t):
    first = ms.grad(net, None, net.trainable_params())(y)
    out, pull = ms.vjp(ms.grad(net, None, net.trainable_params()), y * ops.sin(y))
    return first, out, pull((ops.cos(out[0]),))


def state():
    return {"w": net.w}


CALLS = [
    ([[0.6, 1.4, -0.6], [-0.8, 0.2, 1.2]], [1.36371, -0.20629, -0.84629], 0.36371),
    ([[0.6, 0.3, -0.9], [0.3, -0.6, -0.2]], [-1.03629, 1.29371, -0.07629], -0.55629),
]
