# A buffer may be replaced in a branch that a tensor decides.
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
        if x.sum() > 0.5:
            self.b = self.b * 0.5 + x
            ops.assign_add(self.w, x)
        return x + self.b


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
