# A Parameter read behind a branch that assigned to it has the new value.
import numpy as np

from msnb import Parameter, Tensor, nn, ops

F = np.float64


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([0.5, -1.25, 2.0], F)), name="w")
        self.register_buffer("b", Tensor(np.array([1.0, 2.0, 3.0], F)))
        self.n = 1

    def construct(self, x):
        out = x
        if x.sum() > 0.5:
            ops.assign(self.w, x * 2.0)
            out = self.w
        return out + self.w


net = Net()
net.set_train()


def main(x, y, t):
    return net(y)


def state():
    return {"w": net.w, "b": net.b, "n": net.n}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
