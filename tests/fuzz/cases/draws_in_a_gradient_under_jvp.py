# A function that draws may be differentiated twice.
import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, nn, ops

F = np.float64


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([0.5, -1.25, 2.0], F)), name="w")
        self.register_buffer("b", Tensor(np.array([1.0, 2.0, 3.0], F)))
        self.n = 1

    def construct(self, x):
        return (ops.rand(3, dtype=ms.float64) * self.w * x).sum()


net = Net()
net.set_train()


def main(x, y, t):
    g = ms.grad(net, None, [net.w])
    return ms.jvp(g, y, ops.cos(y))


def state():
    return {"w": net.w, "b": net.b, "n": net.n}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
